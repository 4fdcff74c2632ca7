#include "storage/table/groups/near_keys.h"

#include <algorithm>

#include "base/check.h"

namespace eris::storage {

NearKeys::~NearKeys() {
  uint32_t all = ~uint32_t{0};
  FreeSome(all);
}

bool NearKeys::Begin(uint64_t low, uint64_t span) {
  ERIS_DCHECK(!used());
  base_ = low / kPageKeys * kPageKeys;
  const uint64_t pages = (low - base_ + span + kPageKeys - 1) / kPageKeys;
  pages_.reserve(pages);
  while (pages_.size() < pages) {
    uint32_t* const page = NewPage();
    if (page == nullptr) {
      uint32_t all = ~uint32_t{0};
      FreeSome(all);
      return false;
    }
    pages_.push_back(page);
  }
  return true;
}

uint32_t* NearKeys::Extend(uint64_t key, uint64_t groups) {
  ERIS_DCHECK(used() && Place(key) == nullptr);
  // Most of the last page may be used by the groups that come next.
  extends_ = extends_ && (page_count_ - 1) * kPageKeys <= groups * kPlacesPerGroup;
  const uint64_t first = key / kPageKeys * kPageKeys;
  // Keys are a ring: it is on the side that is nearer.
  const uint64_t above = (first - base_) / kPageKeys;
  const uint64_t below = (base_ - first) / kPageKeys;
  const bool up = above < below;
  const uint64_t wanted = up ? above + 1 : pages_.size() + below;
  extends_ = extends_ && wanted <= kPagesMax;
  if (!extends_) return nullptr;
  // So that what is inserted needs no memory.
  if (wanted > pages_.capacity()) pages_.reserve(std::max(wanted, 2 * uint64_t{pages_.size()}));
  uint32_t* const page = NewPage();
  if (page == nullptr) {
    extends_ = false;
    return nullptr;
  }
  if (up) {
    if (above >= pages_.size()) pages_.resize(above + 1, nullptr);
    pages_[above] = page;
  } else {
    pages_.insert(pages_.begin(), below, nullptr);
    pages_[0] = page;
    base_ = first;
  }
  return page + key % kPageKeys;
}

bool NearKeys::FreeSome(uint32_t& pages) {
  for (; pages > 0 && !pages_.empty(); pages_.pop_back()) {
    if (pages_.back() == nullptr) continue;
    source_.Free(pages_.back(), kGroupPageBytes);
    --page_count_;
    --pages;
  }
  return !pages_.empty();
}

uint32_t* NearKeys::NewPage() {
  auto* const page = static_cast<uint32_t*>(source_.Allocate(kGroupPageBytes));
  if (page == nullptr) return nullptr;
  std::fill_n(page, kPageKeys, kNone);
  ++page_count_;
  return page;
}

}  // namespace eris::storage
