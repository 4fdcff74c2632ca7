// How old values go: passes over all chains free the records that no snapshot needs, and keys that
// were taken out go with their whole chains. Every call is bounded, and the next one goes on.
#include <algorithm>
#include <limits>
#include <utility>

#include "storage/byte_value.h"
#include "storage/index/version_table.h"

namespace eris::storage {
namespace {

// The oldest snapshot; without one, a later moment than that of any.
uint64_t OldestOf(const SnapshotView& snapshots) {
  return snapshots.active.empty() ? std::numeric_limits<uint64_t>::max() : snapshots.active.front();
}

}  // namespace

uint64_t VersionTable::WeightOf(const VersionRecord& record) const {
  if (!byte_strings_ || !record.present() || IsShort(record.value)) return 1;
  return 1 + BytesOf(record.value).size() / kBytesPerRecord;
}

bool VersionTable::Trim(VersionRecord* newest, const SnapshotView& snapshots, uint64_t& left,
                        bool& none) {
  none = false;
  VersionRecord* last_kept = std::exchange(pass_at_, nullptr);
  VersionRecord* record = last_kept == nullptr ? newest : last_kept->older;
  while (record != nullptr) {
    if (left == 0) {
      pass_at_ = last_kept;
      return false;
    }
    left -= std::min(left, WeightOf(*record));
    VersionRecord* const older = record->older;
    // A snapshot that the view does not know begins at the view's epoch or later, and no record
    // ends later than that.
    if (snapshots.Needs(older == nullptr ? 0 : older->end(), record->end())) {
      last_kept = record;
      record = older;
    } else if (last_kept != nullptr) {
      last_kept->older = older;
      FreeRecord(record);
      record = older;
    } else if (older != nullptr) {
      // The next one takes the place of the newest, whose address the heads have.
      std::swap(*newest, *older);
      FreeRecord(older);
    } else {
      FreeRecord(newest);
      none = true;
      return true;
    }
  }
  return true;
}

bool VersionTable::FreeChain(VersionRecord* newest, uint64_t& left) {
  while (newest->older != nullptr && left > 0) {
    VersionRecord* const record = newest->older;
    newest->older = record->older;
    left -= std::min(left, WeightOf(*record));
    FreeRecord(record);
  }
  if (left == 0) return false;
  left -= std::min(left, WeightOf(*newest));
  FreeRecord(newest);
  return true;
}

bool VersionTable::PassWanted(const SnapshotView& snapshots) const {
  if (Empty()) return false;
  const uint64_t oldest = OldestOf(snapshots);
  // What a snapshot between others has left behind waits until it is worth a pass.
  return oldest != pass_oldest_ || added_since_pass_ > records_ / 4;
}

bool VersionTable::Free(const SnapshotView& snapshots, uint32_t records_max) {
  uint64_t left = records_max;
  if (FreeDetachedPiece(left)) return true;
  if (!pass_from_) {
    if (!PassWanted(snapshots)) return false;
    pass_from_ = Key{};
    pass_at_ = nullptr;
    pass_oldest_ = OldestOf(snapshots);
    added_since_pass_ = 0;
  }
  while (left > 0) {
    KeptKey keys[kGroupMax];
    const auto wanted = static_cast<uint32_t>(std::min<uint64_t>(kGroupMax, left));
    const uint32_t count = Keys({*pass_from_, std::nullopt}, ScanDirection::kForward, wanted, keys);
    std::optional<Key> next =
        count < wanted ? std::nullopt : KeyAfter(keys[count - 1].key, two_parts_);
    uint32_t gone = 0;
    for (uint32_t i = 0; i < count; ++i) {
      bool none = false;
      if (left == 0 || !Trim(const_cast<VersionRecord*>(keys[i].newest), snapshots, left, none)) {
        next = keys[i].key;
        break;
      }
      if (none) keys[gone++] = keys[i];
    }
    EraseKeys(*heads_, keys, gone);
    pass_from_ = next;
    if (!next) return PassWanted(snapshots);
  }
  return true;
}

bool VersionTable::FreeKeys(OrderedPartition& heads, const Range& range, uint64_t& left) {
  KeptKey keys[kGroupMax];
  while (left > 0) {
    const auto wanted = static_cast<uint32_t>(std::min<uint64_t>(kGroupMax, left));
    const uint32_t count = KeysOf(heads, range, ScanDirection::kForward, wanted, keys);
    if (count == 0) return false;
    uint32_t gone = 0;
    while (gone < count && FreeChain(const_cast<VersionRecord*>(keys[gone].newest), left)) ++gone;
    EraseKeys(heads, keys, gone);
  }
  return true;
}

bool VersionTable::FreeRange(const Range& range, uint32_t records_max) {
  pass_at_ = nullptr;
  uint64_t left = records_max;
  return FreeKeys(*heads_, range, left);
}

bool VersionTable::FreeDetachedPiece(uint64_t& left) {
  while (detached_ != nullptr) {
    OrderedPartition& heads = *detached_->heads;
    if (FreeKeys(heads, heads.range(), left)) return true;
    detached_ = std::move(detached_->next);
  }
  return false;
}

bool VersionTable::FreeDetached(uint32_t records_max) {
  uint64_t left = records_max;
  return FreeDetachedPiece(left);
}

void VersionTable::FreeAll() {
  if (heads_ == nullptr) return;
  FreeDetached(kAllRecords);
  while (FreeRange(Range{})) {
  }
}

}  // namespace eris::storage
