#include "engine/options/memory_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace eris::engine {
namespace {

constexpr uint64_t kKiB = 1 << 10;
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kGiB = 1 << 30;

// An idle server has 20 MiB resident.
constexpr uint64_t kProgramBytes = 40 * kMiB;
// A thread's stack and allocator arena, and the AEU's outgoing buffers.
constexpr uint64_t kAeuBytes = 512 * kKiB;
// Superblocks on each NumaNode; with fewer no object of a useful size can be created.
constexpr uint64_t kSuperblocksLeast = 8;
// Data may have at most this percentage of process_bytes: page tables, sockets and the program
// itself need the rest.
constexpr uint64_t kDataPercentMax = 80;

// A share proportional to the process's memory, between bounds.
struct Share {
  uint64_t divisor;
  uint64_t least;
  uint64_t most;

  uint64_t Of(uint64_t process_bytes) const {
    return std::clamp(process_bytes / divisor, least, most);
  }
};
constexpr Share kQuery{16, 8 * kMiB, uint64_t{1} << 62};
constexpr Share kScan{16, 8 * kMiB, 128 * kMiB};
constexpr Share kPort{32, 4 * kMiB, kGiB};
constexpr Share kCaller{8, 8 * kMiB, kGiB};
constexpr Share kReceive{8, 48 * kMiB, kGiB};
constexpr Share kSlack{8, 8 * kMiB, 2 * kGiB};
constexpr uint64_t kPageTablesDivisor = 512;  // with pages of 4 KiB

uint64_t Reserve(const MemoryWishes& wishes, uint64_t as_if_bytes) {
  return kProgramBytes + wishes.aeus * kAeuBytes + kSlack.Of(as_if_bytes) +
         wishes.process_bytes / kPageTablesDivisor;
}

// All shares except data, as for a process of `as_if_bytes`.
MemoryPlan Others(const MemoryWishes& wishes, uint64_t as_if_bytes) {
  const auto wished = [&](uint64_t wish, const Share& share) {
    return wish > 0 ? wish : share.Of(as_if_bytes);
  };
  return {.process_bytes = wishes.process_bytes,
          .process_source = wishes.process_source,
          .query_bytes = kQuery.Of(as_if_bytes),
          .scan_bytes = wished(wishes.scan_bytes, kScan),
          .port_bytes = kPort.Of(as_if_bytes),
          .caller_bytes = wished(wishes.caller_bytes, kCaller),
          .receive_bytes = kReceive.Of(as_if_bytes),
          .reserve_bytes = Reserve(wishes, as_if_bytes)};
}

uint64_t SumOfOthers(const MemoryPlan& plan) {
  return plan.query_bytes + plan.scan_bytes + plan.port_bytes + plan.caller_bytes +
         plan.receive_bytes + plan.reserve_bytes;
}

uint64_t LeastDataBytes(const MemoryWishes& wishes) {
  return wishes.aeus * wishes.aeu_buffer_bytes +
         wishes.numa_nodes * kSuperblocksLeast * wishes.superblock_bytes;
}

std::string MiB(uint64_t bytes) { return absl::StrCat(bytes / kMiB, " MiB"); }

}  // namespace

uint64_t LeastProcessBytes(const MemoryWishes& wishes) {
  const uint64_t data = std::max(wishes.data_bytes, LeastDataBytes(wishes));
  MemoryWishes without = wishes;
  without.process_bytes = 0;  // page tables are added below
  const uint64_t sum = data + SumOfOthers(Others(without, 0));
  // The smallest multiple of 1 MiB with sum + bytes / 512 <= bytes.
  const uint64_t bytes = sum + sum / (kPageTablesDivisor - 1) + 1;
  return (bytes + kMiB - 1) / kMiB * kMiB;
}

absl::StatusOr<MemoryPlan> DivideMemory(const MemoryWishes& wishes) {
  const uint64_t least = LeastProcessBytes(wishes);
  if (wishes.process_bytes < least) {
    std::string wished;
    if (wishes.data_bytes > 0) absl::StrAppend(&wished, ", ", MiB(wishes.data_bytes), " of data");
    if (wishes.caller_bytes > 0) {
      absl::StrAppend(&wished, ", ", MiB(wishes.caller_bytes), " of requests in flight");
    }
    if (wishes.scan_bytes > 0) {
      absl::StrAppend(&wished, ", ", MiB(wishes.scan_bytes), " of scan chunks");
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "the process may have ", MiB(wishes.process_bytes), " (", wishes.process_source, "); ",
        wishes.aeus, wishes.aeus == 1 ? " AEU" : " AEUs", wished, " need at least ", MiB(least),
        ": more memory, fewer AEUs (aeu_count)", wished.empty() ? "" : " or smaller shares"));
  }
  // If the share for data is given, the others shrink until they fit. Shares never decrease with
  // the number that they are a part of, so the largest that fits is found by binary search.
  uint64_t fits = 0;
  uint64_t too_large = wishes.process_bytes + 1;
  const uint64_t data = std::max(wishes.data_bytes, LeastDataBytes(wishes));
  while (too_large - fits > 1) {
    const uint64_t middle = fits + (too_large - fits) / 2;
    (data + SumOfOthers(Others(wishes, middle)) <= wishes.process_bytes ? fits : too_large) =
        middle;
  }
  MemoryPlan plan = Others(wishes, fits);
  plan.data_bytes = wishes.data_bytes > 0
                        ? wishes.data_bytes
                        : std::max(LeastDataBytes(wishes),
                                   std::min(wishes.process_bytes - SumOfOthers(plan),
                                            wishes.process_bytes / 100 * kDataPercentMax));
  return plan;
}

uint32_t AeusThatFit(MemoryWishes wishes) {
  while (wishes.aeus > 0 && LeastProcessBytes(wishes) > wishes.process_bytes) --wishes.aeus;
  return wishes.aeus;
}

}  // namespace eris::engine
