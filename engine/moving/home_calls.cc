#include "engine/moving/home_calls.h"

#include <algorithm>
#include <utility>

#include "engine/core/control_request.h"
#include "engine/objects/object_kinds.h"
#include "memory/memory_manager.h"
#include "memory/numa_node_pool.h"
#include "routing/data_command.h"

namespace eris::engine {

void HomeCalls::Look() {
  if (!core_.administration.TryEnter()) return;  // the engine is closing
  const InFlight::Entered entered(core_.administration);
  std::map<ObjectId, Wait> waits;
  for (const ObjectRef& object : core_.catalogue.List()) {
    if (!MemoryFollowsIn(object->kind)) continue;
    const std::vector<AeuId> aeus = Asked(*object);
    if (aeus.empty()) continue;
    const auto known = waits_.find(object->route.object());
    Wait wait = known == waits_.end() ? Wait{} : known->second;
    if (wait.periods > 0) {
      --wait.periods;
    } else {
      Ask(*object, aeus);
      wait = {.periods = wait.next - 1, .next = std::min(2 * wait.next, kPeriodsMax)};
    }
    waits[object->route.object()] = wait;
  }
  waits_ = std::move(waits);
}

std::vector<AeuId> HomeCalls::Asked(const ObjectEntry& object) const {
  std::map<NumaNodeId, uint64_t> spilled;  // bytes
  object.VisitManagers([&](const memory::MemoryManager& manager) {
    spilled[manager.numa_node()] = manager.spilled_bytes();
  });
  std::vector<AeuId> asked;
  for (const AeuId aeu : object.Members()) {
    const memory::NumaNodePool& pool = memory_.pool(numa_nodes_[aeu.value]);
    const bool left = objects_left_(aeu) > 0;
    const uint64_t bytes = spilled[pool.id()];
    if (!left && bytes == 0) continue;
    if (pool.HasRoom(left ? kRoomBytes : std::min(bytes, kRoomBytes))) asked.push_back(aeu);
  }
  return asked;
}

void HomeCalls::Ask(const ObjectEntry& object, const std::vector<AeuId>& aeus) {
  ControlRequest request(core_, routing::CommandType::kComeHome,
                         static_cast<uint32_t>(aeus.size()));
  for (uint32_t i = 0; i < aeus.size(); ++i) {
    // What is refused is asked for again.
    (void)request.Send(aeus[i], object.route, routing::ComeHomeSegment{.position = i});
  }
  request.Await();
}

}  // namespace eris::engine
