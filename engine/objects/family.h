// Objects that lie beside each other (CreateOptions::beside): a family. Their ranges are cut alike,
// so that equal keys stay with one AEU, and the balancer moves them together. A family needs no
// record: each object has the id of the first one, whether that still exists or not. An object with
// none beside it is a family of one. Any thread.
#ifndef ERIS_ENGINE_OBJECTS_FAMILY_H_
#define ERIS_ENGINE_OBJECTS_FAMILY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "balancer/load/load_sample.h"
#include "engine/objects/catalogue.h"
#include "engine/objects/object_entry.h"

namespace eris::engine {

// By id: the oldest member, which the others follow, comes first.
using Family = std::vector<ObjectRef>;
Family FamilyOf(const Catalogue& catalogue, ObjectId family);
void OldestFirst(Family& members);

// Boundaries of the family are multiples of it (balancer::PlanWorld::grain): 1 if the same columns
// make up the first word of all members' keys. Otherwise equal values of the first key column share
// the word's upper half alone.
uint64_t GrainOf(const Family& family);

// The ranges and owners of the object now, as balancing takes them.
balancer::Partitioning CutsOf(const ObjectEntry& object);
// Whether all members are cut like the first one, on the grain; those being dropped do not count.
// O(ranges).
bool InLine(const Family& family);

// The ranges with which an object of this kind and schema begins beside `other`.
// Errors: InvalidArgument (one of the two has no key; keys whose first columns differ in type or in
// scale; date keys of an index or a hash beside those of a table, which are other words).
// REQUIRES: LayoutOf accepts kind and schema.
absl::StatusOr<balancer::Partitioning> CutsBeside(absl::string_view name, ObjectKind kind,
                                                  const Schema& schema, const ObjectEntry& other);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_OBJECTS_FAMILY_H_
