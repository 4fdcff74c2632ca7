#include "engine/object_kinds.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace eris::engine {

absl::Status CheckKind(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kIndex:
    case ObjectKind::kHash:
      return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown kind of object: ", static_cast<int>(kind)));
}

absl::Status CheckValueType(ObjectKind kind, ValueType values) {
  if (values == ValueType::kUint64) return absl::OkStatus();
  if (values != ValueType::kBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("values of type ", static_cast<int>(values),
                     ": objects have 1 (u64), and indexes also 2 (byte strings)"));
  }
  if (kind == ObjectKind::kIndex) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "kind is hash and value_type is bytes: a hash has values of u64, only an index byte strings");
}

absl::StatusOr<uint64_t> PartitionSeed(ObjectKind kind) {
  uint64_t seed = 0;
  if (kind == ObjectKind::kHash && getentropy(&seed, sizeof seed) != 0) {
    return absl::InternalError("the system has no random numbers for the seed of a hash");
  }
  return seed;
}

absl::Status CheckKeyOrder(const ObjectEntry& object, absl::string_view what) {
  if (object.kind != ObjectKind::kHash) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "object \"", object.name, "\" is a hash, which has no key order: it cannot ", what));
}

}  // namespace eris::engine
