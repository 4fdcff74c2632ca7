#include "storage/range_ops.h"

#include <cstddef>
#include <new>

#include "absl/strings/str_cat.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "memory/local_cache.h"
#include "memory/memory_manager.h"

namespace eris::storage {
namespace {

// No branch on the keys: they nearly always ascend.
bool Ascend(const std::vector<uint64_t>& keys) {
  bool ascend = true;
  for (size_t i = 1; i < keys.size(); ++i) ascend &= keys[i - 1] < keys[i];
  return ascend;
}

// The first row that is not above the one before it; second parts count only in two-part keys.
absl::Status CheckOrder(const ExchangeChunk& chunk, bool two_parts) {
  for (size_t i = 1; i < chunk.keys.size(); ++i) {
    const bool same = two_parts && chunk.keys[i - 1] == chunk.keys[i];
    if (same && chunk.seconds[i - 1] >= chunk.seconds[i]) {
      return absl::InvalidArgumentError(
          absl::StrCat("chunk's second parts do not ascend at row ", i, ", of first part ",
                       chunk.keys[i], ": ", chunk.seconds[i - 1], " before ", chunk.seconds[i]));
    }
    if (!same && chunk.keys[i - 1] >= chunk.keys[i]) {
      return absl::InvalidArgumentError(absl::StrCat("chunk's keys do not ascend at row ", i, ": ",
                                                     chunk.keys[i - 1], " before ", chunk.keys[i]));
    }
  }
  return absl::OkStatus();
}

}  // namespace

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

absl::Status CheckEnd(const Range& end, const Range& range) {
  ERIS_RETURN_IF_ERROR(CheckWidth(end));
  const bool inside = end.lo >= range.lo && (!range.hi || (end.hi && end.hi <= range.hi));
  const bool at_end = end.lo == range.lo || end.hi == range.hi;
  if (inside && at_end && (!end.Empty() || range.Empty())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Text(end), " is not an end of ", Text(range)));
}

Range ChunkRange(const Range& leaving, Exchange::End from, bool all,
                 const std::vector<uint64_t>& keys) {
  if (all) return leaving;
  if (keys.empty()) return {leaving.lo, leaving.lo};
  if (from == Exchange::End::kHigh) return {Key::FromU64(keys.front()), leaving.hi};
  // More rows follow, so the range ends after the chunk's last key.
  return {leaving.lo, Key::FromU64(keys.back() + 1)};
}

absl::Status CheckChunk(const ExchangeChunk& chunk, bool two_parts) {
  if (chunk.keys.size() != chunk.values.size()) {
    return absl::InvalidArgumentError(absl::StrCat("chunk has ", chunk.keys.size(), " keys and ",
                                                   chunk.values.size(), " values"));
  }
  return CheckChunkKeys(chunk, two_parts);
}

absl::Status CheckChunkKeys(const ExchangeChunk& chunk, bool two_parts) {
  ERIS_RETURN_IF_ERROR(CheckWidth(chunk.covers));
  const std::vector<uint64_t>& keys = chunk.keys;
  const size_t seconds = two_parts ? keys.size() : 0;
  if (chunk.seconds.size() != seconds) {
    return absl::InvalidArgumentError(absl::StrCat("chunk has ", chunk.seconds.size(),
                                                   " second parts of keys instead of ", seconds));
  }
  if (!Ascend(keys)) ERIS_RETURN_IF_ERROR(CheckOrder(chunk, two_parts));
  if (keys.empty()) return absl::OkStatus();
  for (const uint64_t key : {keys.front(), keys.back()}) {
    if (chunk.covers.ContainsU64(key)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("chunk's key ", key, " lies outside ", Text(chunk.covers)));
  }
  return absl::OkStatus();
}

absl::Status NoMemory(absl::string_view what) {
  try {
    return absl::ResourceExhaustedError(absl::StrCat("no memory to ", what));
  } catch (const std::bad_alloc&) {
    return base::NoMemory("");
  }
}

absl::Status CheckHome(const memory::LocalCache& from, const memory::LocalCache& to) {
  if (from.manager().SharesCachesWith(to.manager())) return absl::OkStatus();
  return absl::InvalidArgumentError("a partition cannot move to a cache of another object");
}

}  // namespace eris::storage
