#include "server/metrics/refusals.h"

namespace eris::server {

Refusals& Refusals::OfProcess() {
  static Refusals* const refusals = new Refusals;  // outlives gRPC's threads
  return *refusals;
}

void Refusals::Count(const std::string& reason) {
  base::MutexLock lock(&mu_);
  const bool known = counts_.count(reason) > 0 || counts_.size() < kCausesMax;
  ++counts_[known ? reason : "OTHER"];
}

std::map<std::string, uint64_t> Refusals::Read() const {
  base::MutexLock lock(&mu_);
  return counts_;
}

}  // namespace eris::server
