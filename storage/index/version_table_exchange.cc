// Old values that leave or arrive with their keys, without a look at a record: keys at one end are
// detached, split off or absorbed along a path of the heads, in O(depth).
#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"
#include "storage/index/version_table.h"

namespace eris::storage {

bool VersionTable::Detach(const Range& end) {
  if (Empty() || end.Empty()) return true;
  KeptKey any[1];
  const bool above = end.hi && Keys({*end.hi, std::nullopt}, ScanDirection::kForward, 1, any) > 0;
  const bool below = Keys({Key{}, end.lo}, ScanDirection::kForward, 1, any) > 0;
  ERIS_DCHECK(!above || !below);
  std::unique_ptr<Detached> detached(new (std::nothrow) Detached);
  absl::StatusOr<std::unique_ptr<OrderedPartition>> none = NewHeads();
  if (detached == nullptr || !none.ok()) return false;
  if (!above && !below) {
    detached->heads = std::exchange(heads_, *std::move(none));
  } else {
    // What stays is a table of all keys again: the empty one gives it what it lacks.
    const Key& cut = above ? *end.hi : end.lo;
    absl::StatusOr<std::unique_ptr<OrderedPartition>> none_above = (*none)->SplitAt(cut);
    if (!none_above.ok()) return false;
    absl::StatusOr<std::unique_ptr<OrderedPartition>> upper = heads_->SplitAt(cut);
    if (!upper.ok()) return false;
    if (above) heads_.swap(*upper);
    ERIS_CHECK(heads_->Absorb(above ? **none : **none_above).ok());  // without a row: no memory
    detached->heads = *std::move(upper);
  }
  pass_at_ = nullptr;  // it may be among these
  AppendDetached(std::move(detached));
  return true;
}

void VersionTable::AppendDetached(std::unique_ptr<Detached> detached) {
  std::unique_ptr<Detached>* last = &detached_;
  while (*last != nullptr) last = &(*last)->next;
  *last = std::move(detached);
}

uint64_t VersionTable::DetachedKeys() const {
  uint64_t keys = 0;
  for (const Detached* one = detached_.get(); one != nullptr; one = one->next.get()) {
    keys += one->heads->size();
  }
  return keys;
}

void VersionTable::DetachAll() {
  if (!Detach(Range{})) FreeRange(Range{});
}

absl::Status VersionTable::Rehome(memory::LocalCache& cache) {
  if (absl::Status status = heads_->Rehome(cache); !status.ok()) return status;
  for (Detached* one = detached_.get(); one != nullptr; one = one->next.get()) {
    ERIS_CHECK(one->heads->Rehome(cache).ok());  // as those
  }
  cache_ = &cache;
  return absl::OkStatus();
}

void VersionTable::Abandon() {
  heads_->Abandon();
  for (Detached* one = detached_.get(); one != nullptr; one = one->next.get()) {
    one->heads->Abandon();
  }
  bytes_ = records_ = 0;
}

bool VersionTable::SplitAt(uint64_t key, VersionTable& upper) {
  ERIS_DCHECK(upper.Empty() && upper.detached_ == nullptr);
  if (Empty()) return true;
  const uint64_t keys = heads_->size() + DetachedKeys();
  // Either side is a table of all keys again: the empty one gives both what they lack.
  absl::StatusOr<std::unique_ptr<OrderedPartition>> above =
      upper.heads_->SplitAt(Key::FromU64(key));
  if (!above.ok()) return false;
  absl::StatusOr<std::unique_ptr<OrderedPartition>> rows = heads_->SplitAt(Key::FromU64(key));
  if (!rows.ok()) {
    ERIS_CHECK(upper.heads_->Absorb(**above).ok());  // without a row it needs no memory
    return false;
  }
  ERIS_CHECK(heads_->Absorb(**above).ok());
  ERIS_CHECK((*rows)->Absorb(*upper.heads_).ok());
  upper.heads_ = *std::move(rows);
  upper.bytes_ = bytes_ * upper.heads_->size() / keys;
  upper.records_ = records_ * upper.heads_->size() / keys;
  upper.newest_end_ = newest_end_;
  bytes_ -= upper.bytes_;
  records_ -= upper.records_;
  if (keys == upper.heads_->size()) upper.bytes_ += std::exchange(bytes_, 0);
  RestartPass();
  return true;
}

bool VersionTable::Absorb(uint64_t key, VersionTable& upper) {
  if (Empty()) {
    heads_.swap(upper.heads_);
  } else if (!upper.Empty()) {
    absl::StatusOr<std::unique_ptr<OrderedPartition>> above = heads_->SplitAt(Key::FromU64(key));
    if (!above.ok()) return false;
    absl::StatusOr<std::unique_ptr<OrderedPartition>> rows =
        upper.heads_->SplitAt(Key::FromU64(key));
    const bool absorbed = rows.ok() && heads_->Absorb(**rows).ok();
    if (!absorbed) {
      if (rows.ok()) ERIS_CHECK(upper.heads_->Absorb(**rows).ok());  // which has no row
      ERIS_CHECK(heads_->Absorb(**above).ok());
      return false;
    }
    ERIS_CHECK(upper.heads_->Absorb(**above).ok());
  }
  AppendDetached(std::move(upper.detached_));
  bytes_ += std::exchange(upper.bytes_, 0);
  records_ += std::exchange(upper.records_, 0);
  newest_end_ = std::max(newest_end_, upper.newest_end_);
  RestartPass();
  return true;
}

}  // namespace eris::storage
