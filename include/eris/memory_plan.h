// How the memory of the process is divided.
#ifndef ERIS_MEMORY_PLAN_H_
#define ERIS_MEMORY_PLAN_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace eris {

// The shares add up to at most process_bytes. Each is a limit: an allocation that would exceed it
// gets ResourceExhausted.
struct MemoryPlan {
  uint64_t process_bytes = 0;
  // the limit that sets it: "physical memory", "cgroup memory.max of /a", ...
  std::string process_source{};
  uint64_t data_bytes = 0;     // objects, old rows that snapshots need, AEUs' incoming buffers
  uint64_t query_bytes = 0;    // working memory of table queries: vectors, groups
  uint64_t scan_bytes = 0;     // chunks of the answers of scans and joins
  uint64_t port_bytes = 0;     // commands on their way from sessions to AEUs
  uint64_t caller_bytes = 0;   // a server's requests and answers under way
  uint64_t receive_bytes = 0;  // a server's requests that have not arrived completely
  // The program itself, its threads, and memory that the allocators cannot use.
  uint64_t reserve_bytes = 0;
};

// "512 MiB for the process (cgroup memory.max of /a): data 262 MiB, queries 32 MiB, ..."
inline std::string PlanText(const MemoryPlan& plan) {
  const auto mib = [](uint64_t bytes) { return absl::StrCat(bytes >> 20, " MiB"); };
  return absl::StrCat(mib(plan.process_bytes), " for the process (", plan.process_source,
                      "): data ", mib(plan.data_bytes), ", queries ", mib(plan.query_bytes),
                      ", scans ", mib(plan.scan_bytes), ", commands ", mib(plan.port_bytes),
                      ", requests in flight ", mib(plan.caller_bytes), ", arriving ",
                      mib(plan.receive_bytes), ", reserve ", mib(plan.reserve_bytes));
}

}  // namespace eris

#endif  // ERIS_MEMORY_PLAN_H_
