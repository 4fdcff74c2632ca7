// Which AEUs of a core group sleep: a thread that adds a task wakes exactly one of them. An AEU
// that is about to sleep says so, then looks for tasks once more; a thread that adds a task does so
// before it looks for sleepers. Both are sequentially consistent, so that one of the two sees the
// other. Paper: locality-aware scheduling in Bobox, 4.3.
#ifndef ERIS_TASKS_SLEEPERS_H_
#define ERIS_TASKS_SLEEPERS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/cache_line.h"
#include "base/memory_ops.h"

namespace eris::tasks {

template <class Memory>
class BasicSleepers {
 public:
  // `members`: AEUs of the group, which have the numbers below it.
  explicit BasicSleepers(uint32_t members)
      : words_((members + kBits - 1) / kBits), sleeping_(new Word[words_]) {}

  // The member itself. It then looks for tasks, with seq_cst loads, before it sleeps.
  void Add(uint32_t member) {
    // seq_cst: pairs with the load in TakeOne.
    sleeping_[member / kBits].bits.fetch_or(BitOf(member), std::memory_order_seq_cst);
  }
  // The member itself, once it is awake.
  void Remove(uint32_t member) {
    // relaxed: no data comes with it.
    sleeping_[member / kBits].bits.fetch_and(~BitOf(member), std::memory_order_relaxed);
  }
  // A member that sleeps, which the caller now has to wake; nobody else will. After a task has been
  // added by a seq_cst operation. Any thread.
  std::optional<uint32_t> TakeOne() {
    for (uint32_t word = 0; word < words_; ++word) {
      // seq_cst: pairs with the fetch_or in Add.
      uint64_t bits = sleeping_[word].bits.load(std::memory_order_seq_cst);
      for (; bits != 0; bits &= bits - 1) {
        const uint64_t bit = bits & -bits;
        // relaxed: the winner only makes a call to the kernel.
        if ((sleeping_[word].bits.fetch_and(~bit, std::memory_order_relaxed) & bit) == 0) continue;
        return word * kBits + static_cast<uint32_t>(__builtin_ctzll(bit));
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr uint32_t kBits = 64;
  struct alignas(base::kNoSharingBytes) Word {
    typename Memory::template Atomic<uint64_t> bits{0};
  };
  static constexpr uint64_t BitOf(uint32_t member) { return uint64_t{1} << member % kBits; }

  const uint32_t words_;
  // Shared: written by members that go to sleep, and by those who wake them.
  const std::unique_ptr<Word[]> sleeping_;
};

using Sleepers = BasicSleepers<base::RealMemory>;

}  // namespace eris::tasks

#endif  // ERIS_TASKS_SLEEPERS_H_
