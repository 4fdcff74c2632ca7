#include "storage/tree/tree_count.h"

#include <bit>
#include <limits>

#include "base/check.h"
#include "storage/tree/tree_node.h"
#include "storage/tree/tree_run.h"

namespace eris::storage {
namespace {

// Unsorted runs too: a count must not write.
uint64_t RunKeysBelow(const PrefixTree& tree, TreeRun* run, uint64_t key) {
  const Pair* const pairs = run->pairs();
  uint64_t below = 0;
  if (tree.weight() == nullptr) {
    for (unsigned i = 0; i < run->count; ++i) below += pairs[i].key < key;
  } else {
    for (unsigned i = 0; i < run->count; ++i) {
      if (pairs[i].key < key) below += tree.WeightOf(pairs[i].value);
    }
  }
  return below;
}

uint64_t PageKeysBelow(const PrefixTree& tree, const TreePage* page, unsigned byte) {
  uint64_t below = 0;
  if (tree.weight() != nullptr) {
    for (unsigned at = internal::NextBit(page->bitmap, 0); at < byte;
         at = internal::NextBit(page->bitmap, at + 1)) {
      below += tree.WeightOf(page->slots[at]);
    }
    return below;
  }
  for (unsigned word = 0; word < byte >> 6; ++word) {
    below += static_cast<unsigned>(std::popcount(page->bitmap[word]));
  }
  const uint64_t before = (uint64_t{1} << (byte & 63)) - 1;
  return below + static_cast<unsigned>(std::popcount(page->bitmap[byte >> 6] & before));
}

uint64_t KeysBelow(const PrefixTree& tree, uint64_t key) {
  uint64_t below = 0;
  TreeRef ref = tree.root();
  while (ref.IsTreeNode() && ref.PrefixMatches(key)) {
    const Child at = ChildAt(ref, ref.Byte(key));
    for (Child child = NextChild(ref, 0); child.start < at.start;
         child = NextChild(ref, child.start + 1)) {
      below += tree.KeysOf(child.ref());
    }
    ref = at.ref();
  }
  if (ref.IsNone()) return below;
  if (ref.IsRun()) return below + RunKeysBelow(tree, ref.run(), key);
  if (ref.IsPage() && ref.PrefixMatches(key))
    return below + PageKeysBelow(tree, ref.page(), ref.Byte(key));
  return ref.header()->prefix < key ? below + ref.Keys() : below;
}

// The pair with this rank in an ordered run.
uint64_t KeyInRun(TreeRun* run, uint64_t rank) {
  run->Sort();
  return run->pairs()[rank].key;
}

uint64_t KeyInPage(const TreePage* page, uint64_t rank) {
  unsigned byte = internal::NextBit(page->bitmap, 0);
  for (; rank > 0; --rank) byte = internal::NextBit(page->bitmap, byte + 1);
  return page->header.prefix | byte;
}

}  // namespace

uint64_t KeyAtRank(const PrefixTree& tree, uint64_t rank) {
  ERIS_DCHECK(tree.weight() == nullptr);
  ERIS_DCHECK(rank < tree.size());
  TreeRef ref = tree.root();
  while (ref.IsTreeNode()) {
    Child child = NextChild(ref, 0);
    for (uint64_t keys = child.ref().Keys(); keys <= rank; keys = child.ref().Keys()) {
      rank -= keys;
      child = NextChild(ref, child.start + 1);
    }
    ref = child.ref();
  }
  return ref.IsRun() ? KeyInRun(ref.run(), rank) : KeyInPage(ref.page(), rank);
}

uint64_t CountKeys(const PrefixTree& tree, uint64_t first, uint64_t last) {
  const uint64_t up_to =
      last == std::numeric_limits<uint64_t>::max() ? tree.size() : KeysBelow(tree, last + 1);
  return up_to - (first == 0 ? 0 : KeysBelow(tree, first));
}

}  // namespace eris::storage
