#include "routing/partition_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace eris::routing {

RangeTable::RangeTable(uint64_t version, std::vector<uint64_t> starts, std::vector<AeuId> owners)
    : version_(version), starts_(std::move(starts)), owners_(std::move(owners)) {
  ERIS_CHECK(!starts_.empty());
  ERIS_CHECK(starts_.size() == owners_.size());
  ERIS_CHECK(starts_[0] == 0);
  ERIS_CHECK(std::adjacent_find(starts_.begin(), starts_.end(), std::greater_equal<>()) ==
             starts_.end());
}

size_t RangeTable::PartitionOf(uint64_t key) const {
  // Branch-free halving: the compiler makes conditional moves of it, and a batch's searches
  // overlap.
  const uint64_t* base = starts_.data();
  size_t length = starts_.size();
  while (length > 1) {
    const size_t half = length / 2;
    base += base[half] <= key ? half : 0;
    length -= half;
  }
  return static_cast<size_t>(base - starts_.data());
}

storage::Range RangeTable::RangeOf(size_t partition) const {
  storage::Range range{storage::Key::FromU64(starts_[partition]), std::nullopt};
  if (partition + 1 < starts_.size()) range.hi = storage::Key::FromU64(starts_[partition + 1]);
  return range;
}

void RangeTable::OwnersOf(std::span<const uint64_t> keys, std::span<AeuId> owners_out) const {
  ERIS_DCHECK(keys.size() == owners_out.size());
  if (starts_.size() == 1) {
    std::fill(owners_out.begin(), owners_out.end(), owners_[0]);
    return;
  }
  for (size_t i = 0; i < keys.size(); ++i) owners_out[i] = owners_[PartitionOf(keys[i])];
}

ObjectRoute::ObjectRoute(uint32_t slot, ObjectId object, std::unique_ptr<const RangeTable> first)
    : slot_(slot), object_(object), current_(first.get()) {
  versions_.push_back(std::move(first));
}

void ObjectRoute::Publish(std::unique_ptr<const RangeTable> next) {
  base::MutexLock lock(&mu_);
  ERIS_CHECK(next->version() > versions_.back()->version());
  // release: pairs with the acquire in table().
  current_.store(next.get(), std::memory_order_release);
  versions_.push_back(std::move(next));
}

}  // namespace eris::routing
