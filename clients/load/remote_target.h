// A server over gRPC, on a TCP connection of its own, driven through one completion queue by the
// generator's thread: no other thread touches a message. A slot belongs to a stream; each kind of
// request has a bidirectional stream there, opened with the first. Scans, and unary calls, are
// calls of their own. Batches under way on one stream are answered in order. One thread.
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
  uint32_t in_flight = 8;  // of a stream: slots s * in_flight .. belong to stream s
  bool unary = false;
};

// `client`, with a connection of its own, and `sink` must outlive the target.
std::unique_ptr<Target> NewRemoteTarget(client::Client& client, const RemoteOptions& options,
                                        AnswerSink& sink);

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_REMOTE_TARGET_H_
