#include "clients/cli/files/cuts_of_others.h"

#include "absl/status/statusor.h"
#include "clients/table_client.h"
#include "eris/key_encoding.h"

namespace eris::cli {
namespace {

constexpr size_t kTablesAskedMax = 64;

bool InOrder(const std::vector<AeuId>& owners, size_t aeu_count) {
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i].value != i) return false;
  }
  return !owners.empty() && owners.size() == aeu_count;
}

// The first word of a table's key, encoded as SampleKeys encodes the column's values.
uint64_t SampledKey(ColumnType type, uint64_t head) {
  constexpr int kNarrowShift = 32;  // narrow values stand at the top of the word
  if (type == ColumnType::kInt32) return KeyFromInt64(DateFromKey(head >> kNarrowShift));
  return type == ColumnType::kDate ? head >> kNarrowShift : head;
}

}  // namespace

std::vector<std::vector<uint64_t>> CutsOfIndexes(client::Client& client, ColumnType type,
                                                 size_t aeu_count) {
  std::vector<std::vector<uint64_t>> result;
  const absl::StatusOr<std::vector<ObjectInfo>> objects = client.List();
  if (!objects.ok()) return result;
  for (const ObjectInfo& object : *objects) {
    if (object.kind != ObjectKind::kIndex || object.key_type.first != type) continue;
    if (!InOrder(object.partition_owners, aeu_count)) continue;
    result.emplace_back(object.partition_starts.begin() + 1, object.partition_starts.end());
  }
  return result;
}

std::vector<std::vector<uint64_t>> CutsOfTables(client::Client& client, const ColumnSchema& column,
                                                size_t aeu_count) {
  std::vector<std::vector<uint64_t>> result;
  const absl::StatusOr<std::vector<ObjectInfo>> objects = client.List();
  if (!objects.ok()) return result;
  size_t asked = 0;
  for (const ObjectInfo& object : *objects) {
    if (object.kind != ObjectKind::kTable || asked == kTablesAskedMax) continue;
    if (!InOrder(object.partition_owners, aeu_count)) continue;
    ++asked;
    const absl::StatusOr<client::TableInfo> table = client::TableClient(client).Get(object.name);
    if (!table.ok() || !table->schema.clustered()) continue;
    const ColumnSchema& its = table->schema.columns[table->schema.key[0]];
    if (its.type != column.type) continue;
    std::vector<uint64_t>& cuts = result.emplace_back();
    for (size_t i = 1; i < object.partition_starts.size(); ++i) {
      cuts.push_back(SampledKey(its.type, object.partition_starts[i]));
    }
  }
  return result;
}

}  // namespace eris::cli
