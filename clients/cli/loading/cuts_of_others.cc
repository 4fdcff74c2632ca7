#include "clients/cli/loading/cuts_of_others.h"

#include "absl/status/statusor.h"
#include "clients/cli/files/key_bounds.h"

namespace eris::cli {
namespace {

bool InOrder(const std::vector<AeuId>& owners, size_t aeu_count) {
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i].value != i) return false;
  }
  return !owners.empty() && owners.size() == aeu_count;
}

}  // namespace

std::vector<std::vector<uint64_t>> CutsOfOthers(client::Client& client, const ColumnSchema& column,
                                                size_t aeu_count) {
  std::vector<std::vector<uint64_t>> result;
  const absl::StatusOr<std::vector<ObjectInfo>> objects = client.List();
  if (!objects.ok()) return result;
  for (const ObjectInfo& object : *objects) {
    if (object.kind != ObjectKind::kIndex && object.kind != ObjectKind::kTable) continue;
    const ColumnSchema& its = object.schema.columns[object.schema.key[0]];
    if (its.type != column.type || its.scale != column.scale) continue;
    if (!InOrder(object.partition_owners, aeu_count)) continue;
    std::vector<uint64_t>& cuts = result.emplace_back();
    for (size_t i = 1; i < object.partition_starts.size(); ++i) {
      cuts.push_back(WordOfCut(object.kind, its, object.partition_starts[i]));
    }
  }
  return result;
}

}  // namespace eris::cli
