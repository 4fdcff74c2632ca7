// The blocks of the prefix tree (storage/tree/tree_node.h, storage/tree/tree_run.h) when many
// threads use them concurrently. The layouts are the same; the word with a block's counts also has
// its lock:
//
//   TreeNode, page, word 1:  |children 16|version 45|changing|obsolete|locked|
//   run, word 0:             |unused 30|obsolete|locked|pairs_at 8|lines 8|sorted 8|count 8|
//
// There is no count of the keys below a TreeNode: every insert would write it, even at the root.
//
// A writer that changes a block holds its lock; to replace a block it also holds the lock of the
// block that refers to it. A replaced block is obsolete and never changes again. Readers take no
// lock:
//
//   run           grows at its end only; the count is published last
//   page          a value is published before its bit; never replaced
//   TreeNode 256  a byte's slot is one word, read once
//   others        the version tells whether starts and slots belong together
//
// Words that readers see are written with release and read with acquire. So a reader that has seen
// a part of a change also sees `changing`, or the next version, when it checks again.
#ifndef ERIS_BENCH_SHARED_SHARED_NODE_H_
#define ERIS_BENCH_SHARED_SHARED_NODE_H_

#include <sched.h>

#include <atomic>
#include <bit>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "storage/tree/tree_node.h"
#include "storage/tree/tree_run.h"

namespace eris::bench {

using storage::TreeNodeKind;
using storage::TreeRef;

inline std::atomic_ref<uint64_t> Shared(uint64_t& word) { return std::atomic_ref<uint64_t>(word); }

// --- the word of a TreeNode, a page, or the tree's root link ---
inline constexpr uint64_t kNodeLocked = 1;
inline constexpr uint64_t kNodeObsolete = 2;
inline constexpr uint64_t kNodeChanging = 4;
inline constexpr uint64_t kNodeVersion = 8;  // one more
inline constexpr unsigned kNodeChildrenShift = 48;
// A reader compares all bits except these.
inline constexpr uint64_t kNodeUnseen = kNodeLocked | kNodeObsolete;
constexpr unsigned ChildrenOf(uint64_t word) {
  return static_cast<unsigned>(word >> kNodeChildrenShift);
}

// --- the word of a run ---
inline constexpr uint64_t kRunLocked = uint64_t{1} << 32;
inline constexpr uint64_t kRunObsolete = uint64_t{2} << 32;
constexpr unsigned PairsOf(uint64_t word) { return word & 0xff; }
constexpr unsigned SortedOf(uint64_t word) { return word >> 8 & 0xff; }

inline uint64_t& NodeWord(TreeRef ref) { return static_cast<uint64_t*>(ref.block())[1]; }
inline uint64_t& RunWord(TreeRef ref) { return static_cast<uint64_t*>(ref.block())[0]; }
// The run's pairs, according to the word that was read.
inline storage::Pair* PairsAt(TreeRef run, uint64_t word) {
  return reinterpret_cast<storage::Pair*>(static_cast<char*>(run.block()) +
                                          size_t{word >> 24 & 0xff} * 16);
}

// A lock that is only tried, never waited for: a thread that does not get all it needs releases the
// others and begins again, so there is no lock order. The destructor writes the word that was set
// last.
class BlockLock {
 public:
  BlockLock() = default;
  BlockLock(BlockLock&& other) noexcept
      : word_(std::exchange(other.word_, nullptr)), then_(other.then_) {}
  BlockLock(const BlockLock&) = delete;
  BlockLock& operator=(const BlockLock&) = delete;
  // Release: pairs with the acquire of the next locking thread, and with the readers' loads of the
  // word.
  ~BlockLock() {
    if (word_ != nullptr) Shared(*word_).store(then_, std::memory_order_release);
  }

  // False: it is locked, or obsolete.
  bool TryNode(uint64_t& word) { return Try(word, kNodeLocked, kNodeObsolete); }
  bool TryRun(uint64_t& word) { return Try(word, kRunLocked, kRunObsolete); }
  // The same, if the word is still `expected`, as the caller has read it.
  bool TryRunFrom(uint64_t& word, uint64_t expected) {
    return (expected & (kRunLocked | kRunObsolete)) == 0 && TryFrom(word, expected, kRunLocked);
  }

  bool held() const { return word_ != nullptr; }
  // The word when it was locked, or the word to write when the lock ends.
  uint64_t word() const { return then_; }
  void set_word(uint64_t then) { then_ = then; }

 private:
  bool Try(uint64_t& word, uint64_t locked, uint64_t obsolete) {
    // Relaxed: a check before the exchange, which orders.
    const uint64_t now = Shared(word).load(std::memory_order_relaxed);
    return (now & (locked | obsolete)) == 0 && TryFrom(word, now, locked);
  }
  bool TryFrom(uint64_t& word, uint64_t expected, uint64_t locked) {
    const uint64_t then = expected;
    // Acquire: pairs with the release that ended the lock before. Relaxed when it fails: nothing is
    // read then.
    if (!Shared(word).compare_exchange_strong(
            expected, expected | locked, std::memory_order_acquire, std::memory_order_relaxed)) {
      return false;
    }
    word_ = &word;
    then_ = then;
    return true;
  }

  uint64_t* word_ = nullptr;
  uint64_t then_ = 0;
};

// Between two attempts: the other thread is nearly finished, or has lost its core.
class Backoff {
 public:
  void Wait() {
    if (++waits_ % 16 == 0) {
      sched_yield();
    } else {
#ifdef __SSE2__
      _mm_pause();
#endif
    }
  }

