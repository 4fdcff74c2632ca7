// The part of an index join that one AEU answers for the outer object. Empty blocks go in through a
// ring; the AEU fills them with outer rows and sends their values out as keys of look-ups in the
// inner object, with the block itself as reply. Whichever AEU answers a block's last key hands it
// to the join's reader. Without an empty block the AEU pauses the part and does other work. Owned
// by the join, which keeps it until the command's completion function has been called. Paper:
// ERIS 3.1 (data commands that AEUs generate), 3.2.
#ifndef ERIS_ROUTING_JOIN_PART_H_
#define ERIS_ROUTING_JOIN_PART_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "eris/types.h"
#include "routing/reply.h"
#include "routing/scan_part.h"
#include "routing/spsc_ring.h"
#include "storage/key.h"

namespace eris::routing {

// Outer rows of one block. Large enough to make up for a command's way, small enough that many AEUs
// have a few each.
inline constexpr uint32_t kJoinBlockRows = 4096;
// Blocks that one part is given at a time.
inline constexpr uint32_t kPartBlocksMax = 4;

// How many keys a range has; the whole key space has 2^64.
__extension__ typedef unsigned __int128 RangeWidth;
inline RangeWidth WidthOf(const storage::Range& range) {
  if (range.Empty()) return 0;
  const RangeWidth end = range.hi ? RangeWidth{range.hi->head} : RangeWidth{1} << 64;
  return end - range.lo.head;
}

// Four columns: row i is outer_keys[i], join_keys[i], and what the inner object says of
// join_keys[i]: states[i], values[i]. The first two are written by the part's AEU before the
// look-ups are sent, the others by the AEUs that answer them.
class JoinBlock : public Reply {
 public:
  uint64_t* outer_keys = nullptr;
  uint64_t* join_keys = nullptr;
  uint32_t capacity = 0;
  uint32_t rows = 0;

 protected:
  ~JoinBlock() = default;
};

// An AEU's last word on a part.
struct JoinPartEnd {
  PartOutcome outcome = PartOutcome::kRunning;
  // Of the disjoint ranges whose rows have all been looked up, since the part was sent.
  RangeWidth answered = 0;
  // kMoved: a range that the AEU was to answer and does not own, and where, after it, it was to
  // answer more.
  std::optional<storage::Range> moved;
  std::optional<storage::Range> rest;
  // A block that it had taken and not used.
  JoinBlock* unused = nullptr;
};

class JoinPart : public Reply {
 public:
  // Immutable while commands are under way. Which of a multicast's parts is whose.
  AeuId owner;

  // The reader. Gives an empty block; wakes nobody.
  void GiveBlock(JoinBlock* block) {
    block->rows = 0;
    const bool pushed = empty_.Push(block);
    ERIS_CHECK(pushed);  // no more than kPartBlocksMax circulate
  }
  // The AEU; the reader, too, once the part has ended. nullptr: none.
  JoinBlock* TakeEmpty() { return empty_.Pop(); }
  bool HasEmpty() const { return !empty_.Empty(); }

  // The AEU. Not read before the command's completion function has been called, which publishes it.
  void Finish(const JoinPartEnd& end) { end_ = end; }
  // The reader, after the completion.
  const JoinPartEnd& end() const { return end_; }

 protected:
  ~JoinPart() = default;

 private:
  SpscRing<JoinBlock*, kPartBlocksMax> empty_;  // reader -> AEU
  // Written by the AEU while the part is out, by nobody otherwise.
  JoinPartEnd end_;
};

// The parts that one command goes to, ascending by owner.
using JoinParts = std::span<JoinPart* const>;

// The part of `aeu`. A single part is meant whoever gets it: a range that has moved is asked of its
// new owner.
inline JoinPart* PartOf(JoinParts parts, AeuId aeu) {
  if (parts.size() == 1) return parts[0];
  const auto found =
      std::lower_bound(parts.begin(), parts.end(), aeu,
                       [](const JoinPart* part, AeuId wanted) { return part->owner < wanted; });
  ERIS_CHECK(found != parts.end() && (*found)->owner == aeu);  // the engine addressed it
  return *found;
}

}  // namespace eris::routing

#endif  // ERIS_ROUTING_JOIN_PART_H_
