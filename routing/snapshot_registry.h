// The epoch of the engine and the held snapshots. With them scans see one moment of all partitions
// while AEUs continue to write, and neither waits for the other. Paper: ERIS 3.1 (MVCC).
// docs/internals/snapshots.md has the rule and its proof; tests/models/snapshot.pml the model.
//
//   an AEU's turn:  cut all sources of commands -> Now() -> Read, if anything has changed
//   a scan:         Begin: slot = E, E: S -> S + 1 in one CAS -> the partition table -> send
//                   ... all its parts have answered -> End
//
// Why a turn that reads e finds every snapshot S < e: its slot is written before the CAS S -> S +
// 1. All changes of E are read-modify-writes, so a thread that loads a later E acquires from that
// CAS too.
// Why a scan at S sees every write stamped S or less: its command leaves after the CAS, so the turn
// that cuts it reads an E above S, and the writes of earlier turns are complete.
//
// Cost: Begin O(1) except for finding a slot, Read O(slots ever used at once).
#ifndef ERIS_ROUTING_SNAPSHOT_REGISTRY_H_
#define ERIS_ROUTING_SNAPSHOT_REGISTRY_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/cache_line.h"
#include "base/memory_ops.h"
#include "storage/snapshot_view.h"

namespace eris::routing {

template <class Memory, uint32_t kSlotCount>
class BasicSnapshotRegistry {
 public:
  // Snapshots that can be held at once.
  static constexpr uint32_t kSlots = kSlotCount;

  struct Held {
    uint32_t slot = 0;
    uint64_t epoch = 0;  // S: it shows the writes stamped with S or less
  };

  // Any thread; latch-free. nullopt: all slots are taken. `begun_ns`: for AbortBegunBefore.
  std::optional<Held> Begin(uint64_t begun_ns = 0) {
    const std::optional<uint32_t> slot = TakeSlot();
    if (!slot) return std::nullopt;
    Slot& own = slots_[*slot];
    own.begun_ns.store(begun_ns, std::memory_order_relaxed);  // published by the CAS below
    uint64_t epoch = epoch_.load(std::memory_order_relaxed);  // the CAS decides
    do {
      // Not a limit but S itself: the CAS succeeds only if it is. A reader that finds it before
      // only keeps rows for a snapshot that does not exist. relaxed: the CAS publishes it.
      own.word.store(WordOf(epoch) | kBeginning, std::memory_order_relaxed);
      // release: pairs with the acquire in Now, which then sees the slot and slots_used_.
    } while (!epoch_.compare_exchange_weak(epoch, epoch + 1, std::memory_order_release,
                                           std::memory_order_relaxed));
    // Now it is definitely S; other threads may have shown S too, without getting it. Readers at S
    // learn of it from this thread. release: pairs with the acquire in AbortIf, for begun_ns.
    own.word.store(WordOf(epoch), std::memory_order_release);
    return Held{*slot, epoch};
  }

  // Call it once, when there will be no more reads at it. Any thread.
  void End(uint32_t slot) {
    // relaxed: the count below publishes it.
    slots_[slot].word.store(kFree, std::memory_order_relaxed);
    CountRelease();
  }

  // Gives it up: AEUs stop keeping rows for it, and answer its scans "aborted". REQUIRES: it is
  // held until the call returns. Any thread.
  void Abort(uint32_t slot) {
    slots_[slot].word.fetch_or(kAborted, std::memory_order_relaxed);  // as End
    CountRelease();
  }
  bool aborted(uint32_t slot) const {
    // relaxed: advice; AEUs call Holds.
    return (slots_[slot].word.load(std::memory_order_relaxed) & kAborted) != 0;
  }

