// The part of a scan or a join that one AEU answers, with two rings between the AEU and the reader:
// one for empty chunks, one for filled ones. Without an empty chunk the AEU pauses the part and
// does other work. Owned by the reader, which keeps it until the command's completion function has
// been called. Paper: ERIS 3.1 (scans, data commands that AEUs generate), 3.2.
#ifndef ERIS_ROUTING_PART_H_
#define ERIS_ROUTING_PART_H_

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "eris/types.h"
#include "routing/reply.h"
#include "routing/spsc_ring.h"

namespace eris::routing {

// Most chunks in circulation for one part.
inline constexpr uint32_t kPartChunksMax = 4;

enum class PartOutcome : uint8_t {
  kRunning = 0,
  kAnswered = 1,  // the whole range, or all rows requested
  kMoved = 2,     // all except a rest, whose near end the AEU does not own
  kNoObject = 3,  // the object has been dropped
  kCancelled = 4,
  kRefused = 5,   // never reached the AEU
  kAborted = 6,   // its snapshot was given up
  kNoMemory = 7,  // the AEU had no memory for it: nothing is answered
};

// ChunkType: must have Clear, which empties it.
template <class ChunkType>
class Part : public Reply {
 public:
  using Chunk = ChunkType;

  // Whose part of a multicast this is. Immutable while commands are under way.
  AeuId owner;

  // For the reader. Adds an empty chunk; wakes no AEU.
  void GiveChunk(Chunk* chunk) {
    chunk->Clear();
    const bool pushed = empty_.Push(chunk);
    ERIS_CHECK(pushed);  // at most kPartChunksMax are in circulation
  }
  // For the AEU, and for the reader once the part has ended. nullptr: none.
  Chunk* TakeEmpty() { return empty_.Pop(); }
  bool HasEmpty() const { return !empty_.Empty(); }

  // The AEU.
  void Deliver(Chunk* chunk) {
    const bool pushed = filled_.Push(chunk);
    ERIS_CHECK(pushed);
  }
  // For the reader. nullptr: none now; after the completion, no more will come.
  Chunk* TakeFilled() { return filled_.Pop(); }
  bool HasFilled() const { return !filled_.Empty(); }

 protected:
  ~Part() = default;

 private:
  SpscRing<Chunk*, kPartChunksMax> empty_;   // reader -> AEU
  SpscRing<Chunk*, kPartChunksMax> filled_;  // AEU -> reader
};

// The part of `aeu`; `parts` are those of one command, ascending by owner. A single part is for any
// AEU: a range that has moved is requested from its new owner.
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
