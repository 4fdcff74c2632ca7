// One call of Migrate: areas of the range, one after the other. Paper: page_leap 4.
#ifndef ERIS_LEAP_MIGRATION_H_
#define ERIS_LEAP_MIGRATION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "eris/leap.h"
#include "leap/memory_pool.h"
#include "leap/range_check.h"
#include "leap/userfault.h"

namespace eris::leap {

class Migration {
 public:
  Migration(const Range& range, const RangeKind& kind, MemoryPool& pool, const Options& options);

  // Finds the way for the method. Errors: Unimplemented, Internal.
  absl::Status Prepare();
  Result Run(absl::FunctionRef<void(const Progress&)> progress);

 private:
  struct Area {
    std::byte* begin;
    size_t bytes;
    uint32_t dirty = 0;  // how often it was, at this size
  };
  // For the ways that use mprotect. Errors: FailedPrecondition, Internal.
  absl::Status PrepareFaults();
  // All pages of the area are there and can be read. Errors: Unavailable.
  absl::Status Populate(const Area& area);
  // A step with one area: OK, or why the call ends here.
  absl::Status Move(const Area& area);
  absl::Status Hold(const Area& area, std::byte* target);
  absl::Status HoldByProtection(const Area& area, std::byte* target);
  absl::Status Retry(const Area& area, std::byte* target);
  absl::Status AskKernel(const Area& area);
  // The mapping has not changed: gives the target back. Why the call ends.
  absl::Status Refused(const Area& area, std::byte* target);
  // Cuts an area that has not moved, and puts its parts behind all others.
  void PutBack(const Area& area);
  // Changes the mapping: from here on the area is the target's memory. False: nothing has changed.
  bool Remap(const Area& area, std::byte* target);
  // How long writers of an area were held.
  void NoteHold(std::chrono::nanoseconds time);
  // Notes an area as moved.
  void Count(const Area& area);
  // OK, or why the call may not begin another area.
  absl::Status MayGoOn();
  void Locate();

  const Range range_;
  const RangeKind kind_;
  MemoryPool& pool_;
  const Options options_;
  std::unique_ptr<Userfault> userfault_;  // of kHold, where the kernel has it
  std::deque<Area> areas_;                // still to be moved
  uint64_t map_entries_most_ = 0;         // 0: unknown
  uint64_t areas_since_count_ = 0;
  Result result_;
};

}  // namespace eris::leap

#endif  // ERIS_LEAP_MIGRATION_H_
