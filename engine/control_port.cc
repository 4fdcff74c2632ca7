#include "engine/control_port.h"

namespace eris::engine {

using storage::KeyState;

void SendKeyed(routing::Port& port, const routing::ObjectRoute& route,
               const routing::KeyedCommand& command) {
  const uint32_t refused = port.Send(route, command, KeyState::kRefused);
  port.Flush();
  if (refused > 0) command.complete(command.context, refused);
}

bool SendWhole(routing::Port& port, AeuId target, const routing::CommandHeader& header,
               std::span<const std::byte> segment) {
  if (!port.SendTo(target, header, segment)) return false;
  port.Flush();
  return true;
}

}  // namespace eris::engine
