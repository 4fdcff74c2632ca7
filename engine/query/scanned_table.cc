#include "engine/query/scanned_table.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "eris/key_encoding.h"
#include "routing/ranges/range_table.h"

namespace eris::engine {
namespace {

// Words of keys from `lo` to `hi`.
struct Words {
  uint64_t lo = 0;
  uint64_t hi = 0;
};

// By AEU that makes filters: from its NumaNode's first to its last partition.
std::vector<std::optional<Words>> WordsOf(const routing::RangeTable& table,
                                          const storage::QueryParts& parts) {
  std::vector<std::optional<Words>> words(parts.aeus());
  for (size_t i = 0; i < table.size(); ++i) {
    const uint64_t lo = table.starts()[i];
    const uint64_t hi = i + 1 < table.size() ? table.starts()[i + 1] - 1 : ~uint64_t{0};
    std::optional<Words>& of_node = words[parts.filter_makers[table.owners()[i].value]];
    if (!of_node) of_node = {lo, hi};
    of_node->lo = std::min(of_node->lo, lo);
    of_node->hi = std::max(of_node->hi, hi);
  }
  return words;
}

}  // namespace

ScannedTable DescribeScanned(const ObjectEntry& object, const storage::QueryParts& parts) {
  ScannedTable table;
  if (!object.is_table()) return table;
  table.columns = object.schema.columns;
  if (object.kind != ObjectKind::kTable) return table;
  table.key = object.schema.key[0];
  // Those of eight bytes are words as they are, except for the sign.
  const ColumnType type = table.columns[table.key].type;
  const bool has_sign =
      type == ColumnType::kInt64 || type == ColumnType::kDecimal || type == ColumnType::kTimestamp;
  if (!has_sign && type != ColumnType::kUint64) return table;
  for (const std::optional<Words>& words : WordsOf(*object.route.Pin(), parts)) {
    storage::NumberRange& range = table.met.emplace_back();
    // An AEU without a part of the table may meet what has moved there.
    if (!words) continue;
    range.min = has_sign ? static_cast<uint64_t>(Int64FromKey(words->lo)) : words->lo;
    range.last = words->hi - words->lo;
  }
  return table;
}

}  // namespace eris::engine