  // The same for snapshots that others hold and may end meanwhile: the one of this epoch, if it is
  // still held. Any thread. False: it is not held, or has already been given up.
  bool AbortEpoch(uint64_t epoch) {
    return AbortIf([epoch](uint64_t word, const Slot&) { return word == WordOf(epoch); });
  }
  // Gives up those begun before that time. False: there were none.
  bool AbortBegunBefore(uint64_t begun_ns) {
    return AbortIf([begun_ns](uint64_t, const Slot& slot) {
      // relaxed: written before the word that AbortIf has acquired; if it already belongs to a
      // later snapshot, then that snapshot's word makes the CAS fail.
      return slot.begun_ns.load(std::memory_order_relaxed) < begun_ns;
    });
  }

  // Whether it is held and not given up. An AEU calls it before each slice of a scan. If this AEU
  // has learned that the snapshot ended, even indirectly through rows from another AEU, this load
  // shows it too: both AEUs read the same atomic word (coherence).
  bool Holds(uint64_t epoch) const {
    // relaxed: a reader at it comes after its Begin, and only coherence is needed.
    const uint32_t used = slots_used_.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < used; ++i) {
      if (slots_[i].word.load(std::memory_order_relaxed) == WordOf(epoch)) return true;
    }
    return false;
  }

  // Changes whenever a snapshot begins, ends or is given up. An AEU reads it once per turn, after
  // it has cut its sources of commands, and calls Read if it has changed.
  struct Mark {
    uint64_t epoch = 0;
    uint64_t releases = 0;
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  Mark Now() const {
    // acquire: pairs with the CAS in Begin, or with an older one that heads its release sequence.
    const uint64_t epoch = epoch_.load(std::memory_order_acquire);
    // acquire: pairs with the add in CountRelease: what Read loads next is as new as this. seq_cst:
    // for an AEU that is about to sleep, see Waker.
    return {epoch, releases_.load(std::memory_order_seq_cst)};
  }

  // The snapshots held and not aborted, and the epoch of `mark`. Allocates only if there are more
  // than ever before.
  void Read(const Mark& mark, storage::SnapshotView& view) const {
    view.epoch = mark.epoch;
    view.active.clear();
    // relaxed, here and below: what `mark` acquired is enough; newer values are fine.
    const uint32_t used = slots_used_.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < used; ++i) {
      const uint64_t word = slots_[i].word.load(std::memory_order_relaxed);
      // A snapshot that is beginning may have its epoch already.
      if (EpochOf(word) > 0 && (word & kAborted) == 0) view.active.push_back(EpochOf(word));
    }
    std::sort(view.active.begin(), view.active.end());
  }

  // Bytes of the old rows that all partitions keep. A count, no data. seq_cst, like the add in
  // CountRelease: either the thread that ends a snapshot finds that an AEU keeps rows, and wakes
  // it; or the AEU, about to sleep, finds that a snapshot has ended.
  void AddVersionBytes(int64_t bytes) {
    version_bytes_.fetch_add(bytes, std::memory_order_seq_cst);
  }
  // It may be negative for a moment, while rows move.
  int64_t version_bytes() const { return version_bytes_.load(std::memory_order_seq_cst); }

  // For an AEU, with the snapshots that its turn found: gives up the oldest if the old rows exceed
  // their limit. It gives up the next one only when they have grown by a part of the limit
  // nevertheless, because memory that an ended snapshot releases is freed piece by piece. At twice
  // the limit it gives up all. True: some have been given up.
  bool GiveUpForMemory(const storage::SnapshotView& view) {
    const int64_t used = version_bytes();
    const int64_t limit = version_bytes_max_;
    // relaxed, here and below: giving up one too many is harmless.
    int64_t next = give_up_at_.load(std::memory_order_relaxed);
    if (used <= limit) {
      if (next != 0) give_up_at_.store(0, std::memory_order_relaxed);
      return false;
    }
    if (used < next || view.active.empty()) return false;
    // It only grows while there is too much: another AEU may have seen more since.
    const int64_t grown = used + limit / 8 + 1;
    while (next < grown && !give_up_at_.compare_exchange_weak(
                               next, grown, std::memory_order_relaxed, std::memory_order_relaxed)) {
    }
    bool any = AbortEpoch(view.active.front());
    if (used / 2 > limit) {
      for (const uint64_t epoch : view.active) any |= AbortEpoch(epoch);
    }
    return any;
  }

