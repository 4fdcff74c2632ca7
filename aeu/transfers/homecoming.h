// What follows a leap: the memory of a range comes to the NumaNode of its new owner. That one alone
// writes the range from the leap on, so it moves the memory itself, a bounded piece a turn:
//
//   census   a walk notes which blocks lie elsewhere; the owners of superblocks that hold nothing
//            else are asked for them (memory/superblock_claim.h)
//   pages    those that it gets it copies, and the kernel gives their addresses the new pages
//   blocks   another walk copies what is left, block by block
//
// What finds no memory on the NumaNode stays where it is. Owned by the AEU.
// Paper: page leap, 3; ERIS 3.3.2.
#ifndef ERIS_AEU_HOMECOMING_H_
#define ERIS_AEU_HOMECOMING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "aeu/state/load_counters.h"
#include "aeu/state/object_slot.h"
#include "aeu/state/range_walk.h"
#include "aeu/transfers/transfer_host.h"
#include "aeu/transfers/transfer_method.h"
#include "base/byte_rate.h"
#include "eris/balancer.h"
#include "memory/superblock_census.h"
#include "routing/home_note.h"
#include "storage/key.h"

namespace eris::aeu {

class Homecoming {
 public:
  // Bytes that a turn copies at most, with and without other work; but one superblock in any case.
  static constexpr uint32_t kBroughtPerTurn = 256 << 10;
  static constexpr uint32_t kBroughtPerIdleTurn = 2 << 20;

  // All outlive it.
  Homecoming(TransferHost& host, const TransferTurn& turn, LoadCounters& counters,
             base::ByteRate& rate)
      : host_(host), turn_(turn), counters_(counters), rate_(rate) {}

  // So that Begin needs no memory for a step that is out, nor for one that is taken in meanwhile.
  // Throws std::bad_alloc.
  void Reserve();
  // Memory of the slot's rows in `range` may lie elsewhere. How it comes home is noted in `note`,
  // unless it is nullptr.
  void Begin(ObjectSlot& slot, const storage::Range& range,
             const std::shared_ptr<routing::HomeNote>& note = nullptr);
  // The same for all the slot's rows, if memory of theirs is left elsewhere: it has found no room
  // here, or was spilled. False: there is none. Throws std::bad_alloc; then nothing has begun.
  bool BringWhatIsLeft(ObjectSlot& slot);
  // The slot's ranges have gone, and what is left with them.
  void ForgetLeft(const ObjectSlot& slot) { SetLeft(&slot, false); }
  // Whether some of the range's memory may still be elsewhere: a walk is to come there, or has left
  // some of the slot's, at whatever keys.
  bool IsUnderWay(const ObjectSlot& slot, const storage::Range& range) const;
  // The object is being dropped: its memory need not come home.
  void EndAll(const ObjectSlot* slot);

  // In a turn that may do a piece: whether the AEU has had other work. For some time after that
  // pieces leave it most of its time, so that a command mostly meets none.
  void NoteTurn(bool busy);
  // Whether there is something to be done now. Answers to a claim come with freed memory.
  bool HasWork() const;
  // Nanoseconds after which to ask again, because of the rate or of other work; 0: what is left
  // waits for answers.
  uint64_t WaitNs() const;
  // Does a piece, bounded in bytes and in time.
  void GoOn(uint32_t bytes_max);

 private:
  enum class Stage : uint8_t { kCensus, kPages, kBlocks };

  // Over the ranges of a slot, in key order, from one key to another. If a census is full, the
  // stages are gone through for the keys before its end, and then for the next ones.
  struct Walk {
    ObjectSlot* slot;
    RangeWalk at;
    std::optional<uint64_t> end;  // nullopt: that of the key space
    Stage stage = Stage::kCensus;
    uint64_t begin;                               // of the keys that the stage is for
    std::optional<uint64_t> stop = std::nullopt;  // and their end; nullopt: that of the walk
    uint64_t given_away = 0;                      // of the cache, at the census
    uint64_t left_remote = 0;                     // the same
    bool looks_again = false;                     // there is more than the census has noted
    bool stays = false;                           // some has found no memory here
    bool of_others = true;                        // superblocks may hold rows of others, too
    uint64_t waits_since_ns = 0;                  // for prepared memory; 0: it does not
    std::unique_ptr<memory::SuperblockCensus> census = nullptr;

    memory::LocalCache& cache() const { return slot->cache(); }
    bool WaitsForAnswers() const;
    bool BringsNext() const;  // the next piece may bring something
    void BeginAt(Stage stage_begun, uint64_t key);
  };

  // What is noted of walks over a slot.
  struct Note {
    ObjectSlot* slot;
    std::shared_ptr<routing::HomeNote> note;
  };

  bool HasWalk(const ObjectSlot* slot) const;
  bool IsLeft(const ObjectSlot* slot) const;
  void SetLeft(const ObjectSlot* slot, bool left);
  bool Waits(const Walk& walk) const;
  // The rate may allow less than a turn.
  uint32_t PieceBytes(const Walk& walk, uint32_t bytes_max) const;
  // Does a piece of one of the stages. True: the walk has come to its end.
  bool GoOnWith(Walk& walk, uint32_t bytes_max);
  void Brought(const ObjectSlot* slot, uint64_t bytes, uint64_t bytes_remapped, uint64_t cpu_ns);
  void End(const ObjectSlot* slot, MemoryFollows state);
  // Each does a piece; true: the walk has come to its end.
  bool TakeCensus(Walk& walk, uint32_t bytes_max);
  bool BringPages(Walk& walk);
  bool BringBlocks(Walk& walk, uint32_t bytes_max);
  // The same for the keys before walk.stop.
  static bool EndStages(Walk& walk);

  TransferHost& host_;
  const TransferTurn& turn_;
  LoadCounters& counters_;
  base::ByteRate& rate_;
  std::vector<Walk> walks_;  // at most one a slot; oldest first
  std::vector<Note> notes_;  // of slots with a walk
  // Slots of which some memory has found no room here, in a walk that has ended.
  std::vector<const ObjectSlot*> left_;
  uint64_t busy_until_ns_ = 0;
  uint64_t rests_until_ns_ = 0;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_HOMECOMING_H_
