#include "engine/moving/home_calls.h"

#include <algorithm>
#include <utility>

#include "engine/core/control_request.h"
#include "engine/objects/object_kinds.h"
#include "memory/memory_manager.h"
#include "routing/data_command.h"

namespace eris::engine {

using storage::KeyState;

void HomeCalls::Look() {
  if (!core_.administration.TryEnter()) return;  // the engine is closing
  const InFlight::Entered entered(core_.administration);
  Machine machine;
  for (uint32_t i = 0; i < pools_.size(); ++i) {
    machine.aeus.push_back(figures_of_(AeuId{i}));
    machine.any_left |= machine.aeus.back().left > 0;
  }
  std::map<ObjectId, Wait> waits;
  for (const ObjectRef& object : core_.catalogue.List()) {
    if (core_.transfer_stop.closed() || core_.transfer_stop.paused()) return;
    if (!MemoryFollowsIn(object->kind)) continue;
    const ObjectBytes bytes = BytesOf(*object);
    if (bytes.spilled.empty() && !machine.any_left) continue;
    const auto known = waits_.find(object->route.object());
    Wait& wait = waits[object->route.object()];
    if (known != waits_.end()) wait = known->second;
    if (wait.periods > 0) {
      --wait.periods;
      continue;
    }
    const std::vector<AeuId> aeus = Asked(*object, bytes, machine);
    if (aeus.empty()) continue;
    if (!Ask(*object, aeus)) wait.next = kPeriodsMax;  // others of these AEUs' objects have some
    wait = {.periods = wait.next - 1, .next = std::min(2 * wait.next, kPeriodsMax)};
  }
  waits_ = std::move(waits);
}

HomeCalls::ObjectBytes HomeCalls::BytesOf(const ObjectEntry& object) {
  ObjectBytes bytes;
  object.VisitManagers([&](const memory::MemoryManager& manager) {
    const uint64_t spilled = manager.spilled_bytes();
    if (spilled > 0) bytes.spilled[manager.numa_node()] = spilled;
    bytes.reserved[manager.numa_node()] = manager.reserved_bytes();
  });
  return bytes;
}

std::vector<AeuId> HomeCalls::Asked(const ObjectEntry& object, const ObjectBytes& bytes,
                                    Machine& machine) {
  std::vector<AeuId> asked;
  for (const AeuId aeu : object.Members()) {
    const NumaNodeId pool = pools_[aeu.value];
    const Figures& figures = machine.aeus[aeu.value];
    const auto spilled = bytes.spilled.find(pool);
    uint64_t elsewhere = spilled == bytes.spilled.end() ? 0 : spilled->second;
    if (elsewhere == 0 && figures.left > 0) {
      // At most what the other NumaNodes' managers have.
      for (const auto& [other, reserved] : bytes.reserved) {
        if (other != pool) elsewhere += reserved;
      }
    }
    if (elsewhere == 0 || figures.under_way > 0) continue;
    const auto [room, unknown] = machine.room.try_emplace(pool);
    if (unknown) room->second = room_of_(pool);
    if (room->second >= std::min(elsewhere, kRoomBytes)) asked.push_back(aeu);
  }
  return asked;
}

bool HomeCalls::Ask(const ObjectEntry& object, const std::vector<AeuId>& aeus) {
  const auto count = static_cast<uint32_t>(aeus.size());
  ControlRequest request(core_, routing::CommandType::kComeHome, count);
  for (uint32_t i = 0; i < count; ++i) {
    // What is refused is asked for again.
    (void)request.Send(aeus[i], object.route, routing::ComeHomeSegment{.position = i});
  }
  request.Await();
  bool any = false;
  for (uint32_t i = 0; i < count; ++i) {
    const KeyState state = request.state(i);
    any |= state != KeyState::kAbsent && state != KeyState::kNoObject;
  }
  return any;
}

}  // namespace eris::engine
