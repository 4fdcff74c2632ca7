#include "engine/core/control_port.h"

#include <new>

namespace eris::engine {

using storage::KeyState;

void SendKeyed(routing::Port& port, const routing::ObjectRoute& route,
               const routing::KeyedCommand& command) noexcept {
  auto refused = static_cast<uint32_t>(command.keys.size());
  try {
    refused = port.Send(route, command, KeyState::kRefused);
  } catch (const std::bad_alloc&) {
    for (uint32_t i = 0; i < refused; ++i) {
      command.context->states[command.positions.empty() ? i : command.positions[i]] =
          KeyState::kNoMemory;
    }
  }
  port.Flush();
  if (refused > 0) command.complete(command.context, refused);
}

bool SendWhole(routing::Port& port, AeuId target, const routing::CommandHeader& header,
               std::span<const std::byte> segment) noexcept {
  try {
    if (!port.SendTo(target, header, segment)) return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  port.Flush();
  return true;
}

}  // namespace eris::engine
