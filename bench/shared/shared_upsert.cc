// How the shared tree changes. Every attempt takes the locks that it needs, bottom up, and checks
// under the lock of the referring block that it still refers to the child. If a lock is not
// available it releases all and begins again at the root. That is enough: a TreeNode that is not
// obsolete and has the key's prefix stays on the key's path, and data read without a lock may be
// out of date, but never freed (epochs.h).
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>

#include "bench/shared/shared_tree.h"

namespace eris::bench {
namespace {

using storage::ByteAt;
using storage::BytesOf;
using storage::CapacityOf;
using storage::ChildList;
using storage::kRunPairsMax;
using storage::kShiftLast;
using storage::Pair;
using storage::ShiftOf;
using storage::TagOf;
using storage::TreeNode256;
using storage::TreeRun;
namespace internal = storage::internal;

// As in storage/tree/prefix_tree.cc.
constexpr unsigned kPageKeysMin = 96;

// For a locked TreeNode with `children` children.
unsigned RankOf(TreeRef ref, unsigned children, unsigned byte) {
  return internal::StartsUpTo(ref.starts(), children, byte) - 1;
}
ChildList ListOf(TreeRef ref, unsigned children) {
  ChildList list;
  if (ref.kind() == TreeNodeKind::k256) {
    const TreeNode256* const node = ref.node256();
    for (unsigned start = 0; start < 256; start = internal::NextBit(node->bitmap, start + 1)) {
      list.Add(start, TreeRef(node->slots[start]));
    }
  } else {
    for (unsigned i = 0; i < children; ++i) list.Add(ref.starts()[i], TreeRef(ref.slots()[i]));
  }
  return list;
}

// Release: pairs with the acquire in ReadSlot.
void StoreSlot(uint64_t& slot, TreeRef ref) {
  Shared(slot).store(ref.word(), std::memory_order_release);
}
void FillSlots(TreeNode256* node, unsigned from, unsigned to, TreeRef ref) {
  for (unsigned byte = from; byte < to; ++byte) StoreSlot(node->slots[byte], ref);
}

// Readers of a TreeNode of up to 48 children retry from here until its lock ends with the next
// version. Relaxed: the following stores are releases.
void BeginChange(TreeRef ref, BlockLock& lock) {
  Shared(NodeWord(ref)).store(lock.word() | kNodeLocked | kNodeChanging, std::memory_order_relaxed);
  lock.set_word(lock.word() + kNodeVersion);
}
void StoreStarts(TreeRef ref, const uint8_t* starts) {
  auto* const words = reinterpret_cast<uint64_t*>(ref.starts());
  const size_t count = (storage::SlotsAt(ref.kind()) - sizeof(storage::TreeNodeHeader)) / 8;
  for (size_t i = 0; i < count; ++i) {
    uint64_t word;
    std::memcpy(&word, starts + 8 * i, 8);
    Shared(words[i]).store(word, std::memory_order_release);
  }
}

// Where to divide pairs, as in storage/tree/prefix_tree.cc: the byte at `shift` from which on they
// go to the upper part. REQUIRES: two different bytes.
unsigned SplitByte(const Pair* pairs, unsigned count, unsigned shift, bool ascending) {
  uint8_t bytes[kRunPairsMax + 1];
  for (unsigned i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(ByteAt(pairs[i].key, shift));
  if (ascending) return bytes[count - 1];
  const unsigned half = count / 2;
  std::nth_element(bytes, bytes + half, bytes + count);
  const uint8_t median = bytes[half];
  unsigned below = 0, not_above = 0;
  for (unsigned i = 0; i < count; ++i) {
    below += bytes[i] < median;
    not_above += bytes[i] <= median;
  }
  const bool behind = below == 0 || (not_above < count && not_above - half < half - below);
  return behind ? median + 1u : median;
}

// Adds a pair to a locked run with room for it; the end of the lock publishes it, so these stores
// are relaxed.
void Append(TreeRef run, BlockLock& lock, uint64_t key, uint64_t value) {
  const uint64_t word = lock.word();
  const unsigned count = PairsOf(word);
  Pair* const pairs = PairsAt(run, word);
  Shared(pairs[count].key).store(key, std::memory_order_relaxed);
  Shared(pairs[count].value).store(value, std::memory_order_relaxed);
  uint64_t& tags = (&RunWord(run))[1 + count / 8];
  const unsigned shift = 8 * (count % 8);
  Shared(tags).store((tags & ~(uint64_t{0xff} << shift)) | uint64_t{TagOf(key)} << shift,
                     std::memory_order_relaxed);
  const bool ascends = SortedOf(word) == count && (count == 0 || pairs[count - 1].key < key);
  lock.set_word(word + 1 + (ascends ? 1 << 8 : 0));
}

// The pairs of a locked run, in a new block with more room.
TreeRef CopyRun(TreeRef from, uint64_t word, unsigned lines, void* block) {
  const unsigned count = PairsOf(word);
  auto* const run = new (block) TreeRun{static_cast<uint8_t>(count),
                                        static_cast<uint8_t>(SortedOf(word)),
                                        static_cast<uint8_t>(lines),
                                        static_cast<uint8_t>(storage::RunPairsAt(lines) / 16),
                                        {}};
  std::memcpy(run->tags(), from.run()->tags(), count);
  std::memcpy(static_cast<void*>(run->pairs()), PairsAt(from, word), count * sizeof(Pair));
  return TreeRef::To(block, TreeNodeKind::kRun, lines);
}

}  // namespace

struct SharedTree::Thread::Path {
  TreeRef nodes[storage::kLevelsMax];
  unsigned depth = 0;

