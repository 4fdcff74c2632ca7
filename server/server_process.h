// One server from start to exit code: assembles engine, gRPC server and control loop. Serve() with
// the engine as a parameter.
#ifndef ERIS_SERVER_SERVER_PROCESS_H_
#define ERIS_SERVER_SERVER_PROCESS_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "eris/engine.h"
#include "server/state/config.h"

namespace eris::server {

using EngineOpener = std::function<absl::StatusOr<std::unique_ptr<Engine>>(const Options&)>;

// See Serve in server/serve.h.
int RunServerProcess(const ServerConfig& config, const EngineOpener& open_engine);

}  // namespace eris::server

#endif  // ERIS_SERVER_SERVER_PROCESS_H_
