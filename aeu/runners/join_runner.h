// The joins that one AEU has under way as owner of outer rows: it scans its ranges in slices, a
// block of rows at a time, and sends the rows' values out as look-ups. It is a producer of commands
// that pauses: keys that find no room are kept and sent in a later turn, and no new slice begins
// before; the AEU goes on draining meanwhile. It pauses, too, where it has come to a range that is
// on its way to another AEU. Never waits. Owned by the AEU. Paper: ERIS 3.1, 3.2.
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

  // `slot` is that of the outer object.
  void Begin(const routing::CommandHeader* command, ObjectSlot* slot) override;
  void EndAll(const ObjectSlot* slot) override;
  bool Advance(uint64_t deadline_ns) override;
  bool Runnable() const override;
  size_t running() const override { return joins_.size(); }

 private:
  struct RunningJoin {
    // Of the command.
    ObjectSlot* slot = nullptr;  // nullptr: the object is gone
    storage::Range range;
    const routing::RangeTable* table = nullptr;
    const routing::ObjectRoute* inner = nullptr;
    std::optional<routing::LookupQuery> query;
    routing::JoinPart* part = nullptr;
    routing::CompletionFunction complete = nullptr;
    routing::JoinBlockFunction begin_block = nullptr;
    routing::CompletionFunction complete_block = nullptr;

    // The cursor: a key, sought anew at each slice.
    size_t owned = 0;      // of the AEU's partitions in `table`, the one that the piece is of
    storage::Range piece;  // what is still to be scanned of it
    routing::JoinPartEnd end;

    routing::JoinBlock* filling = nullptr;
    // Its keys at the positions `left` are still to be sent: there was no room for them.
    routing::JoinBlock* sending = nullptr;
    std::vector<uint32_t> left;
  };

  // Whether the join's next row lies in a range that is on its way to another AEU.
  static bool Waits(const RunningJoin& join);
  // True when the join has ended.
  bool AdvanceOne(RunningJoin& join, uint64_t deadline_ns, bool& moved);
  // Makes the next piece that the AEU is to answer the cursor's, from its partition join.owned on;
  // after the last one the join is answered.
  void FindPiece(RunningJoin& join);
  // From the AEU's next partition after the cursor's on; nothing: there is none in the range.
  std::optional<storage::Range> RestAfter(const RunningJoin& join) const;
  void FillBlock(RunningJoin& join, uint64_t deadline_ns);
  // False: no memory; nothing has been sent, and the part ends.
  bool SendBlock(RunningJoin& join);
  // Sends what is left; true if any of it found room.
  bool SendLeft(RunningJoin& join);
  // Answers what is left instead of sending it.
  void AnswerLeft(RunningJoin& join, storage::KeyState state);
  routing::KeyedCommand CommandOf(const RunningJoin& join, routing::JoinBlock* block) const;
  void Finish(RunningJoin& join);

  const AeuId self_;
  routing::Port& port_;
  Acknowledgements& acknowledgements_;
  LoadCounters& counters_;
  std::vector<RunningJoin> joins_;
  size_t next_ = 0;                  // whose turn it is
  std::vector<uint64_t> keys_;       // scratch: of keys sent again
  std::vector<uint32_t> positions_;  // scratch
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_JOIN_RUNNER_H_
