// How ranges of a VersionedPartition change hands by copy: versions travel beside the rows.
#include <algorithm>
#include <cstddef>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/byte_value.h"
#include "storage/range_ops.h"
#include "storage/versioned_partition.h"

namespace eris::storage {
namespace {

constexpr uint32_t kGroupMax = VersionTable::kGroupMax;
constexpr uint32_t kRowsPerRun = 1024;

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

bool VersionedPartition::CopyVersions(uint32_t rows_max, VersionColumns& out) const {
  // Where the chunk will end is not known yet: not behind the first part of its rows_max-th row.
  Range leaving = range();
  if (rows_max < size()) {
    uint64_t keys[kRowsPerRun];
    uint64_t seconds[kRowsPerRun];
    ScanCursor cursor{.rest = range()};
    cursor.query.keys_only = true;
    uint64_t last = range().lo.head;
    // One row at least may leave, whatever rows_max says.
    for (uint32_t left = std::max<uint32_t>(rows_max, 1); left > 0 && !cursor.done;) {
      ScanRows rows{.keys = keys,
                    .capacity = std::min(left, kRowsPerRun),
                    .seconds = form_.two_parts ? seconds : nullptr};
      rows_->Scan(cursor, {}, rows);
      if (rows.rows > 0) last = rows.keys[rows.rows - 1];
      left -= rows.rows;
    }
    if (const std::optional<Key> end = KeyAfter(Key::FromU64(last), false)) {
      if (!leaving.hi || *end < *leaving.hi) leaving.hi = end;
    }
  }
  try {
    VersionTable::KeptKey keys[kGroupMax];
    while (const uint32_t count =
               versions_->Keys(leaving, ScanDirection::kForward, kGroupMax, keys)) {
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
      leaving.lo = *next;
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

absl::Status VersionedPartition::Extract(uint32_t rows_max, ExchangeChunk& out) {
  VersionColumns versions;
  if (!versions_->Empty() && !CopyVersions(rows_max, versions)) LoseVersions();
  ExchangeChunk chunk;
  if (absl::Status status = rows_->Extract(rows_max, chunk); !status.ok()) return status;
  // Those beyond the cut stay.
  size_t count = versions.keys.size();
  while (count > 0 && !chunk.covers.ContainsU64(versions.keys[count - 1])) --count;
  versions.keys.resize(count);
  versions.ends.resize(count);
  if (form_.two_parts) versions.seconds.resize(count);
  if (!form_.byte_strings) {
    versions.values.resize(count);
  } else if (count == 0) {
    versions.offsets.clear();
  } else {
    versions.offsets.resize(count + 1);
    versions.bytes.resize(versions.offsets.back());
  }
  if (count > 0) versions_->FreeRange(chunk.covers);
  versions.lost_before = lost_before_;
  chunk.versions = std::move(versions);
  out = std::move(chunk);
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
  absl::Status status =
      CheckVersions(chunk.versions, chunk.covers, form_.two_parts, form_.byte_strings);
  if (!status.ok()) return status;
  if (absl::Status ingested = rows_->Ingest(chunk); !ingested.ok()) return ingested;
  lost_before_ = std::max(lost_before_, chunk.versions.lost_before);
  if (AddVersions(chunk.versions)) return absl::OkStatus();
  for (const uint64_t end : chunk.versions.ends) lost_before_ = std::max(lost_before_, end >> 1);
  versions_->FreeRange(chunk.covers);
  return absl::OkStatus();
}

}  // namespace eris::storage
