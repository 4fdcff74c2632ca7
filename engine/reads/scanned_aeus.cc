#include "engine/reads/scanned_aeus.h"

#include <algorithm>

namespace eris::engine {

std::vector<AeuId> ScannedAeus(const ObjectEntry& table) {
  std::vector<AeuId> aeus = table.Members();
  if (!aeus.empty()) return aeus;
  if (table.kind == ObjectKind::kHeapTable) return table.holders.Pin()->Owners();
  aeus = table.route.Pin()->owners();
  std::sort(aeus.begin(), aeus.end());
  aeus.erase(std::unique(aeus.begin(), aeus.end()), aeus.end());
  return aeus;
}

}  // namespace eris::engine
