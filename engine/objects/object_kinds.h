// What the engine has to know of a data object's kind: which there are, what a partition of one is
// created with, and what it cannot do. Any thread.
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

// The layout of objects of this kind and schema. Errors: InvalidArgument (none of the kinds there
// are; a schema that no object has, or none of this kind: see Schema and KeyValueSchema).
absl::StatusOr<std::shared_ptr<const storage::TableLayout>> LayoutOf(ObjectKind kind,
                                                                     const Schema& schema);

// For a new partition: of a hash a random number, so that nobody outside can choose keys that meet;
// of an index 0. May block on the system's source of random numbers, just after it has started.
// Errors: Internal (there is no such source).
absl::StatusOr<uint64_t> PartitionSeed(ObjectKind kind);

// `what` ("be a side of a join") needs keys of one part. Errors: FailedPrecondition.
absl::Status CheckOnePart(const ObjectEntry& object, absl::string_view what);

// Calls for indexes and hashes, and calls for tables. Errors: FailedPrecondition.
absl::Status CheckNoTable(const ObjectEntry& object);
absl::Status CheckTable(const ObjectEntry& object);

// The values are u64, as the call needs them. Errors: FailedPrecondition (byte strings).
absl::Status CheckNumbers(const ObjectEntry& object);

// `what` ("be scanned") needs rows in key order. Errors: FailedPrecondition (a hash has none).
absl::Status CheckKeyOrder(const ObjectEntry& object, absl::string_view what);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_OBJECTS_OBJECT_KINDS_H_
