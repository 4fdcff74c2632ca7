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
  return absl::InvalidArgumentError(
      absl::StrCat("a boundary of 8-byte keys is longer: ", key.head, ", then ", key.tail));
}

absl::Status CheckWidth(const Range& range) {
  const absl::Status status = CheckWidth(range.lo);
  return status.ok() && range.hi ? CheckWidth(*range.hi) : status;
}

absl::Status CheckChunk(const ExchangeChunk& chunk) {
  if (absl::Status status = CheckWidth(chunk.covers); !status.ok()) return status;
  if (chunk.keys.size() != chunk.values.size()) {
    return absl::InvalidArgumentError(absl::StrCat("chunk has ", chunk.keys.size(), " keys and ",
                                                   chunk.values.size(), " values"));
  }
  for (size_t i = 0; i < chunk.keys.size(); ++i) {
    if (!chunk.covers.ContainsU64(chunk.keys[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("chunk's key ", chunk.keys[i], " lies outside ", Text(chunk.covers)));
    }
    if (i > 0 && chunk.keys[i - 1] >= chunk.keys[i]) {
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
