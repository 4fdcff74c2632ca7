#include "engine/scan_registry.h"

#include "engine/scan_state.h"

namespace eris::engine {

void ScanRegistry::Add(ScanState* scan) {
  base::MutexLock lock(&mu_);
  scans_.insert(scan);
}

void ScanRegistry::Remove(ScanState* scan) {
  base::MutexLock lock(&mu_);
  scans_.erase(scan);
}

uint64_t ScanRegistry::size() const {
  base::MutexLock lock(&mu_);
  return scans_.size();
}

std::vector<ScanState*> ScanRegistry::TakeReferences() {
  base::MutexLock lock(&mu_);
  std::vector<ScanState*> held;
  for (ScanState* scan : scans_) {
    if (scan->TryRef()) held.push_back(scan);
  }
  return held;
}

}  // namespace eris::engine
