// The engine's own Port, for rare commands: installs, drops, scan parts after the first, keys that
// came back as moved. Shared by threads behind a mutex that no AEU takes.
#ifndef ERIS_ENGINE_CORE_CONTROL_PORT_H_
#define ERIS_ENGINE_CORE_CONTROL_PORT_H_

#include <cstddef>
#include <new>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "routing/port.h"

namespace eris::engine {

// How often a chunk's keys are sent again after an AEU has answered them as moved, before the scan
// or join fails.
inline constexpr uint32_t kResendsMax = 100'000;

// None of these throws: if the general heap has no memory, nothing has been sent.

// Sends a keyed command completely. Keys without room within the Port's time limit are answered as
// kRefused; without memory all as kNoMemory. Each of the command's keys gets its answer through
// command.complete.
void SendKeyed(routing::Port& port, const routing::ObjectRoute& route,
               const routing::KeyedCommand& command) noexcept;
// The same for one unsplit command. False: no room within the time limit, or no memory; it has not
// been completed.
[[nodiscard]] bool SendWhole(routing::Port& port, AeuId target,
                             const routing::CommandHeader& header,
                             std::span<const std::byte> segment) noexcept;

class ControlPort {
 public:
  ControlPort(const routing::EndpointDirectory& directory, const routing::PortOptions& options)
      : port_(directory, options) {}

  // As the functions above. May block for the Port's time limit, and behind other callers.
  void Send(const routing::ObjectRoute& route, const routing::KeyedCommand& command) {
    base::MutexLock lock(&mu_);
    SendKeyed(port_, route, command);
  }
  [[nodiscard]] bool SendTo(AeuId target, const routing::CommandHeader& header,
                            std::span<const std::byte> segment) {
    base::MutexLock lock(&mu_);
    return SendWhole(port_, target, header, segment);
  }
  // Sends one command to many AEUs. Targets without room within the time limit are put into
  // `refused`, and have not been sent anything; without memory all targets are. REQUIRES: `refused`
  // has room for all.
  void Multicast(std::span<const AeuId> targets, const routing::CommandHeader& header,
                 std::span<const std::byte> segment, std::vector<AeuId>& refused) noexcept {
    ERIS_DCHECK(refused.capacity() - refused.size() >= targets.size());
    base::MutexLock lock(&mu_);
    try {
      for (const AeuId target : targets) port_.ReserveTarget(target);
    } catch (const std::bad_alloc&) {
      refused.insert(refused.end(), targets.begin(), targets.end());
      return;
    }
    port_.Multicast(targets, header, segment, refused);
    port_.Flush();
  }

 private:
  base::Mutex mu_;
  routing::Port port_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_CONTROL_PORT_H_
