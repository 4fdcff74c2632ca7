#include "server/http/http_server.h"

#include <pthread.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "server/http/api_answer.h"
#include "server/http/metrics_answer.h"
#include "server/http/page_files.h"
#include "server/http/page_request.h"
#include "server/state/host_port.h"

namespace eris::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Response = http::response<http::string_body>;

// The page's scripts and styles are files of its own, and it loads nothing else.
constexpr char kContentPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

Response MakeResponse(http::status status, absl::string_view type, std::string body,
                      bool keep_alive) {
  Response response(status, 11);
  response.set(http::field::content_type, boost::string_view(type.data(), type.size()));
  response.set(http::field::cache_control, "no-store");
  response.set("Content-Security-Policy", kContentPolicy);
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  response.set("Referrer-Policy", "no-referrer");
  response.set("X-Content-Type-Options", "nosniff");
  response.body() = std::move(body);
  response.keep_alive(keep_alive);
  response.prepare_payload();
  return response;
}

Response Refusal(http::status status, absl::string_view why, bool keep_alive = false) {
  Response response =
      MakeResponse(status, "text/plain; charset=utf-8", absl::StrCat(why, "\n"), keep_alive);
  if (status == http::status::method_not_allowed) response.set(http::field::allow, "GET");
  return response;
}

http::status StatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return http::status::bad_request;
    case absl::StatusCode::kNotFound:
      return http::status::not_found;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return http::status::service_unavailable;
    default:
      return http::status::internal_server_error;
  }
}

// Whether the request has come over the loopback. An unknown address counts as the loopback's.
bool IsOverLoopback(const tcp::socket& socket) {
  error_code error;
  asio::ip::address own = socket.local_endpoint(error).address();
  if (own.is_v6() && own.to_v6().is_v4_mapped()) {
    own = asio::ip::make_address_v4(asio::ip::v4_mapped, own.to_v6());
  }
  return error || own.is_loopback();
}

absl::string_view View(boost::string_view text) { return {text.data(), text.size()}; }

// The answer to a request for `target`.
Response Answer(ServerState& server, absl::string_view target, bool keep_alive) try {
  const absl::StatusOr<PageTarget> parsed = ParseTarget(target);
  if (!parsed.ok()) {
    return Refusal(http::status::bad_request, parsed.status().message(), keep_alive);
  }
  if (absl::StartsWith(parsed->path, "/api/")) {
    absl::StatusOr<std::string> json = AnswerApi(server, *parsed);
    if (json.ok()) {
      return MakeResponse(http::status::ok, "application/json", *std::move(json), keep_alive);
    }
    return Refusal(StatusOf(json.status()), json.status().message(), keep_alive);
  }
  if (IsForPrograms(parsed->path)) {
    absl::StatusOr<ProgramAnswer> answer = AnswerProgram(server, *parsed);
    if (!answer.ok()) {
      return Refusal(StatusOf(answer.status()), answer.status().message(), keep_alive);
    }
    return MakeResponse(http::status::ok, answer->type, std::move(answer->body), keep_alive);
  }
  for (const PageFile& file : PageFiles()) {
    if (file.path != parsed->path) continue;
    return MakeResponse(http::status::ok, file.type, std::string(file.content), keep_alive);
  }
  return Refusal(http::status::not_found, "there is nothing at this path", keep_alive);
} catch (const std::bad_alloc&) {
  return Refusal(http::status::service_unavailable, "no memory for the answer");
}

}  // namespace

struct HttpServer::Impl {
  Impl(ServerState* server_in, const HttpLimits& limits_in, std::string host_in)
      : server(*server_in), limits(limits_in), host(std::move(host_in)) {}

  class Connection;

  // Errors: Unavailable, ResourceExhausted.
  absl::Status Listen(const HostPort& at, const std::string& name);
  void Accept();
  void Serve(tcp::socket socket);
  void Run();

  ServerState& server;
  const HttpLimits limits;
  const std::string host;
  std::string address;
  size_t connections = 0;
  bool accepting = false;  // or about to
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  asio::steady_timer accept_again{io};
  std::thread thread;
};

