#include "storage/range_ops.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace eris::storage {

std::string Text(const Range& range) {
  return absl::StrCat("[", range.lo.head, ", ", range.hi ? absl::StrCat(range.hi->head) : "end",
                      ")");
}

absl::Status CheckWidth(const Key& key) {
  if (key.tail == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a partition's boundary has 8 bytes, not more: ", key.head, ", then ", key.tail));
}

absl::Status CheckWidth(const Range& range) {
  const absl::Status status = CheckWidth(range.lo);
  return status.ok() && range.hi ? CheckWidth(*range.hi) : status;
}

absl::Status CheckChunk(const ExchangeChunk& chunk, bool two_parts) {
  if (absl::Status status = CheckWidth(chunk.covers); !status.ok()) return status;
  if (chunk.keys.size() != chunk.values.size()) {
    return absl::InvalidArgumentError(absl::StrCat("chunk has ", chunk.keys.size(), " keys and ",
                                                   chunk.values.size(), " values"));
  }
  const size_t seconds = two_parts ? chunk.keys.size() : 0;
  if (chunk.seconds.size() != seconds) {
    return absl::InvalidArgumentError(absl::StrCat("chunk has ", chunk.seconds.size(),
                                                   " second parts of keys instead of ", seconds));
  }
  for (size_t i = 0; i < chunk.keys.size(); ++i) {
    if (!chunk.covers.ContainsU64(chunk.keys[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("chunk's key ", chunk.keys[i], " lies outside ", Text(chunk.covers)));
    }
    const bool same = two_parts && i > 0 && chunk.keys[i - 1] == chunk.keys[i];
    if (same && chunk.seconds[i - 1] >= chunk.seconds[i]) {
      return absl::InvalidArgumentError(
          absl::StrCat("chunk's second parts do not ascend at row ", i, ", of first part ",
                       chunk.keys[i], ": ", chunk.seconds[i - 1], " before ", chunk.seconds[i]));
    }
    if (i > 0 && !same && chunk.keys[i - 1] >= chunk.keys[i]) {
      return absl::InvalidArgumentError(absl::StrCat("chunk's keys do not ascend at row ", i, ": ",
                                                     chunk.keys[i - 1], " before ", chunk.keys[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status NoMemory(absl::string_view what) {
  return absl::ResourceExhaustedError(absl::StrCat("no memory to ", what));
}

}  // namespace eris::storage
