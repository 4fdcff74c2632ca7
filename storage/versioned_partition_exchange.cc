// How ranges of a VersionedPartition change hands by copy: versions travel beside the rows.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/byte_value.h"
#include "storage/range_ops.h"
#include "storage/versioned_partition.h"

namespace eris::storage {
namespace {

constexpr uint32_t kChunkGroupMax = VersionTable::kGroupMax;
constexpr uint32_t kWholeChunk = std::numeric_limits<uint32_t>::max();

absl::Status CheckVersions(const VersionColumns& versions, const Range& covers, bool two_parts,
                           bool byte_strings) {
  const size_t count = versions.keys.size();
  const bool equal =
      versions.ends.size() == count && versions.seconds.size() == (two_parts ? count : 0) &&
      (byte_strings ? versions.values.empty() && versions.offsets.size() == count + (count > 0)
                    : versions.values.size() == count);
  if (!equal) return absl::InvalidArgumentError("the columns of a chunk's versions are unequal");
  for (size_t i = 0; i < count; ++i) {
    if (!covers.ContainsU64(versions.keys[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("a version's key ", versions.keys[i], " lies outside ", Text(covers)));
    }
    if (!byte_strings) continue;
    const bool valid = versions.offsets[i] <= versions.offsets[i + 1] &&
                       versions.offsets[i + 1] - versions.offsets[i] <= kValueBytesMax &&
                       versions.offsets[i + 1] <= versions.bytes.size();
    if (!valid) {
      return absl::InvalidArgumentError(absl::StrCat(
          "version ", i, " is bytes ", versions.offsets[i], " to ", versions.offsets[i + 1]));
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool VersionedPartition::CopyVersions(Range range, VersionColumns& out) const {
  try {
    VersionTable::KeptKey keys[kChunkGroupMax];
    while (const uint32_t count =
               versions_->Keys(range, ScanDirection::kForward, kChunkGroupMax, keys)) {
      for (uint32_t i = 0; i < count; ++i) {
        for (const VersionRecord* record = keys[i].newest; record; record = record->older) {
          out.keys.push_back(keys[i].key.head);
          if (form_.two_parts) out.seconds.push_back(keys[i].key.tail);
          out.ends.push_back(record->end_and_presence);
          if (!form_.byte_strings) {
            out.values.push_back(record->value);
            continue;
          }
          if (out.offsets.empty()) out.offsets.push_back(0);
          if (record->present()) {
            const absl::string_view bytes = BytesOf(record->value);
            out.bytes.append(bytes.data(), bytes.size());
          }
          out.offsets.push_back(out.bytes.size());
        }
      }
      const std::optional<Key> next = KeyAfter(keys[count - 1].key, form_.two_parts);
      if (!next) break;
      range.lo = *next;
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

absl::Status VersionedPartition::Lend(const Range& leaving, End from, uint32_t rows_max,
                                      ExchangeChunk& out) {
  ERIS_RETURN_IF_ERROR(rows_->Lend(leaving, from, rows_max, out));
  if (!CopyVersions(out.covers, out.versions)) {
    rows_->TakeBack();
    return NoMemory(absl::StrCat("lend the versions of ", out.keys.size(), " rows"));
  }
  out.versions.lost_before = lost_before_;
  lent_ = out.covers;
  return absl::OkStatus();
}

bool VersionedPartition::Forget(const SnapshotView& snapshots, uint32_t rows_max) {
  if (lent_) {
    FreeForgotten(kWholeChunk);
    forgotten_ = std::exchange(lent_, std::nullopt);
  }
  const bool more_rows = rows_->Forget(snapshots, rows_max);
  return FreeForgotten(rows_max) || more_rows;
}

void VersionedPartition::TakeBack() {
  lent_.reset();
  rows_->TakeBack();
}

bool VersionedPartition::Maintain(const SnapshotView& snapshots, uint32_t rows_max) {
  const bool more_rows = rows_->Maintain(snapshots, rows_max);
  return FreeForgotten(rows_max) || more_rows;
}

bool VersionedPartition::FreeForgotten(uint32_t records_max) {
  if (forgotten_ && !versions_->FreeRange(*forgotten_, records_max)) forgotten_.reset();
  return forgotten_.has_value();
}

absl::Status VersionedPartition::Rehome(memory::LocalCache& cache) {
  ERIS_RETURN_IF_ERROR(rows_->Rehome(cache));
  ERIS_RETURN_IF_ERROR(versions_->Rehome(cache));
  cache_ = &cache;
  return absl::OkStatus();
}

bool VersionedPartition::AddVersions(const VersionColumns& versions) {
  for (size_t i = 0; i < versions.keys.size(); ++i) {
    VersionTable::OldValue value{.keep = true, .present = (versions.ends[i] & 1) != 0};
    std::unique_ptr<std::byte[]> record;
    if (!form_.byte_strings) {
      value.value = versions.values[i];
    } else if (value.present) {
      const absl::string_view bytes(versions.bytes.data() + versions.offsets[i],
                                    versions.offsets[i + 1] - versions.offsets[i]);
      if (bytes.size() <= kShortBytesMax) {
        value.value = ShortWord(bytes);
      } else {
        record.reset(new (std::nothrow) std::byte[BlockBytes(bytes.size())]);
        if (record == nullptr) return false;
        value.value = WriteRecord(record.get(), bytes);
      }
    }
    const Key key{versions.keys[i], form_.two_parts ? versions.seconds[i] : 0};
    if (!versions_->AddOldest(key, versions.ends[i] >> 1, value)) return false;
  }
  return true;
}

absl::Status VersionedPartition::Ingest(const ExchangeChunk& chunk) {
  ERIS_RETURN_IF_ERROR(
      CheckVersions(chunk.versions, chunk.covers, form_.two_parts, form_.byte_strings));
  FreeForgotten(kWholeChunk);
  ERIS_RETURN_IF_ERROR(rows_->Ingest(chunk));
  lost_before_ = std::max(lost_before_, chunk.versions.lost_before);
  if (AddVersions(chunk.versions)) return absl::OkStatus();
  for (const uint64_t end : chunk.versions.ends) lost_before_ = std::max(lost_before_, end >> 1);
  versions_->FreeRange(chunk.covers);
  return absl::OkStatus();
}

}  // namespace eris::storage
