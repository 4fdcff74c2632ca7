#include "server/flight/share_text.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "eris/key_encoding.h"
#include "eris/key_text.h"
#include "eris/schema.h"
#include "text/expression_text.h"

namespace eris::server {
namespace {

using nlohmann::json;

// As a command's range has it: numbers, or texts of what JSON has no numbers for.
json KeyJson(ColumnType type, uint64_t key) {
  if (type == ColumnType::kUint64) return key;
  if (type == ColumnType::kInt64) return Int64FromKey(key);
  if (type == ColumnType::kFloat64 && std::isfinite(Float64FromKey(key))) {
    return Float64FromKey(key);
  }
  return KeyText(type, key);
}

// A bound of an index; nullopt: beyond all keys.
std::optional<json> BoundOf(const KeyTypes& types, uint64_t first, uint64_t second) {
  if (first < LowestKey(types.first) || first > HighestKey(types.first)) return std::nullopt;
  json bound = KeyJson(types.first, first);
  if (second == 0) return bound;
  return json::array({std::move(bound), KeyJson(*types.second, second)});
}

json RangeOfIndex(const Schema& schema, const KeyRange& range) {
  const KeyTypes types = KeyTypesOf(schema);
  json out = json::object();
  if (range.lo != 0 || range.lo_second != 0) {
    if (auto lo = BoundOf(types, range.lo, range.lo_second)) out["lo"] = *std::move(lo);
  }
  if (!range.hi) return out;
  if (auto hi = BoundOf(types, *range.hi, range.hi_second)) out["hi"] = *std::move(hi);
  return out;
}

// A value of the column from its first eight bytes in a key: of a narrow one they have a part of
// what follows it, too.
json ValueJson(const ColumnSchema& column, uint64_t word) {
  if (column.type != ColumnType::kDecimal) {
    return KeyJson(NearestKeyType(column.type), NearestKey(column.type, word));
  }
  std::string decimal;
  text::AppendDecimal(Int64FromKey(word), column.scale, &decimal);
  return decimal;
}

json RangeOfTable(const ColumnSchema& column, const KeyRange& range) {
  constexpr int kNarrowShift = 32;
  const bool is_narrow = ColumnValueBytes(column.type) == sizeof(uint32_t);
  json out = json::object();
  if (range.lo != 0) out["lo"] = ValueJson(column, is_narrow ? range.lo >> kNarrowShift : range.lo);
  if (!range.hi) return out;
  uint64_t hi = *range.hi;
  if (is_narrow) {  // a value that is cut belongs to both sides
    hi = (hi >> kNarrowShift) + (hi << kNarrowShift != 0 ? 1 : 0);
    if (hi > ~uint32_t{0}) return out;
  }
  out["hi"] = ValueJson(column, hi);
  return out;
}

}  // namespace

std::string ShareText(const Object& object, const ObjectShare& share, uint32_t parts) {
  json out = {{"aeu", share.aeu.value},
              {"numa_node", share.numa_node.value},
              {"rows", (share.rows + parts - 1) / parts}};
  const Schema& schema = object.schema();
  if (object.kind() == ObjectKind::kIndex) {
    out["range"] = RangeOfIndex(schema, share.range);
  } else if (schema.has_key() && !IsByteString(schema.columns[schema.key[0]].type)) {
    out["range"] = RangeOfTable(schema.columns[schema.key[0]], share.range);
  }
  return out.dump();
}

}  // namespace eris::server
