#include "engine/objects/object_kinds.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace eris::engine {

namespace {

bool IsKeyType(ColumnType type) {
  return type == ColumnType::kUint64 || type == ColumnType::kInt64 ||
         type == ColumnType::kFloat64 || IsTimeType(type);
}

// For an index or a hash: first the key's columns in their order, then the value.
absl::Status CheckKeyValue(ObjectKind kind, const Schema& schema) {
  const absl::string_view what = kind == ObjectKind::kHash ? "a hash" : "an index";
  const size_t parts = schema.key.size();
  if (parts < 1 || parts > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has a key of 1 or, of an index, 2 columns, not of ", parts));
  }
  if (schema.columns.size() != parts + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has the columns of its key and one value; the schema has ",
                     schema.columns.size(), " columns, ", parts, " of them of the key"));
  }
  for (uint32_t i = 0; i < parts; ++i) {
    const ColumnSchema& column = schema.columns[i];
    if (schema.key[i] != i) {
      return absl::InvalidArgumentError(absl::StrCat("the key of ", what,
                                                     " is its first columns in their order; part ",
                                                     i + 1, " is column ", schema.key[i]));
    }
    if (IsKeyType(column.type)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("key column ", column.name, " of ", what, " is ", ColumnTypeName(column.type),
                     ", none of uint64, int64, float64, date, timestamp"));
  }
  const ColumnSchema& value = schema.columns.back();
  if (value.type != ColumnType::kUint64 && !IsByteString(value.type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("value column ", value.name, " of ", what, " is ", ColumnTypeName(value.type),
                     ", neither uint64 nor, of an index, string or bytes"));
  }
  if (value.nullable) {
    return absl::InvalidArgumentError(
        absl::StrCat("value column ", value.name, " of ", what, " is nullable"));
  }
  if (kind == ObjectKind::kHash && parts > 1) {
    return absl::InvalidArgumentError(
        "kind is hash and the key has two columns: a hash has keys of one part");
  }
  if (value.type == ColumnType::kUint64) return absl::OkStatus();
  if (kind == ObjectKind::kHash) {
    return absl::InvalidArgumentError(
        absl::StrCat("kind is hash and the values are ", ColumnTypeName(value.type),
                     ": a hash has values of uint64, only an index strings and bytes"));
  }
  if (parts == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the values are ", ColumnTypeName(value.type),
                   " and the key has two columns: under keys of two parts are values of uint64"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const storage::TableLayout>> LayoutOf(ObjectKind kind,
                                                                     const Schema& schema) {
  if (kind < ObjectKind::kIndex || kind > ObjectKind::kHeapTable) {
    return absl::InvalidArgumentError(
        absl::StrCat("kind of object ", static_cast<int>(kind),
                     " is none of 1 (index), 2 (hash), 3 (table), 4 (heap table)"));
  }
  auto layout = storage::TableLayout::Create(schema);
  if (!layout.ok()) return layout;
  if (kind == ObjectKind::kIndex || kind == ObjectKind::kHash) {
    ERIS_RETURN_IF_ERROR(CheckKeyValue(kind, schema));
  } else if (schema.has_key() != (kind == ObjectKind::kTable)) {
    return absl::InvalidArgumentError(
        schema.has_key() ? "kind is heap table and the schema has a key: rows of a heap table have "
                           "none"
                         : "kind is table and the schema has no key: rows of a clustered table "
                           "have one");
  }
  return layout;
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

absl::Status CheckNumbers(const ObjectEntry& object) {
  if (object.value_type == ColumnType::kUint64) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "values of object \"", object.name, "\" are strings or bytes, this call is for u64"));
}

absl::Status CheckKeyOrder(const ObjectEntry& object, absl::string_view what) {
  if (object.kind != ObjectKind::kHash) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "object \"", object.name, "\" is a hash, which has no key order: it cannot ", what));
}

}  // namespace eris::engine
