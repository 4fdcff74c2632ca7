// Background work of an AEU's turns, in addition to commands, scans and transfers: frees old rows
// that no snapshot needs, compacts segments, collects and returns memory. Each turn does a bounded
// piece, and the next one continues.
#include <algorithm>

#include "aeu/aeu.h"

namespace eris::aeu {

void Aeu::EnforceSnapshotLimits(uint64_t now_ns) {
  bool given_up = version_bytes_ > 0 && registry_.GiveUpForMemory(snapshots_);
  const uint64_t age_ns = registry_.age_ns_max();
  // The registry is searched only now and then.
  if (!snapshots_.active.empty() && now_ns - ages_checked_ns_ > age_ns / 16) {
    ages_checked_ns_ = now_ns;
    given_up |= now_ns > age_ns && registry_.AbortBegunBefore(now_ns - age_ns);
  }
  // Snapshots begun since the cut are harmless in the view: rows are only kept for them too early.
  if (!given_up) return;
  registry_.Read(snapshots_mark_, snapshots_);
  // Other AEUs keep rows for it too, and may be asleep. Rare.
  for (uint32_t i = 0; i < directory_.size(); ++i) {
    if (AeuId{i} != id_) directory_[AeuId{i}].waker.Wake();
  }
}

bool Aeu::ShareIsSpent(uint64_t began_ns) const {
  return work_clock_() - began_ns >= transfers_.turn_cpu_ns_max() / 2;
}

OwnedRange* Aeu::NextOf(Round& round) {
  while (round.slots_left > 0) {
    if (round.slot >= slots_.size()) round.slot = 0;
    ObjectSlot* const slot = slots_[round.slot].get();
    if (slot != nullptr && round.range < slot->ranges().size()) return &slot->ranges()[round.range];
    if (slot != nullptr && slot->spec().is_table()) {
      transfers_.RemoveEmpty(*slot);
      slot->cache().EndTurn();
    }
    ++round.slot;
    round.range = 0;
    --round.slots_left;
  }
  return nullptr;
}

void Aeu::Maintain(uint32_t rows_max) {
  const uint64_t turn_began_ns = work_clock_();
  while (OwnedRange* const owned = NextOf(maintain_)) {
    ObjectSlot& slot = *slots_[maintain_.slot];
    ++maintain_.range;
    if (!slot.copies_bytes()) continue;
    WorkPace& pace = slot.paces().maintain;
    const uint32_t rows = pace.Rows(transfers_.turn_cpu_ns_max(), rows_max);
    const uint64_t began_ns = work_clock_();
    const bool more = owned->partition->Maintain(snapshots_, rows);
    SettleVersions(*owned);
    MemoryFreed(slot);
    pace.Learn(rows, work_clock_() - began_ns, !more);
    if (more) --maintain_.range;
    if (more || ShareIsSpent(turn_began_ns)) return;
  }
}

void Aeu::FreeVersions(uint32_t records_max) {
  constexpr uint64_t kRecordBytes = 32;
  const auto bytes_max = static_cast<int64_t>(records_max * kRecordBytes);
  const uint64_t bytes_before = version_bytes_;
  const uint64_t turn_began_ns = work_clock_();
  while (OwnedRange* const owned = NextOf(free_versions_)) {
    ObjectSlot& slot = *slots_[free_versions_.slot];
    ++free_versions_.range;
    if (owned->partition->version_bytes() == 0) continue;
    WorkPace& pace = slot.paces().free_versions;
    const uint32_t records = pace.Rows(transfers_.turn_cpu_ns_max(), records_max);
    const uint64_t began_ns = work_clock_();
    const bool more = owned->partition->FreeVersions(snapshots_, records);
    SettleVersions(*owned);
    slot.cache().EndTurn();
    pace.Learn(records, work_clock_() - began_ns, !more);
    if (slot.copies_bytes()) Want(maintain_);  // segments may be worth compacting
    if (more) --free_versions_.range;
    const bool enough = static_cast<int64_t>(bytes_before - version_bytes_) >= bytes_max;
    if (more || enough || ShareIsSpent(turn_began_ns)) return;
  }
}

bool Aeu::CollectMemory() {
  const uint64_t turn_began_ns = work_clock_();
  bool any = false;
  collect_again_ = false;
  if (memory::LocalCache* const cache = query_cache_.cache(); cache != nullptr) {
    any = cache->Collect();
    collect_again_ = cache->CollectsMore();
    trim_worthwhile_ |= cache->TrimWorthwhile();
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (++collect_slot_ >= slots_.size()) collect_slot_ = 0;
    ObjectSlot* const slot = slots_[collect_slot_].get();
    if (slot == nullptr || !slot->cache().Collect()) continue;
    any = true;
    collect_again_ |= slot->cache().CollectsMore();
    trim_worthwhile_ |= slot->cache().TrimWorthwhile();
    if (i + 1 < slots_.size() && ShareIsSpent(turn_began_ns)) {
      collect_again_ = true;  // starting with the next object
      break;
    }
  }
  return any;
}

void Aeu::TrimMemory() {
  if (memory::LocalCache* const cache = query_cache_.cache();
      cache != nullptr && cache->TrimWorthwhile()) {
    cache->Trim();
    return;
  }
  const auto shrunk = std::find_if(slots_.begin(), slots_.end(), [](const auto& slot) {
    return slot != nullptr && slot->cache().TrimWorthwhile();
  });
  if (shrunk == slots_.end()) {
    trim_worthwhile_ = false;
  } else {
    (*shrunk)->cache().Trim();
  }
}

}  // namespace eris::aeu
