// What the rows of an object are made of: typed columns, and which of them are its key. Every
// object has a schema; one of an index or a hash has the columns of its key and one value.
// Paper: ERIS 3.1 (data objects).
#ifndef ERIS_SCHEMA_H_
#define ERIS_SCHEMA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eris/column_type.h"

namespace eris {

struct ColumnSchema {
  std::string name;  // 1 to kColumnNameBytesMax bytes, once in an object
  ColumnType type = ColumnType::kInt64;
  uint8_t scale = 0;  // of decimals, 0 to kDecimalScaleMax; of others 0
  bool nullable = false;
  friend bool operator==(const ColumnSchema&, const ColumnSchema&) = default;
};

struct Schema {
  std::vector<ColumnSchema> columns;  // 1 to kTableColumnsMax
  // The columns of the key, in the order in which they sort. Empty: rows have no key (heap tables).
  // Clustered tables: one to four, not nullable, neither strings nor bytes, together at most
  // kTableKeyBytesMax bytes wide; rows are routed by the first eight of those bytes. Indexes and
  // hashes: see KeyValueSchema.
  std::vector<uint32_t> key{};

  bool has_key() const { return !key.empty(); }
  friend bool operator==(const Schema&, const Schema&) = default;
};

// The types of an index's or a hash's key: one column, or of indexes two, which are ordered by the
// first, then by the second. Each is kUint64, kInt64, kFloat64, kDate or
// kTimestamp.
struct KeyTypes {
  constexpr KeyTypes(ColumnType one = ColumnType::kUint64) : first(one) {}
  constexpr KeyTypes(ColumnType one, std::optional<ColumnType> other) : first(one), second(other) {}

  ColumnType first;
  std::optional<ColumnType> second{};  // set: keys have two parts

  bool two_parts() const { return second.has_value(); }
  friend bool operator==(const KeyTypes&, const KeyTypes&) = default;
};

// The schema of an index or a hash: columns "key", of two-part keys "second_key", and "value",
// which is kUint64, or of an index with one-part keys kString or kBytes. Other names are welcome,
// too.
inline Schema KeyValueSchema(const KeyTypes& key, ColumnType value = ColumnType::kUint64) {
  Schema schema{.columns = {{.name = "key", .type = key.first}}, .key = {0}};
  if (key.two_parts()) {
    schema.columns.push_back({.name = "second_key", .type = *key.second});
    schema.key.push_back(1);
  }
  schema.columns.push_back({.name = "value", .type = value});
  return schema;
}
inline Schema KeyValueSchema() { return KeyValueSchema(KeyTypes()); }

// REQUIRES: the schema of an index or a hash that there is.
inline KeyTypes KeyTypesOf(const Schema& schema) {
  KeyTypes types(schema.columns[0].type);
  if (schema.key.size() > 1) types.second = schema.columns[1].type;
  return types;
}
inline ColumnType ValueTypeOf(const Schema& schema) { return schema.columns.back().type; }

inline constexpr uint32_t kTableColumnsMax = 256;
inline constexpr uint32_t kTableKeyColumnsMax = 4;
inline constexpr uint32_t kTableKeyBytesMax = 16;
inline constexpr uint32_t kColumnNameBytesMax = 255;
inline constexpr uint8_t kDecimalScaleMax = 18;

}  // namespace eris

#endif  // ERIS_SCHEMA_H_