// Owned by its handlers: it ends with the last one.
class HttpServer::Impl::Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Impl& impl, tcp::socket socket)
      : impl_(impl), socket_(std::move(socket)), timer_(impl.io) {
    ++impl_.connections;
  }
  ~Connection() { --impl_.connections; }

  void Read() {
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(impl_.limits.header_bytes_max));
    // A body is refused, not read. Without a limit this version would refuse each one itself.
    parser_->body_limit(std::numeric_limits<uint64_t>::max());
    late_ = false;
    StartTimer(impl_.limits.read_time);
    http::async_read_header(
        socket_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, size_t) { self->OnHeader(error); });
  }

 private:
  void StartTimer(std::chrono::milliseconds time) {
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (error || self->timer_.expiry() > std::chrono::steady_clock::now()) return;
      self->late_ = true;
      self->socket_.cancel(error);
    });
  }

  void OnHeader(error_code error) {
    if (late_) {
      if (!parser_->got_some()) return Close();
      return Refuse(http::status::request_timeout, "the request came too slowly");
    }
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      return Refuse(http::status::request_header_fields_too_large,
                    absl::StrCat("headers may have ", impl_.limits.header_bytes_max, " bytes"));
    }
    // The client has gone, or what it has sent is not HTTP.
    const bool of_http = error.category() == make_error_code(http::error::bad_version).category();
    if (error == http::error::end_of_stream || error == http::error::partial_message ||
        (error && !of_http)) {
      return Close();
    }
    if (error) return Refuse(http::status::bad_request, error.message());
    const auto& request = parser_->get();
    if (request.method() != http::verb::get) {
      return Refuse(http::status::method_not_allowed, "this server only answers GET");
    }
    const absl::string_view target = View(request.target());
    if (request.count(http::field::host) != 1 ||
        !(IsOwnHost(View(request[http::field::host]), impl_.host) ||
          IsForAnyHost(target.substr(0, target.find('?')), IsOverLoopback(socket_)))) {
      return Refuse(http::status::forbidden, "the request's Host is not this server");
    }
    if (parser_->chunked() || parser_->content_length().value_or(0) > 0 ||
        request.count(http::field::upgrade) > 0) {
      return Refuse(http::status::bad_request, "a GET with a body or an upgrade");
    }
    Write(Answer(impl_.server, target, request.keep_alive()));
  }

  void Refuse(http::status status, absl::string_view why) { Write(Refusal(status, why)); }

  void Write(Response response) {
    response_ = std::move(response);
    late_ = false;
    StartTimer(impl_.limits.write_time);
    http::async_write(socket_, response_, [self = shared_from_this()](error_code error, size_t) {
      if (error || self->late_) return self->Close();
      if (self->response_.keep_alive()) return self->Read();
      self->Linger();
    });
  }

  // At once: otherwise the timer would keep the connection's place.
  void Close() {
    error_code error;
    timer_.cancel();
    socket_.close(error);
  }

  // What the client is still sending is thrown away for a while: closing at once would make the
  // system cut the connection, and the client might lose the answer.
  void Linger() {
    error_code error;
    socket_.shutdown(tcp::socket::shutdown_send, error);
    late_ = false;
    StartTimer(kLingerTime);
    Drain();
  }
  void Drain() {
    socket_.async_read_some(asio::buffer(scrap_),
                            [self = shared_from_this()](error_code error, size_t bytes) {
                              self->drained_ += bytes;
                              if (error || self->late_ || self->drained_ > kLingerBytesMax) {
                                return self->Close();
                              }
                              self->Drain();
                            });
  }

  static constexpr std::chrono::milliseconds kLingerTime{1000};
  static constexpr size_t kLingerBytesMax = 256 << 10;

  Impl& impl_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  boost::beast::flat_buffer buffer_{16 << 10};  // at most
  // A body is not read, and this kind takes no memory for one.
  std::optional<http::request_parser<http::buffer_body>> parser_{};
  Response response_;
  bool late_ = false;  // the timer has cancelled what was under way
  size_t drained_ = 0;
  std::array<char, 1024> scrap_;
};

absl::Status HttpServer::Impl::Listen(const HostPort& at, const std::string& name) {
  const auto failed = [&](const error_code& error) {
    return absl::UnavailableError(
        absl::StrCat("server.http: cannot listen on ", name, ": ", error.message()));
  };
  error_code error;
  tcp::resolver resolver(io);
  const auto found =
      resolver.resolve(at.host, absl::StrCat(at.port),
                       tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty()) return failed(error);
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return failed(error);
  const bool v6 = absl::StrContains(at.host, ':');
  address = absl::StrCat(v6 ? "[" : "", at.host, v6 ? "]:" : ":", acceptor.local_endpoint().port());
  Accept();
  try {
    thread = std::thread([this] { Run(); });
  } catch (const std::system_error& thrown) {
    return absl::ResourceExhaustedError(
        absl::StrCat("server.http: no thread for it: ", thrown.what()));
  }
  return absl::OkStatus();
}

void HttpServer::Impl::Accept() {
  acceptor.async_accept([this](error_code error, tcp::socket socket) {
    accepting = false;
    if (!error) {
      Accept();
      return Serve(std::move(socket));
    }
    if (error == asio::error::operation_aborted) return;
    // No file descriptor or no memory: trying again at once would take a core.
    accept_again.expires_after(std::chrono::milliseconds(100));
    accept_again.async_wait([this](error_code stopped) {
      accepting = false;
      if (!stopped) Accept();
    });
    accepting = true;
  });
  accepting = true;
}

void HttpServer::Impl::Serve(tcp::socket socket) {
  if (connections < limits.connections_max) {
    std::make_shared<Connection>(*this, std::move(socket))->Read();
    return;
  }
  // So small an answer fits into the socket's buffer: nothing waits for this client.
  error_code error;
  socket.non_blocking(true, error);
  Response response = Refusal(http::status::service_unavailable, "too many connections");
  http::write(socket, response, error);
  socket.shutdown(tcp::socket::shutdown_send, error);
}

void HttpServer::Impl::Run() {
  pthread_setname_np(pthread_self(), "eris-http");
  for (;;) {
    try {
      if (!accepting && acceptor.is_open()) Accept();
      io.run();
      return;
    } catch (const std::bad_alloc&) {
      // The connection whose handler had no memory is closed, and the others go on. If it was the
      // acceptor's, that begins again.
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address,
                                                              ServerState* server,
                                                              const HttpLimits& limits) try {
  const std::optional<HostPort> at = ParseHostPort(address);
  if (!at) {
    return absl::InvalidArgumentError(
        absl::StrCat("server.http: '", address, "' is not host:port with a port from 0 to 65535"));
  }
  auto impl = std::make_unique<Impl>(server, limits, at->host);
  ERIS_RETURN_IF_ERROR(impl->Listen(*at, address));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() {
  impl_->io.stop();
  impl_->thread.join();
}

const std::string& HttpServer::address() const { return impl_->address; }

}  // namespace eris::server
