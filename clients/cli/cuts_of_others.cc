#include "clients/cli/cuts_of_others.h"

#include "absl/status/statusor.h"
#include "clients/cli/cell_text.h"
#include "clients/table_client.h"

namespace eris::cli {
namespace {

constexpr size_t kTablesAskedMax = 64;

bool InOrder(const std::vector<AeuId>& owners, size_t aeu_count) {
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i].value != i) return false;
  }
  return owners.size() == aeu_count;
}

}  // namespace

std::vector<std::vector<uint64_t>> CutsOfOthers(client::Client& client, KeyType type,
                                                size_t aeu_count) {
  std::vector<std::vector<uint64_t>> result;
  const absl::StatusOr<std::vector<ObjectInfo>> objects = client.List();
  if (!objects.ok()) return result;
  size_t asked = 0;
  for (const ObjectInfo& object : *objects) {
    if (!InOrder(object.partition_owners, aeu_count)) continue;
    if (object.kind == ObjectKind::kIndex) {
      if (object.key_type.first != type) continue;
    } else if (object.kind == ObjectKind::kTable && asked++ < kTablesAskedMax) {
      const absl::StatusOr<client::TableInfo> table = client::TableClient(client).Get(object.name);
      if (!table.ok() || !table->schema.clustered()) continue;
      const auto its = SampleTypeOf(table->schema.columns[table->schema.key[0]]);
      if (!its.ok() || *its != type) continue;
    } else {
      continue;
    }
    result.emplace_back(object.partition_starts.begin() + 1, object.partition_starts.end());
  }
  return result;
}

}  // namespace eris::cli