  // The lowest TreeNode, and the one above it; none: the root link.
  TreeRef Last() const { return depth == 0 ? TreeRef() : nodes[depth - 1]; }
  TreeRef Above() const { return depth <= 1 ? TreeRef() : nodes[depth - 2]; }
};

uint64_t SharedTree::CountKeys(TreeRef ref) {
  if (ref.IsNone()) return 0;
  if (ref.IsRun()) return PairsOf(RunWord(ref));
  uint64_t keys = 0;
  if (ref.IsPage()) {
    for (const uint64_t word : ref.page()->bitmap) {
      keys += static_cast<unsigned>(std::popcount(word));
    }
    return keys;
  }
  const ChildList list = ListOf(ref, ChildrenOf(NodeWord(ref)));
  for (unsigned i = 0; i < list.count; ++i) keys += CountKeys(TreeRef(list.words[i]));
  return keys;
}

// --- links ---

uint64_t& SharedTree::Thread::WordOf(TreeRef parent) const {
  return parent.IsNone() ? tree_.root_.word : NodeWord(parent);
}

TreeRef SharedTree::Thread::LinkOf(TreeRef parent, uint64_t key, uint64_t word) const {
  if (parent.IsNone()) return TreeRef(tree_.root_.slot);
  const unsigned byte = parent.Byte(key);
  if (parent.kind() == TreeNodeKind::k256) return TreeRef(parent.node256()->slots[byte]);
  return TreeRef(parent.slots()[RankOf(parent, ChildrenOf(word), byte)]);
}

// One word for one child, so no version is needed: readers find the old child or the new one.
void SharedTree::Thread::SetLink(TreeRef parent, uint64_t key, uint64_t word, TreeRef child) {
  if (parent.IsNone()) return StoreSlot(tree_.root_.slot, child);
  const unsigned byte = parent.Byte(key);
  if (parent.kind() != TreeNodeKind::k256) {
    return StoreSlot(parent.slots()[RankOf(parent, ChildrenOf(word), byte)], child);
  }
  TreeNode256* const node = parent.node256();
  FillSlots(node, internal::LastBit(node->bitmap, byte), internal::NextBit(node->bitmap, byte + 1),
            child);
}

TreeRef SharedTree::Thread::Descend(uint64_t key, Path& path) const {
  TreeRef ref = Root();
  while (ref.IsTreeNode() && ref.PrefixMatches(key)) {
    path.nodes[path.depth++] = ref;
    ref = SharedChild(ref, ref.Byte(key));
  }
  return ref;
}

// --- upsert ---

bool SharedTree::Thread::ReplaceInRun(TreeRef run, uint64_t& place, uint64_t value) {
  // Locked, otherwise a copy of the run could miss it.
  BlockLock lock;
  if (!lock.TryRun(RunWord(run))) return false;
  Shared(place).store(value, std::memory_order_relaxed);  // a value orders nothing
  return true;
}

SharedTree::Thread::Outcome SharedTree::Thread::TryUpsert(uint64_t key, uint64_t value) {
  Path path;
  const TreeRef end = Descend(key, path);
  if (end.IsRun()) {
    // Acquire: pairs with the release of the thread that counted the pairs.
    const uint64_t word = Shared(RunWord(end)).load(std::memory_order_acquire);
    Pair* const pair = SharedFindAmong(end, word, SharedCandidates(end, word, key), key);
    if (pair == nullptr) return InsertIntoRun(path, end, word, key, value);
    return ReplaceInRun(end, pair->value, value) ? Outcome::kReplaced : Outcome::kAgain;
  }
  if (end.IsNone()) {
    BlockLock lock;
    if (!lock.TryNode(tree_.root_.word) || tree_.root_.slot != 0) return Outcome::kAgain;
    const Pair pair{key, value};
    const TreeRef run = NewRun(&pair, 1);
    if (run.IsNone()) return Outcome::kNoMemory;
    SetLink(TreeRef(), key, lock.word(), run);
    return Outcome::kInserted;
  }
  if (end.IsPage() && end.PrefixMatches(key)) return PutInPage(end, key, value);
  return InsertBeside(path, end, key, value);
}

SharedTree::Thread::Outcome SharedTree::Thread::PutInPage(TreeRef page, uint64_t key,
                                                          uint64_t value) {
  const unsigned byte = page.Byte(key);
  uint64_t& slot = page.page()->slots[byte];
  uint64_t& bits = page.page()->bitmap[byte >> 6];
  BlockLock lock;
  bool there = SharedFindInPage(page, key) != nullptr;
  if (!there) {
    if (!lock.TryNode(NodeWord(page))) return Outcome::kAgain;
    there = internal::TestBit(page.page()->bitmap, byte);
  }
  Shared(slot).store(value, std::memory_order_relaxed);  // published by the bit, which is set last
  if (there) return Outcome::kReplaced;
  // Release: pairs with the acquire in SharedFindInPage.
  Shared(bits).store(bits | uint64_t{1} << (byte & 63), std::memory_order_release);
  return Outcome::kInserted;
}

// `word`: of the run when the key was absent.
SharedTree::Thread::Outcome SharedTree::Thread::InsertIntoRun(const Path& path, TreeRef run,
                                                              uint64_t word, uint64_t key,
                                                              uint64_t value) {
  BlockLock lock;
  if (!lock.TryRunFrom(RunWord(run), word)) return Outcome::kAgain;
  if (PairsOf(word) < storage::RunCapacity(run.lines())) {
    Append(run, lock, key, value);
    return Outcome::kInserted;
  }
  const TreeRef parent = path.Last();
  BlockLock parent_lock;
  if (!parent_lock.TryNode(WordOf(parent)) || LinkOf(parent, key, parent_lock.word()) != run) {
    return Outcome::kAgain;
  }
  if (PairsOf(word) == kRunPairsMax) {
    const Outcome outcome = SplitRun(path, parent_lock, run, word, key, value);
    if (outcome == Outcome::kInserted) lock.set_word(word | kRunObsolete);
    return outcome;
  }
  const unsigned lines = storage::RunLinesFor(PairsOf(word) + 1);
  void* const block = cache_.Allocate(lines * base::kCacheLineBytes);
  if (block == nullptr) return Outcome::kNoMemory;
  const TreeRef grown = CopyRun(run, word, lines, block);
  grown.run()->Append(key, value);
  SetLink(parent, key, parent_lock.word(), grown);
  lock.set_word(word | kRunObsolete);
  Retire(run);
  return Outcome::kInserted;
}

// Both the run and its parent are locked; after kInserted the run is obsolete.
SharedTree::Thread::Outcome SharedTree::Thread::SplitRun(const Path& path, BlockLock& parent_lock,
                                                         TreeRef run, uint64_t word, uint64_t key,
                                                         uint64_t value) {
  Pair all[kRunPairsMax + 1];
  constexpr unsigned kCount = kRunPairsMax + 1;
  std::copy_n(PairsAt(run, word), kRunPairsMax, all);
  all[kCount - 1] = {key, value};
  const bool ascending = SortedOf(word) == kRunPairsMax && all[kCount - 2].key < key;
  uint64_t differences = 0;
  for (const Pair& pair : all) differences |= pair.key ^ key;
  const unsigned shift = ShiftOf(differences);
  const TreeRef parent = path.Last();
  const bool beside = !parent.IsNone() && shift == parent.shift();
  if (beside && shift == kShiftLast) {
    const ChildList list = ListOf(parent, ChildrenOf(parent_lock.word()));
    unsigned keys = 1;
    for (unsigned i = 0; i < list.count; ++i) {
      // Relaxed: an approximate number is enough.
      keys += PairsOf(Shared(RunWord(TreeRef(list.words[i]))).load(std::memory_order_relaxed));
    }
    if (keys >= kPageKeysMin) return MakePage(path, parent_lock, run, key, value);
  }
  const unsigned upper_start = SplitByte(all, kCount, shift, ascending);
  // A stable partition without a branch on a pair's side, which would be random.
  Pair halves[2][kRunPairsMax + 1];
  unsigned counts[2] = {0, 0};
  for (const Pair& pair : all) {
    const bool half = ByteAt(pair.key, shift) >= upper_start;
    halves[half][counts[half]++] = pair;
  }
  const TreeRef lower = NewRun(halves[0], counts[0]);
  const TreeRef upper = lower.IsNone() ? TreeRef() : NewRun(halves[1], counts[1]);
  Outcome outcome = Outcome::kNoMemory;
  if (!upper.IsNone()) {
    for (const TreeRef half : {lower, upper}) {
      half.run()->sorted = ascending ? half.run()->count : 1;
    }
    if (beside) {
      outcome = CutInterval(path, parent_lock, key, upper_start, lower, upper);
    } else if (const TreeRef fork = NewFork(key, shift, lower, upper, upper_start);
               !fork.IsNone()) {
      SetLink(parent, key, parent_lock.word(), fork);
      outcome = Outcome::kInserted;
    }
  }
  if (outcome == Outcome::kInserted) {
    Retire(run);
  } else {  // no other thread has seen them
    if (!lower.IsNone()) cache_.Free(lower.block(), lower.Bytes());
    if (!upper.IsNone()) cache_.Free(upper.block(), upper.Bytes());
  }
  return outcome;
}

TreeRef SharedTree::Thread::NewRun(const Pair* pairs, unsigned count) {
  const unsigned lines = storage::RunLinesFor(count);
  void* const block = cache_.Allocate(lines * base::kCacheLineBytes);
  return block == nullptr ? TreeRef() : storage::WriteRun(block, lines, pairs, count);
}

TreeRef SharedTree::Thread::NewFork(uint64_t key, unsigned shift, TreeRef lower, TreeRef upper,
                                    unsigned at) {
  void* const block = cache_.Allocate(BytesOf(TreeNodeKind::k5));
  if (block == nullptr) return TreeRef();
  const TreeRef fork = storage::FormatTreeNode(block, TreeNodeKind::k5, shift, key);
  ChildList list;
  list.Add(0, lower);
  list.Add(at, upper);
  storage::WriteChildren(fork, list);
  return fork;
}

SharedTree::Thread::Outcome SharedTree::Thread::CutInterval(const Path& path, BlockLock& lock,
                                                            uint64_t key, unsigned at,
                                                            TreeRef lower, TreeRef upper) {
  const TreeRef ref = path.Last();
  const unsigned children = ChildrenOf(lock.word());
  constexpr uint64_t kOneChild = uint64_t{1} << kNodeChildrenShift;
  if (children < CapacityOf(ref.kind()) && ref.kind() == TreeNodeKind::k256) {
    TreeNode256* const node = ref.node256();
    const unsigned start = internal::LastBit(node->bitmap, at);
    const unsigned end = internal::NextBit(node->bitmap, at + 1);
    internal::SetBit(node->bitmap, at);
    // Each reader reads one slot. Keys of one part exist only there until the lock ends, because
    // the old block with both parts is locked, or has a prefix.
    FillSlots(node, at, end, upper);
    FillSlots(node, start, at, lower);
    lock.set_word(lock.word() + kOneChild);
    return Outcome::kInserted;
  }
  const unsigned rank = ref.kind() == TreeNodeKind::k256 ? 0 : RankOf(ref, children, at) + 1;
  if (children < CapacityOf(ref.kind())) {
    uint8_t starts[48];
    std::memcpy(starts, ref.starts(),
                storage::SlotsAt(ref.kind()) - sizeof(storage::TreeNodeHeader));
    std::memmove(starts + rank + 1, starts + rank, children - rank);
    starts[rank] = static_cast<uint8_t>(at);
    BeginChange(ref, lock);
    StoreStarts(ref, starts);
    uint64_t* const slots = ref.slots();
    for (unsigned i = children; i > rank; --i) StoreSlot(slots[i], TreeRef(slots[i - 1]));
    StoreSlot(slots[rank], upper);
    StoreSlot(slots[rank - 1], lower);
    lock.set_word(lock.word() + kOneChild);
    return Outcome::kInserted;
  }
  const TreeRef above = path.Above();
  BlockLock above_lock;
  if (!above_lock.TryNode(WordOf(above)) || LinkOf(above, key, above_lock.word()) != ref) {
    return Outcome::kAgain;
  }
  const TreeNodeKind kind = storage::KindFor(children + 1);
  void* const block = cache_.Allocate(BytesOf(kind));
  if (block == nullptr) return Outcome::kNoMemory;
  const ChildList old = ListOf(ref, children);
  ChildList list;
  for (unsigned i = 0; i < children; ++i) {
    list.Add(old.starts[i], i + 1 == rank ? lower : TreeRef(old.words[i]));
    if (i + 1 == rank) list.Add(at, upper);
  }
  const TreeRef grown = storage::FormatTreeNode(block, kind, ref.shift(), key);
  storage::WriteChildren(grown, list);
  SetLink(above, key, above_lock.word(), grown);
  lock.set_word(lock.word() | kNodeObsolete);
  Retire(ref);
  return Outcome::kInserted;
}

// The TreeNode or page at the path's end has the place, not the prefix, of the key.
SharedTree::Thread::Outcome SharedTree::Thread::InsertBeside(const Path& path, TreeRef other,
                                                             uint64_t key, uint64_t value) {
  const TreeRef parent = path.Last();
  BlockLock lock;
  if (!lock.TryNode(WordOf(parent)) || LinkOf(parent, key, lock.word()) != other) {
    return Outcome::kAgain;
  }
  const uint64_t prefix = other.header()->prefix;
  const unsigned shift = ShiftOf((prefix ^ key) & storage::PrefixMask(other.shift()));
  const bool above = key > prefix;
  const bool at_parent = !parent.IsNone() && shift == parent.shift();
  if (at_parent) {
    // An adjacent run takes over bytes for which `other` has no keys, and then the key.
    const unsigned others = parent.Byte(prefix);
    const ChildList list = ListOf(parent, ChildrenOf(lock.word()));
    unsigned at = 0;
    while (at + 1 < list.count && list.starts[at + 1] <= others) ++at;
    const bool has_neighbour = above ? at + 1 < list.count : at > 0;
    const unsigned neighbour = above ? at + 1 : at - 1;
    if (has_neighbour && TreeRef(list.words[neighbour]).IsRun()) {
      const TreeRef run(list.words[neighbour]);
      const unsigned moved = above ? neighbour : at;
      const unsigned start = list.starts[moved];
      const unsigned to = above ? others + 1 : others;
      if (parent.kind() == TreeNodeKind::k256) {
        TreeNode256* const node = parent.node256();
        internal::ClearBit(node->bitmap, start);
        internal::SetBit(node->bitmap, to);
        FillSlots(node, std::min(start, to), std::max(start, to), run);
      } else {
        uint8_t starts[48];
        std::memcpy(starts, parent.starts(),
                    storage::SlotsAt(parent.kind()) - sizeof(storage::TreeNodeHeader));
        starts[moved] = static_cast<uint8_t>(to);
        BeginChange(parent, lock);
        StoreStarts(parent, starts);
      }
      return Outcome::kAgain;
    }
  }
  const Pair pair{key, value};
  const TreeRef run = NewRun(&pair, 1);
  if (run.IsNone()) return Outcome::kNoMemory;
  const TreeRef lower = above ? other : run;
  const TreeRef upper = above ? run : other;
  Outcome outcome = Outcome::kNoMemory;
  if (!at_parent) {
    const TreeRef fork = NewFork(key, shift, lower, upper, ByteAt(above ? key : prefix, shift));
    if (!fork.IsNone()) {
      SetLink(parent, key, lock.word(), fork);
      outcome = Outcome::kInserted;
    }
  } else {
    const unsigned others = parent.Byte(prefix);
    outcome = CutInterval(path, lock, key, above ? others + 1 : others, lower, upper);
  }
  if (outcome != Outcome::kInserted) cache_.Free(run.block(), run.Bytes());
  return outcome;
}

// Converts the path's last TreeNode, of the last level, and its runs to a page that includes the
// key. `run`, one of them, and the TreeNode are locked; after kInserted all are obsolete.
SharedTree::Thread::Outcome SharedTree::Thread::MakePage(const Path& path, BlockLock& parent_lock,
                                                         TreeRef run, uint64_t key,
                                                         uint64_t value) {
  const TreeRef node = path.Last();
  const TreeRef above = path.Above();
  BlockLock above_lock;
  if (!above_lock.TryNode(WordOf(above)) || LinkOf(above, key, above_lock.word()) != node) {
    return Outcome::kAgain;
  }
  const ChildList list = ListOf(node, ChildrenOf(parent_lock.word()));
  std::array<BlockLock, 256> locks;
  for (unsigned i = 0; i < list.count; ++i) {
    const TreeRef child(list.words[i]);
    if (child != run && !locks[i].TryRun(RunWord(child))) return Outcome::kAgain;
  }
  void* const block = cache_.Allocate(BytesOf(TreeNodeKind::kPage));
  if (block == nullptr) return Outcome::kNoMemory;
  const TreeRef page = storage::FormatPage(block, key);
  const auto put = [&](const Pair& pair) {
    internal::SetBit(page.page()->bitmap, ByteAt(pair.key, kShiftLast));
    page.page()->slots[ByteAt(pair.key, kShiftLast)] = pair.value;
  };
  for (unsigned i = 0; i < list.count; ++i) {
    const TreeRef child(list.words[i]);
    // Relaxed: locked by this thread.
    const uint64_t word = Shared(RunWord(child)).load(std::memory_order_relaxed);
    std::for_each_n(PairsAt(child, word), PairsOf(word), put);
    if (child != run) {
      locks[i].set_word(locks[i].word() | kRunObsolete);
    }
    Retire(child);
  }
  put({key, value});
  SetLink(above, key, above_lock.word(), page);
  parent_lock.set_word(parent_lock.word() | kNodeObsolete);
  Retire(node);
  return Outcome::kInserted;
}

}  // namespace eris::bench
