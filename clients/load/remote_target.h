// A server over gRPC, on a separate TCP connection. The generator's thread drives it through one
// completion queue: no other thread touches a message. A slot belongs to a stream; each kind of
// request has a bidirectional stream there, opened with the first request. Scans and unary calls
// are separate calls. Batches in flight on one stream are answered in order. One thread.
#ifndef ERIS_CLIENTS_LOAD_REMOTE_TARGET_H_
#define ERIS_CLIENTS_LOAD_REMOTE_TARGET_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "clients/eris_client.h"
#include "clients/load/target.h"

namespace eris::load {

struct RemoteOptions {
  std::string object;
  uint32_t streams = 1;
  uint32_t in_flight = 8;  // per stream: slots s * in_flight and following belong to stream s
  bool unary = false;
};

// `client`, with its own connection, and `sink` must outlive the target.
std::unique_ptr<Target> NewRemoteTarget(client::Client& client, const RemoteOptions& options,
                                        AnswerSink& sink);

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_REMOTE_TARGET_H_
