// Where an AEU is reached: its incoming buffers and the means to wake it. The directory of all of
// them is fixed when the engine opens.
#ifndef ERIS_ROUTING_ENDPOINT_H_
#define ERIS_ROUTING_ENDPOINT_H_

#include <memory>
#include <span>
#include <vector>

#include "eris/types.h"
#include "routing/incoming_buffer.h"
#include "routing/waker.h"

namespace eris::routing {

struct AeuEndpoint {
  AeuEndpoint(std::byte* memory, size_t half_bytes) : incoming(memory, half_bytes) {}

  IncomingBuffer incoming;
  Waker waker;

  // Any thread; never blocks. False: no room, nothing written.
  [[nodiscard]] bool TrySend(std::span<const std::byte> records) {
    if (!incoming.TryWrite(records)) return false;
    waker.Wake();  // after TryWrite's seq_cst operations
    return true;
  }
};

// By AeuId. Immutable after the engine has opened.
using EndpointDirectory = std::vector<std::unique_ptr<AeuEndpoint>>;

}  // namespace eris::routing

#endif  // ERIS_ROUTING_ENDPOINT_H_
