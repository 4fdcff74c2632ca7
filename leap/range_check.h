// Whether a range of the process's memory can be migrated, from /proc/self/maps and smaps. Any
// thread. Paper: page_leap 4.
#ifndef ERIS_LEAP_RANGE_CHECK_H_
#define ERIS_LEAP_RANGE_CHECK_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/leap.h"

namespace eris::leap {

// What the range consists of.
struct RangeKind {
  bool file = false;         // of memory files; else private anonymous memory
  size_t page_bytes = 4096;  // the least that can be remapped: more for reserved huge pages
};

// `smaps`: the text of /proc/self/smaps. Errors: FailedPrecondition, InvalidArgument, as Migrate.
absl::StatusOr<RangeKind> CheckRange(const Range& range, absl::string_view smaps);
// The same, of this process. Errors: also Unavailable (it cannot be read).
absl::StatusOr<RangeKind> CheckRange(const Range& range);

// How many mappings the process has, and how many the kernel allows. 0 if it does not say.
struct MapEntries {
  uint64_t now = 0;
  uint64_t most = 0;
};
MapEntries CountMapEntries();

}  // namespace eris::leap

#endif  // ERIS_LEAP_RANGE_CHECK_H_
