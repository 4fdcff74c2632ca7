// Runs one server: opens an engine, serves eris.v1 over gRPC, drains on a signal. The eris program
// uses only this; everything behind it is private to server/.
#ifndef ERIS_SERVER_SERVE_H_
#define ERIS_SERVER_SERVE_H_

#include "server/exit_code.h"
#include "server/state/config.h"

namespace eris::server {

// Serves until SIGTERM or SIGINT, then drains: health says NOT_SERVING, new calls get UNAVAILABLE,
// running calls are answered or, after config.drain_timeout_ms, get UNAVAILABLE. A second signal
// ends the process at once with exit code 1.
// Prints "eris: serving on <address> (pid N)" to stdout when calls are answered; <address> has the
// real port when the configured one was 0. Messages go to stderr.
// Takes over the process: signal handling of SIGTERM, SIGINT and SIGPIPE, malloc's thresholds. Call
// it once, from the main thread. Blocks until the server has stopped.
// Returns a code of server/exit_code.h: kServerDrained, or why it could not start.
int Serve(const ServerConfig& config);

}  // namespace eris::server

#endif  // ERIS_SERVER_SERVE_H_
