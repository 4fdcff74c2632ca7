// The batched lookup: a group of probes goes down the tree side by side. Each level has two rounds:
// find every probe's slot and prefetch it, then load the slots and prefetch what they refer to.
// In a TreeNode256 the first round touches nothing, since its slot's address follows from the
// reference alone. Runs have two rounds of their own, for the tags and for the pairs.
#include <bit>
#include <cstdint>

#include "base/check.h"
#include "base/prefetch.h"
#include "storage/tree/prefix_tree.h"

namespace eris::storage {
namespace {

// So few probes cannot fill the time of a cache miss with work: fetch whole runs at once.
constexpr uint32_t kFewProbes = 4;

void PrefetchLines(TreeRef run) {
  const auto* block = static_cast<const char*>(run.block());
  for (unsigned i = 0; i < run.lines(); ++i) base::Prefetch(block + i * base::kCacheLineBytes);
}

// Prefetches what the next step with this reference and key reads first.
void PrefetchStep(TreeRef ref, uint64_t key) {
  base::Prefetch(ref.kind() == TreeNodeKind::k256
                     ? static_cast<void*>(&ref.node256()->slots[ref.Byte(key)])
                     : ref.block());
}

// What the search among the candidates will read or, without any, what an insert will touch.
[[gnu::always_inline]] inline void PrefetchPairs(TreeRef ref, uint64_t candidates,
                                                 PrefixTree::Purpose purpose) {
  TreeRun* const run = ref.run();
  const Pair* const pairs = run->pairs();
  for (uint64_t rest = candidates; rest != 0; rest &= rest - 1) {
    base::Prefetch(pairs + std::countr_zero(rest));
  }
  if (purpose != PrefixTree::Purpose::kInsert || candidates != 0) return;
  if (run->count == run->capacity()) {
    PrefetchLines(ref);  // it will be copied
  } else {
    __builtin_prefetch(pairs + run->count, 1, 3);
  }
}

// The last round: where the values are.
[[gnu::always_inline]] inline void TakeFound(const uint64_t* words, const uint64_t* keys,
                                             const uint64_t* candidates, const uint8_t* at_page,
                                             uint32_t page_count, const uint8_t* at_run,
                                             uint32_t run_count, uint64_t** values) {
  for (uint32_t j = 0; j < page_count; ++j) {
    const uint8_t i = at_page[j];
    const TreeRef ref(words[i]);
    const unsigned byte = ref.Byte(keys[i]);
    if (ref.PrefixMatches(keys[i]) && internal::TestBit(ref.page()->bitmap, byte)) {
      values[i] = &ref.page()->slots[byte];
    }
  }
  for (uint32_t j = 0; j < run_count; ++j) {
    const uint8_t i = at_run[j];
    Pair* pair = TreeRef(words[i]).run()->FindAmong(candidates[i], keys[i]);
    if (pair != nullptr) values[i] = &pair->value;
  }
}

// root_of(i) is where the search for keys[i] begins.
template <class RootOf>
[[gnu::always_inline]] inline void FindSideBySide(RootOf root_of, const uint64_t* keys,
                                                  uint32_t count, uint64_t** values,
                                                  PrefixTree::Purpose purpose) {
  ERIS_DCHECK(count <= kFindGroupMax);
  // Words, because TreeRefs would be cleared for the whole group, however few keys there are.
  uint64_t words[kFindGroupMax];
  uint64_t* slots[kFindGroupMax];
  uint64_t candidates[kFindGroupMax];
  // Probes at a TreeNode, and those that have reached a run or a page, by index in the group.
  uint8_t active[kFindGroupMax];
  uint8_t at_run[kFindGroupMax];
  uint8_t at_page[kFindGroupMax];
  static_assert(kFindGroupMax <= 256);
  uint32_t active_count = 0;
  uint32_t run_count = 0;
  uint32_t page_count = 0;

  const auto arrive = [&](uint8_t i, TreeRef ref) {
    words[i] = ref.word();
    if (ref.IsTreeNode()) {
      PrefetchStep(ref, keys[i]);
      active[active_count++] = i;
    } else if (ref.IsRun()) {
      if (count <= kFewProbes) {
        PrefetchLines(ref);
      } else {
        base::Prefetch(ref.block());
      }
      at_run[run_count++] = i;
    } else if (ref.IsPage()) {
      base::Prefetch(ref.block());
      base::Prefetch(&ref.page()->slots[ref.Byte(keys[i])]);
      at_page[page_count++] = i;
    }
  };
  for (uint32_t i = 0; i < count; ++i) {
    values[i] = nullptr;
    arrive(static_cast<uint8_t>(i), root_of(i));
  }
  while (active_count > 0) {
    const uint32_t going = active_count;
    for (uint32_t j = 0; j < going; ++j) {
      const uint8_t i = active[j];
      const TreeRef ref(words[i]);
      slots[i] = SlotOf(ref, ref.Byte(keys[i]));
      base::Prefetch(slots[i]);
    }
    active_count = 0;
    for (uint32_t j = 0; j < going; ++j) {
      const uint8_t i = active[j];
      arrive(i, TreeRef(*slots[i]));
    }
  }
  for (uint32_t j = 0; j < run_count; ++j) {
    const uint8_t i = at_run[j];
    candidates[i] = TreeRef(words[i]).run()->Candidates(keys[i]);
    PrefetchPairs(TreeRef(words[i]), candidates[i], purpose);
  }
  TakeFound(words, keys, candidates, at_page, page_count, at_run, run_count, values);
}

}  // namespace

void PrefixTree::FindGroup(const uint64_t* keys, uint32_t count, uint64_t** values,
                           Purpose purpose) {
  FindSideBySide([root = root_](uint32_t) { return root; }, keys, count, values, purpose);
}

void PrefixTree::FindInTrees(const TreeRef* roots, const uint64_t* keys, uint32_t count,
                             uint64_t** values, Purpose purpose) {
  FindSideBySide([roots](uint32_t i) { return roots[i]; }, keys, count, values, purpose);
}

}  // namespace eris::storage
