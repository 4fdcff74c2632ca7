#include "storage/table/groups/group_pages.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "base/cache_line.h"
#include "base/lean_status.h"

namespace eris::storage {
namespace {

constexpr std::align_val_t kAlignment{base::kCacheLineBytes};

}  // namespace

void* CountedPages::Allocate(size_t bytes) {
  over_limit_ = memory_ != nullptr && !memory_->Take(bytes);
  void* const page = over_limit_ ? nullptr : ::operator new(bytes, kAlignment, std::nothrow);
  if (page == nullptr) {
    if (!over_limit_ && memory_ != nullptr) memory_->Give(bytes);
    refused_bytes_ = bytes;
  }
  return page;
}

void CountedPages::Free(void* page, size_t bytes) {
  ::operator delete(page, kAlignment);
  if (memory_ != nullptr) memory_->Give(bytes);
}

absl::Status CountedPages::Refusal() const {
  return base::OrNoMemory("no memory for the groups of a query", [&]() -> absl::Status {
    if (!over_limit_) return base::NoMemory("no memory for the groups of a query");
    return absl::ResourceExhaustedError(
        absl::StrCat("the groups of a query take ", refused_bytes_, " bytes more, of which the ",
                     memory_->bytes_max(), " bytes for all queries have not so many left"));
  });
}

RecordPages::RecordPages(PageSource& source, size_t record_bytes, uint32_t first)
    : source_(source),
      record_bytes_(record_bytes),
      shift_(static_cast<uint32_t>(
          std::bit_width(std::max<size_t>(kGroupPageBytes / record_bytes, 1)) - 1)),
      mask_((uint64_t{1} << shift_) - 1),
      first_(std::min<uint64_t>(first, mask_ + 1)),
      room_(first_) {
  pages_.reserve(1);
  pages_.push_back(static_cast<std::byte*>(::operator new(first_* record_bytes_, kAlignment)));
}

RecordPages::~RecordPages() {
  while (!pages_.empty()) FreeLast();
}

bool RecordPages::Grow() {
  if (room_ <= mask_) return GrowFirst();
  if (pages_.size() == pages_.capacity()) pages_.reserve(2 * pages_.size());
  void* const page = source_.Allocate((mask_ + 1) * record_bytes_);
  if (page == nullptr) return false;
  pages_.push_back(static_cast<std::byte*>(page));
  room_ += mask_ + 1;
  return true;
}

bool RecordPages::GrowFirst() {
  const uint64_t grown = std::min(2 * first_, mask_ + 1);
  void* const page = source_.Allocate(grown * record_bytes_);
  if (page == nullptr) return false;
  std::memcpy(page, pages_[0], first_ * record_bytes_);
  FreeLast();
  pages_.push_back(static_cast<std::byte*>(page));
  own_first_ = false;
  first_ = grown;
  room_ = grown;
  return true;
}

void RecordPages::FreeLast() {
  std::byte* const page = pages_.back();
  pages_.pop_back();
  if (!pages_.empty()) {
    source_.Free(page, (mask_ + 1) * record_bytes_);
  } else if (own_first_) {
    ::operator delete(page, kAlignment);
  } else {
    source_.Free(page, first_ * record_bytes_);
  }
}

bool RecordPages::FreeSome(uint32_t& pages) {
  for (; pages > 0 && !pages_.empty(); --pages) FreeLast();
  return !pages_.empty();
}

}  // namespace eris::storage
