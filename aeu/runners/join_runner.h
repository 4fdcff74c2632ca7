// The joins that one AEU is running as the owner of outer rows. It scans its ranges in slices, a
// block of rows at a time, and sends the rows' values as lookups. This producer pauses: keys
// without room are kept and sent in a later turn, and no new slice begins before that; the AEU
// executes other commands meanwhile. It also pauses at a range that is moving to another AEU. Never
// waits. Owned by the AEU. Paper: ERIS 3.1, 3.2.
#ifndef ERIS_AEU_JOIN_RUNNER_H_
#define ERIS_AEU_JOIN_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "aeu/runners/runner.h"
#include "aeu/state/acknowledgements.h"
#include "aeu/state/load_counters.h"
#include "aeu/state/object_slot.h"
#include "eris/types.h"
#include "routing/data_command.h"
#include "routing/join_part.h"
#include "routing/port.h"
#include "routing/ranges/object_route.h"
#include "routing/ranges/range_table.h"
#include "storage/key.h"

namespace eris::aeu {

class JoinRunner final : public Runner {
 public:
  // `port` is the AEU's own.
  JoinRunner(AeuId self, routing::Port& port, Acknowledgements& acknowledgements,
             LoadCounters& counters)
      : self_(self), port_(port), acknowledgements_(acknowledgements), counters_(counters) {}

  // `slot` belongs to the outer object.
  void Begin(const routing::CommandHeader* command, ObjectSlot* slot) override;
  void EndAll(const ObjectSlot* slot) override;
  bool Advance(uint64_t deadline_ns) override;
  bool Runnable() const override;
  size_t running() const override { return joins_.size(); }

 private:
  struct RunningJoin {
    // From the command.
    ObjectSlot* slot = nullptr;  // nullptr: the object has been dropped
    storage::Range range;
    const routing::RangeTable* table = nullptr;
    const routing::ObjectRoute* inner = nullptr;
    std::optional<routing::LookupQuery> query;
    routing::JoinPart* part = nullptr;
    routing::CompletionFunction complete = nullptr;
    routing::JoinBlockFunction begin_block = nullptr;
    routing::CompletionFunction complete_block = nullptr;

    // The cursor: a key, searched again at each slice.
    size_t owned = 0;      // the current one of the AEU's partitions in `table`
    storage::Range piece;  // the rest of its range
    routing::JoinPartEnd end;

    routing::JoinBlock* filling = nullptr;
    // Its keys at the positions `left` must still be sent: there was no room for them.
    routing::JoinBlock* sending = nullptr;
    std::vector<uint32_t> left;
  };

  // Whether the join's next row is in a range that is moving to another AEU.
  static bool Waits(const RunningJoin& join);
  // True if the join has ended.
  bool AdvanceOne(RunningJoin& join, uint64_t deadline_ns, bool& moved);
  // Sets the cursor to the next piece that the AEU must answer, from its partition join.owned on;
  // after the last one the join is answered.
  void FindPiece(RunningJoin& join);
  // The rest from the AEU's next partition on, after the cursor's; nullopt: the range has no
  // further one.
  std::optional<storage::Range> RestAfter(const RunningJoin& join) const;
  void FillBlock(RunningJoin& join, uint64_t deadline_ns);
  // False: no memory; nothing has been sent, and the part ends.
  bool SendBlock(RunningJoin& join);
  // Sends the remaining keys; true if there was room for any.
  bool SendLeft(RunningJoin& join);
  // Answers the remaining keys instead of sending them.
  void AnswerLeft(RunningJoin& join, storage::KeyState state);
  routing::KeyedCommand CommandOf(const RunningJoin& join, routing::JoinBlock* block) const;
  void Finish(RunningJoin& join);

  const AeuId self_;
  routing::Port& port_;
  Acknowledgements& acknowledgements_;
  LoadCounters& counters_;
  std::vector<RunningJoin> joins_;
  size_t next_ = 0;                  // index of the next one to advance
  std::vector<uint64_t> keys_;       // scratch: keys to send again
  std::vector<uint32_t> positions_;  // scratch
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_JOIN_RUNNER_H_
