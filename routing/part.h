// What one AEU answers of a scan or a join, and the two rings between the AEU and the reader: empty
// chunks go in, filled ones come out. Without an empty chunk the AEU pauses the part and does other
// work. Owned by the reader, which keeps it until the command's completion function has been
// called. Paper: ERIS 3.1 (scans, data commands that AEUs generate), 3.2.
#ifndef ERIS_ROUTING_PART_H_
#define ERIS_ROUTING_PART_H_

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "eris/types.h"
#include "routing/reply.h"
#include "routing/spsc_ring.h"

namespace eris::routing {

// Chunks that may circulate in one part.
inline constexpr uint32_t kPartChunksMax = 4;

enum class PartOutcome : uint8_t {
  kRunning = 0,
  kAnswered = 1,  // the whole range, or all rows that were asked for
  kMoved = 2,     // all but a rest, whose near end the AEU does not own
  kNoObject = 3,  // the object is gone
  kCancelled = 4,
  kRefused = 5,   // never reached the AEU
  kAborted = 6,   // its snapshot was given up
  kNoMemory = 7,  // the AEU had no memory for it: none of it is answered
};

// ChunkType: with Clear, which empties it.
template <class ChunkType>
class Part : public Reply {
 public:
  using Chunk = ChunkType;

  // Which of a multicast's parts is whose. Immutable while commands are under way.
  AeuId owner;

  // The reader. Gives an empty chunk; wakes nobody.
  void GiveChunk(Chunk* chunk) {
    chunk->Clear();
    const bool pushed = empty_.Push(chunk);
    ERIS_CHECK(pushed);  // no more than kPartChunksMax circulate
  }
  // The AEU; the reader, too, once the part has ended. nullptr: none.
  Chunk* TakeEmpty() { return empty_.Pop(); }
  bool HasEmpty() const { return !empty_.Empty(); }

  // The AEU.
  void Deliver(Chunk* chunk) {
    const bool pushed = filled_.Push(chunk);
    ERIS_CHECK(pushed);
  }
  // The reader. nullptr: none by now; after the completion, none any more.
  Chunk* TakeFilled() { return filled_.Pop(); }
  bool HasFilled() const { return !filled_.Empty(); }

 protected:
  ~Part() = default;

 private:
  SpscRing<Chunk*, kPartChunksMax> empty_;   // reader -> AEU
  SpscRing<Chunk*, kPartChunksMax> filled_;  // AEU -> reader
};

// The part of `aeu`; `parts` are those that one command goes to, ascending by owner. A single part
// is meant whoever gets it: a range that has moved is asked of its new owner.
template <class Parts>
auto PartOf(const Parts& parts, AeuId aeu) {
  if (parts.size() == 1) return *parts.begin();
  const auto found =
      std::lower_bound(parts.begin(), parts.end(), aeu,
                       [](const auto* part, AeuId wanted) { return part->owner < wanted; });
  ERIS_CHECK(found != parts.end() && (*found)->owner == aeu);  // the engine addressed it
  return *found;
}

}  // namespace eris::routing

#endif  // ERIS_ROUTING_PART_H_
