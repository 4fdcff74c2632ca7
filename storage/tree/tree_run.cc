#include "storage/tree/tree_run.h"

#include <algorithm>
#include <new>

namespace eris::storage {
namespace {

TreeRun* NewRun(void* block, unsigned lines, unsigned count, unsigned sorted) {
  return new (block) TreeRun{static_cast<uint8_t>(count),
                             static_cast<uint8_t>(sorted),
                             static_cast<uint8_t>(lines),
                             static_cast<uint8_t>(RunPairsAt(lines) / 16),
                             {}};
}

// So few unsorted pairs are inserted one by one.
constexpr unsigned kFewPairs = 8;

// Distributes the pairs by the first six bits in which any two differ.
void SpreadByFirstBits(Pair* pairs, unsigned count) {
  uint64_t differences = 0;
  for (unsigned i = 1; i < count; ++i) differences |= pairs[0].key ^ pairs[i].key;
  const int shift = std::max(0, 58 - std::countl_zero(differences));
  uint8_t at[64] = {};
  const auto place_of = [&](const Pair& pair) { return pair.key >> shift & 63; };
  for (unsigned i = 0; i < count; ++i) ++at[place_of(pairs[i])];
  uint8_t before = 0;
  for (uint8_t& place : at) {
    const uint8_t here = place;
    place = before;
    before = static_cast<uint8_t>(before + here);
  }
  Pair spread[kRunPairsMax];
  for (unsigned i = 0; i < count; ++i) spread[at[place_of(pairs[i])]++] = pairs[i];
  std::copy_n(spread, count, pairs);
}

}  // namespace

void TreeRun::Remove(Pair* pair) {
  Pair* const all = pairs();
  const auto at = static_cast<unsigned>(pair - all);
  ERIS_DCHECK(at < count);
  --count;
  *pair = all[count];
  tags()[at] = tags()[count];
  // Removing the last pair of a sorted run keeps it sorted; removing another one keeps only the
  // pairs before it sorted.
  sorted = std::min(sorted, static_cast<uint8_t>(at));
}

void TreeRun::Sort() {
  if (sorted == count) return;
  Pair* const all = pairs();
  if (count > sorted + kFewPairs) SpreadByFirstBits(all, count);
  // Little is left to sort, except for keys chosen to collide: then 56 pairs take a microsecond.
  for (unsigned i = 1; i < count; ++i) {
    const Pair pair = all[i];
    unsigned j = i;
    for (; j > 0 && all[j - 1].key > pair.key; --j) all[j] = all[j - 1];
    all[j] = pair;
  }
  for (unsigned i = 0; i < count; ++i) tags()[i] = TagOf(all[i].key);
  sorted = count;
}

unsigned TreeRun::LowerBound(uint64_t key) {
  const Pair* const all = pairs();
  unsigned low = 0;
  for (unsigned length = count; length > 0;) {
    const unsigned half = length / 2;
    if (all[low + half].key < key) {
      low += half + 1;
      length -= half + 1;
    } else {
      length = half;
    }
  }
  return low;
}

void TreeRun::Truncate(unsigned pairs) {
  ERIS_DCHECK(sorted == count && pairs <= count);
  count = sorted = static_cast<uint8_t>(pairs);
}

void TreeRun::DropFirst(unsigned pairs_gone) {
  ERIS_DCHECK(sorted == count && pairs_gone <= count);
  Pair* const all = pairs();
  for (unsigned i = pairs_gone; i < count; ++i) {
    all[i - pairs_gone] = all[i];
    tags()[i - pairs_gone] = tags()[i];
  }
  count = sorted = static_cast<uint8_t>(count - pairs_gone);
}

TreeRef WriteRun(void* block, unsigned lines, const Pair* pairs, unsigned count) {
  ERIS_DCHECK(count <= RunCapacity(lines));
  TreeRun* run = NewRun(block, lines, count, count);
  Pair* const to = run->pairs();
  for (unsigned i = 0; i < count; ++i) {
    to[i] = pairs[i];
    run->tags()[i] = TagOf(pairs[i].key);
  }
  return TreeRef::To(block, TreeNodeKind::kRun, lines);
}

TreeRef CopyRun(TreeRun* from, unsigned lines, void* block) {
  ERIS_DCHECK(from->count <= RunCapacity(lines));
  TreeRun* run = NewRun(block, lines, from->count, from->sorted);
  Pair* const to = run->pairs();
  const Pair* const pairs = from->pairs();
  for (unsigned i = 0; i < from->count; ++i) {
    to[i] = pairs[i];
    run->tags()[i] = from->tags()[i];
  }
  return TreeRef::To(block, TreeNodeKind::kRun, lines);
}

}  // namespace eris::storage
