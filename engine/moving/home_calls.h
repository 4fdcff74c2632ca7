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
#include "memory/memory_system.h"

namespace eris::engine {

class HomeCalls {
 public:
  // A NumaNode with so much room is asked, or with room for all that has spilled from it.
  static constexpr uint64_t kRoomBytes = 64 << 20;
  // An object whose memory does not come, though there seems to be room, is asked for again after
  // 1, 2, 4 ... periods, and at last after so many: each time AEUs walk over its rows.
  static constexpr uint32_t kPeriodsMax = 64;

  // How many objects an AEU has of which some memory has found no room. Any thread.
  using ObjectsLeft = std::function<uint64_t(AeuId)>;

  // `numa_nodes`: of the AEUs, by AeuId. `core` and `memory` outlive it.
  HomeCalls(Core& core, const memory::MemorySystem& memory, std::vector<NumaNodeId> numa_nodes,
            ObjectsLeft objects_left)
      : core_(core),
        memory_(memory),
        numa_nodes_(std::move(numa_nodes)),
        objects_left_(std::move(objects_left)) {}

  // The work of a period; from one thread. Blocks until the AEUs that it asks have answered, a turn
  // each. Throws std::bad_alloc; then some have not been asked.
  void Look();

 private:
  struct Wait {
    uint32_t periods = 0;  // still to pass
    uint32_t next = 1;     // after the next call
  };

  // The AEUs to be asked for the object's memory.
  std::vector<AeuId> Asked(const ObjectEntry& object) const;
  void Ask(const ObjectEntry& object, const std::vector<AeuId>& aeus);

  Core& core_;
  const memory::MemorySystem& memory_;
  const std::vector<NumaNodeId> numa_nodes_;
  const ObjectsLeft objects_left_;
  std::map<ObjectId, Wait> waits_;  // of objects with such memory
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MOVING_HOME_CALLS_H_
