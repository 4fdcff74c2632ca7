#include "bench/shared/shared_tree.h"

#include "base/prefetch.h"
#include "bench/routing/machine.h"

namespace eris::bench {
namespace {

using storage::kFindGroupMax;
using storage::Pair;

// As in storage/tree/prefix_tree.cc, and storage/tree/prefix_tree_find.cc.
constexpr unsigned kLookupLines = 10;

void PrefetchLines(TreeRef run, unsigned lines) {
  const auto* block = static_cast<const char*>(run.block());
  for (unsigned i = 0; i < lines; ++i) base::Prefetch(block + i * base::kCacheLineBytes);
}

// Prefetches what the next step with this reference and key reads first.
void PrefetchStep(TreeRef ref, uint64_t key) {
  base::Prefetch(ref.kind() == TreeNodeKind::k256
                     ? static_cast<void*>(&ref.node256()->slots[ref.Byte(key)])
                     : ref.block());
}

size_t Registered(Epochs& epochs) {
  const size_t number = epochs.Register();
  if (number == Epochs::kNone) {
    Die("a shared tree has " + std::to_string(Epochs::kThreadsMax) + " threads at most");
  }
  return number;
}

memory::LocalCache& CacheOf(memory::MemoryManager& manager) {
  memory::LocalCache* const cache = manager.NewCache();
  if (cache == nullptr) Die("no memory for a thread of a shared tree");
  return *cache;
}

}  // namespace

struct SharedTree::Thread::Group {
  TreeRef refs[kFindGroupMax];
  uint64_t* values[kFindGroupMax];  // nullptr: the key is absent
  uint32_t again_count = 0;
  uint8_t again[kFindGroupMax];
};

SharedTree::Thread::Thread(SharedTree& tree)
    : tree_(tree), number_(Registered(tree.epochs_)), cache_(CacheOf(tree.manager_)) {}

// Blocks that have not been freed are returned with the manager.
SharedTree::Thread::~Thread() {
  cache_.EndTurn();
  tree_.epochs_.Leave(number_);
}

void SharedTree::Thread::EndTurn() {
  operations_ = 0;
  tree_.epochs_.Announce(number_);
  if (retired_.size() >= kRetiredPerEpoch) {
    past_.emplace_back(tree_.epochs_.Begin(), std::move(retired_));
    retired_.clear();
  }
  if (!past_.empty()) {
    const uint64_t reached = tree_.epochs_.Reached();
    for (; !past_.empty() && past_.front().first <= reached; past_.pop_front()) {
      for (const auto& [block, bytes] : past_.front().second) cache_.Free(block, bytes);
    }
  }
  cache_.EndTurn();
  cache_.Collect();
}

TreeRef SharedTree::Thread::Root() const {
  // Acquire: pairs with the release in SetLink.
  return TreeRef(Shared(tree_.root_.slot).load(std::memory_order_acquire));
}

// --- one key ---

uint64_t* SharedTree::Thread::FindValue(uint64_t key) const {
  TreeRef ref = Root();
  while (ref.IsTreeNode()) ref = SharedChild(ref, ref.Byte(key));
  if (ref.IsRun()) {
    PrefetchLines(ref, kLookupLines);
    // Acquire: pairs with the release of the thread that counted the pairs.
    const uint64_t word = Shared(RunWord(ref)).load(std::memory_order_acquire);
    Pair* const pair = SharedFindAmong(ref, word, SharedCandidates(ref, word, key), key);
    return pair == nullptr ? nullptr : &pair->value;
  }
  return ref.IsNone() || !ref.PrefixMatches(key) ? nullptr : SharedFindInPage(ref, key);
}

std::optional<uint64_t> SharedTree::Thread::Lookup(uint64_t key) {
  uint64_t* const place = FindValue(key);
  const std::optional<uint64_t> value =
      place == nullptr ? std::nullopt : std::optional(SharedValue(*place));
  EndOperations(1);
  return value;
}

UpsertResult SharedTree::Thread::Upsert(uint64_t key, uint64_t value) {
  Outcome outcome;
  for (Backoff backoff; (outcome = TryUpsert(key, value)) == Outcome::kAgain;) backoff.Wait();
  EndOperations(1);
  return outcome == Outcome::kInserted   ? UpsertResult::kInserted
         : outcome == Outcome::kReplaced ? UpsertResult::kReplaced
                                         : UpsertResult::kNoMemory;
}

// --- many keys ---

namespace {

// What the search among the candidates will read or, without any, what an insert will touch.
[[gnu::always_inline]] inline void PrefetchPairs(TreeRef run, uint64_t word, uint64_t candidates,
                                                 bool for_insert) {
  const Pair* const pairs = PairsAt(run, word);
  for (uint64_t rest = candidates; rest != 0; rest &= rest - 1) {
    base::Prefetch(pairs + std::countr_zero(rest));
  }
  if (!for_insert || candidates != 0) return;
  if (PairsOf(word) == storage::RunCapacity(run.lines())) {
    PrefetchLines(run, run.lines());  // it will be copied
  } else {
    __builtin_prefetch(pairs + PairsOf(word), 1, 3);
  }
}

}  // namespace

void SharedTree::Thread::FindGroup(const uint64_t* keys, uint32_t count, Group& group,
                                   bool for_insert) const {
  SeenSlot seen[kFindGroupMax];
  // Probes at a TreeNode, and those that have come to a run or a page, by index in the group.
  uint8_t active[kFindGroupMax];
  uint8_t at_run[kFindGroupMax];
  uint8_t at_page[kFindGroupMax];
  uint32_t active_count = 0;
  uint32_t run_count = 0;
  uint32_t page_count = 0;

  const auto arrive = [&](uint8_t i, TreeRef ref) {
    group.refs[i] = ref;
    if (ref.IsTreeNode()) {
      PrefetchStep(ref, keys[i]);
      active[active_count++] = i;
    } else if (ref.IsRun()) {
      base::Prefetch(ref.block());
      at_run[run_count++] = i;
    } else if (ref.IsPage()) {
      base::Prefetch(ref.block());
      base::Prefetch(&ref.page()->slots[ref.Byte(keys[i])]);
      at_page[page_count++] = i;
    }
  };
  group.again_count = 0;
  const TreeRef root = Root();
  for (uint32_t i = 0; i < count; ++i) {
    group.values[i] = nullptr;
    arrive(static_cast<uint8_t>(i), root);
  }
  while (active_count > 0) {
    const uint32_t going = active_count;
    for (uint32_t j = 0; j < going; ++j) {
      const uint8_t i = active[j];
      // A TreeNode during a change has a slot too; the next round finds that it was not the right
      // one.
      if (!SeeSlot(group.refs[i], group.refs[i].Byte(keys[i]), seen[i])) seen[i].word = 0;
      base::Prefetch(seen[i].slot);
    }
    active_count = 0;
    for (uint32_t j = 0; j < going; ++j) {
      const uint8_t i = active[j];
      TreeRef child;
      if (ReadSlot(group.refs[i], seen[i], child)) [[likely]] {
        arrive(i, child);
      } else {
        group.again[group.again_count++] = i;
      }
    }
  }
  FindAtEnds({at_run, run_count}, {at_page, page_count}, keys, group, for_insert);
}

void SharedTree::Thread::FindAtEnds(std::span<const uint8_t> at_run,
                                    std::span<const uint8_t> at_page, const uint64_t* keys,
                                    Group& group, bool for_insert) {
  uint64_t words[kFindGroupMax];
  uint64_t candidates[kFindGroupMax];
  for (const uint8_t i : at_run) {
    // Acquire: pairs with the release by which a writer publishes the number of pairs.
    words[i] = Shared(RunWord(group.refs[i])).load(std::memory_order_acquire);
    candidates[i] = SharedCandidates(group.refs[i], words[i], keys[i]);
    PrefetchPairs(group.refs[i], words[i], candidates[i], for_insert);
  }
  for (const uint8_t i : at_page) {
    const TreeRef ref = group.refs[i];
    if (ref.PrefixMatches(keys[i])) group.values[i] = SharedFindInPage(ref, keys[i]);
  }
  for (const uint8_t i : at_run) {
    Pair* const pair = SharedFindAmong(group.refs[i], words[i], candidates[i], keys[i]);
    if (pair != nullptr) group.values[i] = &pair->value;
  }
}

void SharedTree::Thread::Lookup(const uint64_t* keys, size_t count, uint64_t* values, bool* found) {
  Group group;
  for (size_t begin = 0; begin < count; begin += kFindGroupMax) {
    const auto part = static_cast<uint32_t>(std::min<size_t>(kFindGroupMax, count - begin));
    FindGroup(keys + begin, part, group, false);
    for (uint32_t j = 0; j < group.again_count; ++j) {
      group.values[group.again[j]] = FindValue(keys[begin + group.again[j]]);
    }
    for (uint32_t i = 0; i < part; ++i) {
      uint64_t* const place = group.values[i];
      found[begin + i] = place != nullptr;
      if (place != nullptr) values[begin + i] = SharedValue(*place);
    }
    EndOperations(part);
  }
}

std::optional<size_t> SharedTree::Thread::Upsert(const uint64_t* keys, const uint64_t* values,
                                                 size_t count) {
  Group group;
  size_t inserted = 0;
  for (size_t begin = 0; begin < count; begin += kFindGroupMax) {
    const auto part = static_cast<uint32_t>(std::min<size_t>(kFindGroupMax, count - begin));
    FindGroup(keys + begin, part, group, true);
    for (uint32_t i = 0; i < part; ++i) {
      uint64_t* const place = group.values[i];
      if (place != nullptr) {
        if (group.refs[i].IsPage()) {
          Shared(*place).store(values[begin + i], std::memory_order_relaxed);
          continue;
        }
        if (ReplaceInRun(group.refs[i], *place, values[begin + i])) continue;
      }
      Outcome outcome;
      for (Backoff backoff;
           (outcome = TryUpsert(keys[begin + i], values[begin + i])) == Outcome::kAgain;) {
        backoff.Wait();
      }
      if (outcome == Outcome::kNoMemory) return std::nullopt;
      inserted += outcome == Outcome::kInserted;
    }
    EndOperations(part);
  }
  return inserted;
}

}  // namespace eris::bench
