#include "engine/boundaries.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace eris::engine {

absl::StatusOr<std::vector<uint64_t>> InitialStarts(const CreateOptions& options, uint32_t aeus) {
  std::vector<uint64_t> starts{0};
  if (!options.split_points.empty()) {
    if (options.split_points.size() >= kPartitionsMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "at most ", kPartitionsMax - 1, " split points, got ", options.split_points.size()));
    }
    for (const uint64_t point : options.split_points) {
      if (point <= starts.back()) {
        return absl::InvalidArgumentError(
            absl::StrCat("split points must be above 0 and strictly ascending: ", point,
                         " comes after ", starts.back()));
      }
      starts.push_back(point);
    }
    return starts;
  }
  const KeyRange& expected = options.expected;
  if (expected.Empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the expected range [", expected.lo, ", ", *expected.hi, ") holds no key"));
  }
  __extension__ using Wide = unsigned __int128;
  const Wide end = expected.hi ? Wide{*expected.hi} : Wide{1} << 64;
  const Wide width = end - expected.lo;
  const uint32_t pieces = width < aeus ? static_cast<uint32_t>(width) : aeus;
  for (uint32_t i = 1; i < pieces; ++i) {
    starts.push_back(static_cast<uint64_t>(expected.lo + width * i / pieces));
  }
  return starts;
}

}  // namespace eris::engine
