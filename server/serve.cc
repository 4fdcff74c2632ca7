#include "server/serve.h"

#include "eris/engine.h"
#include "server/server_process.h"

namespace eris::server {

int Serve(const ServerConfig& config) {
  return RunServerProcess(config, [](const Options& options) { return Engine::Open(options); });
}

}  // namespace eris::server
