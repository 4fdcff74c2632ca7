// The web page that shows the machine, and the figures behind it as JSON, for browsers; metrics and
// health for other programs (metrics_answer.h). HTTP/1.1, on a thread and a socket of its own. It
// only reads: GET is the only method. See docs/guide/page.md.
//
//   accepted --> reading a request --> answering --> reading the next one ... --> closed
//       `-- too many connections: 503     `-- refused (400, 403, 404, 405, 408, 431): closed
//
// There is no authentication. What keeps web sites of other people out, which the user's browser
// may show at the same time: a request must name this server as its Host (page_request.h), so that
// no other name can be pointed at it, and no answer may be read by pages of another origin. Health
// is answered for any Host, and metrics, which show counts and names of objects, except over the
// loopback.
#ifndef ERIS_SERVER_HTTP_HTTP_SERVER_H_
#define ERIS_SERVER_HTTP_HTTP_SERVER_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/state/server_state.h"

namespace eris::server {

struct HttpLimits {
  size_t connections_max = 32;  // further ones get 503
  size_t header_bytes_max = 8192;
  // From the end of the previous answer until a request's headers are complete; then 408, or if no
  // byte of it has come, the connection is closed without a word.
  std::chrono::milliseconds read_time{10'000};
  std::chrono::milliseconds write_time{10'000};  // until the client has taken an answer
};

class HttpServer {
 public:
  // Listens on `address`, host:port or [ipv6]:port; port 0 takes a free one. `server` outlives it.
  // Errors: InvalidArgument (the address), Unavailable (in use, unknown or not permitted),
  // ResourceExhausted (no thread).
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address,
                                                           ServerState* server,
                                                           const HttpLimits& limits = {});
  // Cuts all connections. Blocks until an answer that is being made is ready.
  ~HttpServer();

  const std::string& address() const;  // with the real port

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_HTTP_HTTP_SERVER_H_
