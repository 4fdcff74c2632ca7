// The properties of each kind of data object: the existing kinds, the parameters of their
// partitions, and operations that they do not have. Any thread.
#ifndef ERIS_ENGINE_OBJECTS_OBJECT_KINDS_H_
#define ERIS_ENGINE_OBJECTS_OBJECT_KINDS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/objects/object_entry.h"
#include "eris/types.h"

namespace eris::engine {

// The layout of objects of this kind and schema. Errors: InvalidArgument (an unknown kind; an
// invalid schema, or one that this kind does not have: see Schema and KeyValueSchema).
absl::StatusOr<std::shared_ptr<const storage::TableLayout>> LayoutOf(ObjectKind kind,
                                                                     const Schema& schema);

// For a new partition: for a hash a random number, so that no client can choose colliding keys; for
// an index 0. May block on the system's source of random numbers shortly after the system has
// started.
// Errors: Internal (there is no such source).
absl::StatusOr<uint64_t> PartitionSeed(ObjectKind kind);

// Whether ranges of the kind leap, so that memory of theirs may have to come home; with the others
// it stays where it was allocated.
constexpr bool MemoryFollowsIn(ObjectKind kind) {
  return kind == ObjectKind::kIndex || kind == ObjectKind::kHeapTable;
}

// `what` (e.g. "be a side of a join") needs keys of one part. Errors: FailedPrecondition.
absl::Status CheckOnePart(const ObjectEntry& object, absl::string_view what);

// For calls only of indexes and hashes, and calls only of tables. Errors: FailedPrecondition.
absl::Status CheckNoTable(const ObjectEntry& object);
absl::Status CheckTable(const ObjectEntry& object);

// Checks that the values are u64. Errors: FailedPrecondition (byte strings).
absl::Status CheckNumbers(const ObjectEntry& object);

// `what` (e.g. "be scanned") needs rows in key order. Errors: FailedPrecondition (a hash has none).
absl::Status CheckKeyOrder(const ObjectEntry& object, absl::string_view what);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_OBJECTS_OBJECT_KINDS_H_