  // Before AEUs and scans begin; AEUs use these limits to give snapshots up.
  void SetLimits(uint64_t version_bytes_max, uint64_t age_ns_max) {
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max() / 4;
    version_bytes_max_ = static_cast<int64_t>(std::min(version_bytes_max, kMost));
    age_ns_max_ = age_ns_max;
  }
  uint64_t age_ns_max() const { return age_ns_max_; }

 private:
  // A slot's word: S, or 0 if there is none (E begins with 1), and two bits.
  static constexpr uint64_t kFree = 0;
  static constexpr uint64_t kBeginning = 1;  // taken; another snapshot may still get this S
  static constexpr uint64_t kAborted = 2;
  static constexpr uint64_t WordOf(uint64_t epoch) { return epoch << 2; }
  static constexpr uint64_t EpochOf(uint64_t word) { return word >> 2; }

  struct Slot {
    typename Memory::template Atomic<uint64_t> word{kFree};
    typename Memory::template Atomic<uint64_t> begun_ns{0};
  };

  std::optional<uint32_t> TakeSlot() {
    for (uint32_t i = 0; i < kSlots; ++i) {
      Slot& slot = slots_[i];
      uint64_t word = slot.word.load(std::memory_order_relaxed);  // the CAS decides
      // relaxed: a slot publishes nothing.
      if (word != kFree ||
          !slot.word.compare_exchange_strong(word, kBeginning, std::memory_order_relaxed)) {
        continue;
      }
      // relaxed: the CAS of E publishes it to all threads that need it.
      uint32_t used = slots_used_.load(std::memory_order_relaxed);
      while (used <= i && !slots_used_.compare_exchange_weak(used, i + 1, std::memory_order_relaxed,
                                                             std::memory_order_relaxed)) {
      }
      return i;
    }
    return std::nullopt;
  }

  void CountRelease() {
    // release: pairs with the load in Now; a thread that sees it sees the slot's word too. seq_cst:
    // it comes before a Wake of an AEU that is about to sleep.
    releases_.fetch_add(1, std::memory_order_seq_cst);
  }

  template <class Which>
  bool AbortIf(const Which& which) {
    bool any = false;
    const uint32_t used = slots_used_.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < used; ++i) {
      // acquire: pairs with the last store in Begin: begun_ns belongs to this snapshot or a later
      // one.
      uint64_t word = slots_[i].word.load(std::memory_order_acquire);
      if (word == kFree || (word & (kBeginning | kAborted)) != 0 || !which(word, slots_[i])) {
        continue;
      }
      // An epoch is used once, so this is still the same snapshot. relaxed: as Abort.
      any |=
          slots_[i].word.compare_exchange_strong(word, word | kAborted, std::memory_order_relaxed);
    }
    if (any) CountRelease();
    return any;
  }

  // Shared: written when a snapshot begins or ends, read by every AEU in every turn.
  alignas(base::kNoSharingBytes) typename Memory::template Atomic<uint64_t> epoch_{1};
  typename Memory::template Atomic<uint64_t> releases_{0};

  // Shared: a slot is written by the thread that holds it, and by threads that give it up.
  alignas(base::kNoSharingBytes) typename Memory::template Atomic<uint32_t> slots_used_{0};
  std::array<Slot, kSlots> slots_{};

  // Shared: written by AEUs that keep rows.
  alignas(base::kNoSharingBytes) typename Memory::template Atomic<int64_t> version_bytes_{0};
  typename Memory::template Atomic<int64_t> give_up_at_{0};

  // Immutable once AEUs run.
  int64_t version_bytes_max_ = std::numeric_limits<int64_t>::max() / 4;
  uint64_t age_ns_max_ = ~uint64_t{0};
};

using SnapshotRegistry = BasicSnapshotRegistry<base::RealMemory, 1024>;

}  // namespace eris::routing

#endif  // ERIS_ROUTING_SNAPSHOT_REGISTRY_H_
