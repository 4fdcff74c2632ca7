#include "routing/ranges/range_table.h"

#include <algorithm>
#include <functional>
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
  if (starts_.size() >= TreeRangesMin(CsbTree::Best())) tree_.emplace(starts_);

  // A counting sort: count the ranges of each owner, compute where each owner's begin, then place
  // each range.
  owned_begin_.resize(size_t{std::max_element(owners_.begin(), owners_.end())->value} + 2);
  for (const AeuId owner : owners_) ++owned_begin_[owner.value + 1];
  for (size_t i = 1; i < owned_begin_.size(); ++i) owned_begin_[i] += owned_begin_[i - 1];
  owned_.resize(owners_.size());
  std::vector<uint32_t> next(owned_begin_.begin(), owned_begin_.end() - 1);
  for (uint32_t i = 0; i < owners_.size(); ++i) owned_[next[owners_[i].value]++] = i;
}

std::unique_ptr<const RangeTable> RangeTable::With(const storage::Range& range, AeuId owner) const {
  ERIS_CHECK(!range.Empty() && range.lo.tail == 0 && (!range.hi || range.hi->tail == 0));
  std::vector<uint64_t> starts;
  std::vector<AeuId> owners;
  const auto add = [&](uint64_t start, AeuId whose) {
    if (!owners.empty() && owners.back() == whose) return;
    starts.push_back(start);
    owners.push_back(whose);
  };
  const size_t first = PartitionOf(range.lo.head);
  for (size_t i = 0; i < first; ++i) add(starts_[i], owners_[i]);
  if (starts_[first] < range.lo.head) add(starts_[first], owners_[first]);
  add(range.lo.head, owner);
  if (range.hi) {
    const size_t last = PartitionOf(range.hi->head);
    add(range.hi->head, owners_[last]);
    for (size_t i = last + 1; i < starts_.size(); ++i) add(starts_[i], owners_[i]);
  }
  return std::make_unique<const RangeTable>(version_ + 1, std::move(starts), std::move(owners));
}

storage::Range RangeTable::RangeOf(size_t partition) const {
  storage::Range range{storage::Key::FromU64(starts_[partition]), std::nullopt};
  if (partition + 1 < starts_.size()) range.hi = storage::Key::FromU64(starts_[partition + 1]);
  return range;
}

std::span<const uint32_t> RangeTable::PartitionsOf(AeuId owner) const {
  if (owner.value + size_t{1} >= owned_begin_.size()) return {};
  const uint32_t begin = owned_begin_[owner.value];
  return std::span(owned_).subspan(begin, owned_begin_[owner.value + 1] - begin);
}

void RangeTable::OwnersOf(std::span<const uint64_t> keys, std::span<AeuId> owners_out) const {
  ERIS_DCHECK(keys.size() == owners_out.size());
  if (starts_.size() == 1) {
    std::fill(owners_out.begin(), owners_out.end(), owners_[0]);
    return;
  }
  if (!tree_) {
    for (size_t i = 0; i < keys.size(); ++i) owners_out[i] = owners_[PartitionOf(keys[i])];
    return;
  }
  constexpr size_t kChunk = 256;
  uint32_t partitions[kChunk];
  for (size_t begin = 0; begin < keys.size(); begin += kChunk) {
    const auto chunk = keys.subspan(begin, std::min(kChunk, keys.size() - begin));
    tree_->PartitionsOf(chunk, std::span(partitions, chunk.size()));
    for (size_t i = 0; i < chunk.size(); ++i) owners_out[begin + i] = owners_[partitions[i]];
  }
}

}  // namespace eris::routing
