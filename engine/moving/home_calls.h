// Memory that lies on another NumaNode than its AEU because there was no room: superblocks that
// were spilled, and what a leap has left behind. Once a period the engine looks where there is room
// now, and asks the AEUs there to bring it home. Paper: page leap, 3; ERIS 3.1.
#ifndef ERIS_ENGINE_MOVING_HOME_CALLS_H_
#define ERIS_ENGINE_MOVING_HOME_CALLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "engine/core/core.h"
#include "engine/objects/object_entry.h"
#include "eris/types.h"

namespace eris::engine {

class HomeCalls {
 public:
  // AEUs are asked when their NumaNode has room for all of an object that lies elsewhere, or so
  // much.
  static constexpr uint64_t kRoomBytes = 16 << 20;
  // An object whose memory does not come, though there seems to be room, is asked for again after
  // 1, 2, 4 ... periods, and at last after so many: each time AEUs walk over its rows.
  static constexpr uint32_t kPeriodsMax = 64;

  // How many objects an AEU has of which some memory has found no room, and of how many memory is
  // on its way.
  struct Figures {
    uint64_t left = 0;
    uint64_t under_way = 0;
  };
  // Any thread.
  using FiguresOf = std::function<Figures(AeuId)>;
  // The bytes that the pool with that id has room for. Any thread; may throw std::bad_alloc.
  using RoomOf = std::function<uint64_t(NumaNodeId)>;

  // `pools`: the NumaNode of each AEU's pool, by AeuId. `core` outlives it.
  HomeCalls(Core& core, std::vector<NumaNodeId> pools, RoomOf room_of, FiguresOf figures_of)
      : core_(core),
        pools_(std::move(pools)),
        room_of_(std::move(room_of)),
        figures_of_(std::move(figures_of)) {}

  // The work of a period; from one thread. Does nothing while moves are paused. Blocks until the
  // AEUs that it asks have answered, a turn each. Throws std::bad_alloc; then some have not been
  // asked.
  void Look();

 private:
  struct Wait {
    uint32_t periods = 0;  // still to pass
    uint32_t next = 1;     // after the next call
  };
  // What a period has read of AEUs and pools, once each.
  struct Machine {
    std::vector<Figures> aeus;
    std::map<NumaNodeId, uint64_t> room;
    bool any_left = false;
  };
  // Bytes of an object, by the NumaNode of the manager.
  struct ObjectBytes {
    std::map<NumaNodeId, uint64_t> spilled;
    std::map<NumaNodeId, uint64_t> reserved;
  };

  static ObjectBytes BytesOf(const ObjectEntry& object);
  // The AEUs to be asked for the object's memory.
  std::vector<AeuId> Asked(const ObjectEntry& object, const ObjectBytes& bytes, Machine& machine);
  // True: memory of one of them is on its way now.
  bool Ask(const ObjectEntry& object, const std::vector<AeuId>& aeus);

  Core& core_;
  const std::vector<NumaNodeId> pools_;
  const RoomOf room_of_;
  const FiguresOf figures_of_;
  std::map<ObjectId, Wait> waits_;  // of objects that may have such memory
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MOVING_HOME_CALLS_H_
