// The part of an index join that one AEU answers for the outer object (part.h). It fills blocks
// with outer rows and sends their values as keys of lookups in the inner object, with the block
// itself as the reply. The AEU that answers a block's last key hands it to the join's reader, so no
// block is delivered.
#ifndef ERIS_ROUTING_JOIN_PART_H_
#define ERIS_ROUTING_JOIN_PART_H_

#include <cstdint>
#include <optional>
#include <span>

#include "routing/part.h"
#include "storage/key.h"

namespace eris::routing {

// Outer rows of one block. Enough to be worth a command's overhead, few enough that many AEUs have
// a few blocks each.
inline constexpr uint32_t kJoinBlockRows = 4096;

// How many keys a range has; the whole key space has 2^64.
__extension__ typedef unsigned __int128 RangeWidth;
inline RangeWidth WidthOf(const storage::Range& range) {
  if (range.Empty()) return 0;
  const RangeWidth end = range.hi ? RangeWidth{range.hi->head} : RangeWidth{1} << 64;
  return end - range.lo.head;
}

// Four columns: row i is outer_keys[i], join_keys[i], and the inner object's answer for
// join_keys[i]: states[i], values[i]. The part's AEU writes the first two before it sends the
// lookups; the AEUs that answer write the others.
class JoinBlock : public Reply {
 public:
  uint64_t* outer_keys = nullptr;
  uint64_t* join_keys = nullptr;
  uint32_t capacity = 0;
  uint32_t rows = 0;

  void Clear() { rows = 0; }

 protected:
  ~JoinBlock() = default;
};

// An AEU's final result of a part.
struct JoinPartEnd {
  PartOutcome outcome = PartOutcome::kRunning;
  // The number of keys in the disjoint ranges whose rows have all been looked up, since the part
  // was sent.
  RangeWidth answered = 0;
  // kMoved: a range that the AEU was to answer but does not own, with everything after it that it
  // was to answer.
  std::optional<storage::Range> moved;
  std::optional<storage::Range> rest;
  // A block that it had taken and not used.
  JoinBlock* unused = nullptr;
};

class JoinPart : public Part<JoinBlock> {
 public:
  // For the AEU. Not read before the call of the command's completion function, which publishes it.
  void Finish(const JoinPartEnd& end) { end_ = end; }
  // For the reader, after the completion.
  const JoinPartEnd& end() const { return end_; }

 protected:
  ~JoinPart() = default;

 private:
  // Written only by the AEU, while the part is out.
  JoinPartEnd end_;
};

// The parts that one command goes to, ascending by owner.
using JoinParts = std::span<JoinPart* const>;

}  // namespace eris::routing

#endif  // ERIS_ROUTING_JOIN_PART_H_