 private:
  unsigned waits_ = 0;
};

#ifdef __SSE2__
// Two words of a block that other threads write. Acquire: see the head of this file.
inline __m128i LoadTwo(uint64_t* words) {
  const auto low = Shared(words[0]).load(std::memory_order_acquire);
  const auto high = Shared(words[1]).load(std::memory_order_acquire);
  return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
}
#endif

// For a TreeNode of up to 48 children: how many of its first `children` starts are at most `byte`.
inline unsigned SharedStartsUpTo(TreeRef ref, unsigned children, unsigned byte) {
  auto* const words = reinterpret_cast<uint64_t*>(ref.starts());
  uint64_t up_to = 0;
#ifdef __SSE2__
  const __m128i all = _mm_set1_epi8(static_cast<char>(byte));
  for (unsigned i = 0; i < children; i += 16) {
    const __m128i some = LoadTwo(words + i / 8);
    const __m128i is = _mm_cmpeq_epi8(_mm_min_epu8(some, all), some);
    up_to |= uint64_t{static_cast<unsigned>(_mm_movemask_epi8(is))} << i;
  }
#else
  for (unsigned i = 0; i < children; ++i) {
    const uint64_t word = Shared(words[i / 8]).load(std::memory_order_acquire);
    up_to |= uint64_t{(word >> 8 * (i % 8) & 0xff) <= byte} << i;
  }
#endif
  return static_cast<unsigned>(std::countr_one(up_to & ((uint64_t{1} << children) - 1)));
}

// The slot to read for a byte, and the word that tells afterwards whether it was the right one.
struct SeenSlot {
  uint64_t* slot;
  uint64_t word;  // of the TreeNode; unused for one with 256 children
};
// False: the TreeNode is being changed.
inline bool SeeSlot(TreeRef ref, unsigned byte, SeenSlot& seen) {
  if (ref.kind() == TreeNodeKind::k256) {
    seen = {&ref.node256()->slots[byte], 0};
    return true;
  }
  // Acquire: pairs with the release that ended the last change.
  seen.word = Shared(NodeWord(ref)).load(std::memory_order_acquire);
  const unsigned rank = SharedStartsUpTo(ref, ChildrenOf(seen.word), byte);
  // No rank: only during a change.
  seen.slot = ref.slots() + (rank == 0 ? 0 : rank - 1);
  return (seen.word & kNodeChanging) == 0;
}
// The content of the slot. False: the TreeNode has changed since, so look again.
inline bool ReadSlot(TreeRef ref, const SeenSlot& seen, TreeRef& child) {
  // Acquire: pairs with the release in LinkedBlock::Set and similar stores; the child's content is
  // visible.
  child = TreeRef(Shared(*seen.slot).load(std::memory_order_acquire));
  if (ref.kind() == TreeNodeKind::k256) return true;
  // Relaxed: the acquire above orders it after the read that it validates.
  const uint64_t now = Shared(NodeWord(ref)).load(std::memory_order_relaxed);
  return ((now ^ seen.word) & ~kNodeUnseen) == 0;
}
// The child for a byte, for any thread.
inline TreeRef SharedChild(TreeRef ref, unsigned byte) {
  SeenSlot seen;
  TreeRef child;
  for (Backoff backoff; !SeeSlot(ref, byte, seen) || !ReadSlot(ref, seen, child);) backoff.Wait();
  return child;
}

// For the run's first pairs, as many as `word` counts: a bit for each whose tag is the key's.
inline uint64_t SharedCandidates(TreeRef run, uint64_t word, uint64_t key) {
  const uint8_t tag = storage::TagOf(key);
  auto* const words = static_cast<uint64_t*>(run.block());
  uint64_t equal = 0;
#ifdef __SSE2__
  const __m128i all = _mm_set1_epi8(static_cast<char>(tag));
  for (unsigned i = 0; i < 4; ++i) {
    const __m128i is = _mm_cmpeq_epi8(LoadTwo(words + 2 * i), all);
    equal |= uint64_t{static_cast<unsigned>(_mm_movemask_epi8(is))} << (16 * i);
  }
  equal >>= 8;
#else
  for (unsigned i = 0; i < PairsOf(word); ++i) {
    const uint64_t tags = Shared(words[1 + i / 8]).load(std::memory_order_acquire);
    equal |= uint64_t{(tags >> 8 * (i % 8) & 0xff) == tag} << i;
  }
#endif
  return equal & ((uint64_t{1} << PairsOf(word)) - 1);
}
// The pair of the key among the candidates, or nullptr.
inline storage::Pair* SharedFindAmong(TreeRef run, uint64_t word, uint64_t candidates,
                                      uint64_t key) {
  storage::Pair* const pairs = PairsAt(run, word);
  for (; candidates != 0; candidates &= candidates - 1) {
    storage::Pair* pair = pairs + std::countr_zero(candidates);
    // Relaxed: keys below the count have been written before it was published, and do not change.
    if (Shared(pair->key).load(std::memory_order_relaxed) == key) return pair;
  }
  return nullptr;
}
// Relaxed: only the value is needed. It is never older than at the operation's beginning.
inline uint64_t SharedValue(uint64_t& value) {
  return Shared(value).load(std::memory_order_relaxed);
}
// The value's location in a page whose prefix is the key's, or nullptr.
inline uint64_t* SharedFindInPage(TreeRef page, uint64_t key) {
  const unsigned byte = page.Byte(key);
  // Acquire: pairs with the release in SharedTree::Thread::PutInPage.
  const uint64_t bits = Shared(page.page()->bitmap[byte >> 6]).load(std::memory_order_acquire);
  return (bits >> (byte & 63) & 1) != 0 ? &page.page()->slots[byte] : nullptr;
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_SHARED_SHARED_NODE_H_
