#include "engine/objects/object_kinds.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace eris::engine {

absl::Status CheckKind(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kIndex:
    case ObjectKind::kHash:
      return absl::OkStatus();
    case ObjectKind::kTable:
    case ObjectKind::kHeapTable:
      return absl::InvalidArgumentError("a table is created with a schema: CreateTable");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("kind of object ", static_cast<int>(kind), " is none of 1 (index), 2 (hash)"));
}

absl::Status CheckValueType(ObjectKind kind, ColumnType values) {
  if (values == ColumnType::kUint64) return absl::OkStatus();
  if (values != ColumnType::kString) {
    return absl::InvalidArgumentError(
        absl::StrCat("values of type ", static_cast<int>(values),
                     ": objects have 1 (u64), and indexes also 2 (byte strings)"));
  }
  if (kind == ObjectKind::kIndex) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "kind is hash and value_type is bytes: a hash has values of u64, only an index byte strings");
}

constexpr char kKeyTypesThereAre[] = " is none of 1 (u64), 2 (i64), 3 (f64), 4 (date)";

absl::Status CheckKeyTypes(ObjectKind kind, ColumnType values, const KeyTypes& keys) {
  const auto known = [](ColumnType type) {
    return type >= ColumnType::kUint64 && type <= ColumnType::kDate;
  };
  if (!known(keys.first)) {
    return absl::InvalidArgumentError(
        absl::StrCat("key_type ", static_cast<int>(keys.first), kKeyTypesThereAre));
  }
  if (!keys.two_parts()) return absl::OkStatus();
  if (!known(*keys.second)) {
    return absl::InvalidArgumentError(
        absl::StrCat("key_type's second part ", static_cast<int>(*keys.second), kKeyTypesThereAre));
  }
  if (kind == ObjectKind::kHash) {
    return absl::InvalidArgumentError(
        "kind is hash and key_type has two parts: a hash has keys of one part");
  }
  if (values == ColumnType::kUint64) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "value_type is bytes and key_type has two parts: under keys of two parts stand values of "
      "u64");
}

absl::Status CheckOnePart(const ObjectEntry& object, absl::string_view what) {
  if (!object.key_types.two_parts()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("keys of object \"", object.name, "\" have two parts: it cannot ", what));
}

absl::StatusOr<uint64_t> PartitionSeed(ObjectKind kind) {
  uint64_t seed = 0;
  if (kind == ObjectKind::kHash && getentropy(&seed, sizeof seed) != 0) {
    return absl::InternalError("the system has no random numbers for the seed of a hash");
  }
  return seed;
}

absl::Status CheckNoTable(const ObjectEntry& object) {
  if (!object.is_table()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("object \"", object.name, "\" is a table; this call is for indexes"));
}

absl::Status CheckTable(const ObjectEntry& object) {
  if (object.is_table()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("object \"", object.name, "\" is not a table"));
}

absl::Status CheckTable(const ObjectEntry& object, ObjectKind kind) {
  if (object.kind == kind) return absl::OkStatus();
  const bool heap = kind == ObjectKind::kHeapTable;
  return absl::FailedPreconditionError(
      absl::StrCat("object \"", object.name, "\" is not a ", heap ? "heap" : "clustered",
                   " table: ", heap ? "rows are appended to those" : "only those have keys"));
}

absl::Status CheckKeyOrder(const ObjectEntry& object, absl::string_view what) {
  if (object.kind != ObjectKind::kHash) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "object \"", object.name, "\" is a hash, which has no key order: it cannot ", what));
}

}  // namespace eris::engine
