#include "server/rpc_server.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <netdb.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "eris/errors.h"
#include "grpc/health/v1/health.pb.h"
#include "server/access/exposure.h"
#include "server/admin/admin_service.h"
#include "server/admin/catalog_service.h"
#include "server/admin/reflection_service.h"
#include "server/data/data_service.h"
#include "server/flight/flight_service.h"
#include "server/guard/callback_threads.h"
#include "server/guard/connections.h"
#include "server/queries/queries_service.h"
#include "server/state/memory_limits.h"
#include "server/state/server_state.h"

namespace eris::server {
namespace {

// gRPC reports only in its log why it cannot listen.
class LogCapture {
 public:
  static void Install() {
    static const bool installed = [] {
      gpr_set_log_function(&OnLog);
      return true;
    }();
    static_cast<void>(installed);
  }
  static void Clear() {
    base::MutexLock lock(&mu());
    last().clear();
  }
  // The system's message, from the last error.
  static std::string SystemError() {
    base::MutexLock lock(&mu());
    const absl::string_view text = last();
    constexpr absl::string_view kMark = "os_error:\"";
    const size_t begin = text.find(kMark);
    // Without gRPC's fields in braces after the text.
    if (begin == absl::string_view::npos) return std::string(text.substr(0, text.find('{')));
    const absl::string_view rest = text.substr(begin + kMark.size());
    return std::string(rest.substr(0, rest.find('"')));
  }

 private:
  static void OnLog(gpr_log_func_args* args) {
    if (args->severity != GPR_LOG_SEVERITY_ERROR) return;
    {
      base::MutexLock lock(&mu());
      last() = args->message;
    }
    // As gRPC itself does if the user asks for it.
    if (std::getenv("GRPC_VERBOSITY") != nullptr) {
      std::fprintf(stderr, "grpc: %s:%d: %s\n", args->file, args->line, args->message);
    }
  }
  static base::Mutex& mu() {
    static auto* const mutex = new base::Mutex;  // outlives gRPC's own threads
    return *mutex;
  }
  static std::string& last() {
    static auto* const text = new std::string;
    return *text;
  }
};

uint64_t RandomSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

int AsInt(uint64_t value) {
  return static_cast<int>(
      std::min<uint64_t>(value, static_cast<uint64_t>(std::numeric_limits<int>::max())));
}

// Errors: Unavailable if the system does not know the host. gRPC would not report it.
absl::Status CheckHost(absl::string_view listen) {
  absl::string_view host = listen.substr(0, listen.rfind(':'));
  if (host.empty()) return absl::OkStatus();  // any address of the machine
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(std::string(host).c_str(), nullptr, &hints, &found);
  if (error == 0) freeaddrinfo(found);
  if (error == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", listen, ": host '", host, "': ", gai_strerror(error)));
}

// gRPC removes an existing socket file, even if another server listens on it.
bool UnixSocketIsInUse(absl::string_view path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;  // gRPC will refuse it
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool in_use =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return in_use;
}

// `receive_bytes`: the most that gRPC may hold of incomplete messages; 0: no limit. Beyond it, gRPC
// first narrows the windows of its connections, and then ends calls with RESOURCE_EXHAUSTED.
void SetLimits(const ServerConfig& config, uint64_t receive_bytes, grpc::ServerBuilder* builder) {
  if (receive_bytes > 0) {
    grpc::ResourceQuota quota("eris");
    quota.Resize(receive_bytes);
    builder->SetResourceQuota(quota);
  }
  // Windows that grow with a connection's traffic hold megabytes for each waiting call.
  constexpr uint64_t kReceiveBytesPlenty = uint64_t{1} << 30;
  if (receive_bytes < kReceiveBytesPlenty) builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // Otherwise two servers could silently share one port.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->SetMaxReceiveMessageSize(AsInt(config.receive_message_bytes_max));
  // Requests limit the size of their answers; the client sets its own limit.
  builder->SetMaxSendMessageSize(-1);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                              AsInt(config.calls_per_connection_max));
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, AsInt(config.metadata_bytes_max));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, AsInt(config.keepalive_interval_ms));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, AsInt(config.keepalive_timeout_ms));
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              AsInt(config.client_ping_interval_ms_min));
}

uint32_t WantedCallbackThreads(const ServerConfig& config) {
  if (config.callback_threads > 0) return config.callback_threads;
  if (config.engine.network_cores > 0) return config.engine.network_cores;
  // The cpus that the process may use, which hardware_concurrency ignores; on a machine with more
  // cpus than this set can hold it is good enough.
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<uint32_t>(CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

// Keeps gRPC's library initialized until the process ends. When its last user ends it shuts down,
// and waits for one of its pollers that a blocked socket has started and that sleeps for ten
// seconds. With a client that does not read, a server would stop that much later than its drain.
void KeepLibraryUp() {
  static const bool kept = [] {
    grpc_init();
    return true;
  }();
  static_cast<void>(kept);
}

}  // namespace

struct RpcServer::Impl {
  Impl(const ServerConfig& config, Engine* engine, boost::asio::io_context* io,
       const ArrivalPlaces& arriving)
      : state(config, engine, io, RandomSeed(), arriving),
        data(&state),
        queries(&state),
        catalog(&state),
        admin(&state),
        flight(&state),
        reflection(&state) {
    ERIS_CHECK(data.ServesAll());
    ERIS_CHECK(queries.ServesAll());
    ERIS_CHECK(catalog.ServesAll());
    ERIS_CHECK(admin.ServesAll());
    ERIS_CHECK(flight.ServesAll());
    ERIS_CHECK(reflection.ServesAll());
  }

  ServerState state;
  DataService data;
  QueriesService queries;
  CatalogService catalog;
  AdminService admin;
  FlightService flight;
  ReflectionService reflection;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<CallbackThreads> callback_threads;  // ends before the server
  std::string address;
  bool shut_down = false;
};

RpcServer::RpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RpcServer::~RpcServer() { Shutdown(absl::ZeroDuration()); }

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const ServerConfig& config,
                                                            Engine* engine,
                                                            boost::asio::io_context* io) {
  KeepLibraryUp();
  LogCapture::Install();
  // Reflection shows health only if its descriptor is in the binary, and the linker includes it
  // only if it is referenced.
  ERIS_CHECK(grpc::health::v1::HealthCheckRequest::descriptor() != nullptr);
  grpc::EnableDefaultHealthCheckService(true);

  absl::string_view unix_path = config.listen;
  const bool is_unix = absl::ConsumePrefix(&unix_path, "unix:");
  if (is_unix && UnixSocketIsInUse(unix_path)) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", config.listen, ": Address already in use"));
  }

  if (!is_unix) ERIS_RETURN_IF_ERROR(CheckHost(config.listen));
  ERIS_RETURN_IF_ERROR(CheckExposure(config.security, "server.listen", config.listen));
  ERIS_RETURN_IF_ERROR(CheckExposure(config.security, "server.http", config.http));

  const MemoryPlan plan = engine->Memory().plan;
  const ServerConfig limited = WithShares(config, plan);
  auto impl = std::make_unique<Impl>(limited, engine, io,
                                     PlacesFor(limited, plan, WantedCallbackThreads(config)));
  ERIS_RETURN_IF_ERROR(impl->state.access.Start());
  int port = 0;
  grpc::ServerBuilder builder;
  SetLimits(impl->state.config, plan.receive_bytes, &builder);
  builder.AddListeningPort(config.listen, impl->state.access.CredentialsFor(config.listen), &port);
  builder.RegisterService(&impl->data);
  builder.RegisterService(&impl->queries);
  builder.RegisterService(&impl->catalog);
  builder.RegisterService(&impl->admin);
  builder.RegisterService(&impl->flight);
  builder.RegisterService(&impl->reflection);
  LogCapture::Clear();
  impl->server = builder.BuildAndStart();
  if (impl->server == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", config.listen, ": ", LogCapture::SystemError()));
  }
  impl->address = config.listen;
  if (!is_unix) {
    const size_t colon = config.listen.rfind(':');
    impl->address = absl::StrCat(absl::string_view(config.listen).substr(0, colon), ":", port);
  }
  for (const char* service : {"eris.v1.Data", "eris.v1.Queries", "eris.v1.Catalog", "eris.v1.Admin",
                              "arrow.flight.protocol.FlightService"}) {
    impl->server->GetHealthCheckService()->SetServingStatus(service, true);
  }
  impl->callback_threads =
      std::make_unique<CallbackThreads>(WantedCallbackThreads(config), *impl->server);
  return std::unique_ptr<RpcServer>(new RpcServer(std::move(impl)));
}

const std::string& RpcServer::address() const { return impl_->address; }

ServerState& RpcServer::state() { return impl_->state; }

void RpcServer::BeginDrain(absl::AnyInvocable<void() &&> on_empty) {
  impl_->server->GetHealthCheckService()->Shutdown();
  impl_->state.gate.Close(std::move(on_empty));
}

void RpcServer::EndCalls() {
  impl_->state.gate.CancelAll(Error(ErrorReason::kServerStopping,
                                    "the server is stopping, and the call took too long to end"));
}

void RpcServer::Shutdown(absl::Duration timeout) {
  if (std::exchange(impl_->shut_down, true)) return;
  CutConnections(impl_->address);
  impl_->callback_threads.reset();
  impl_->server->Shutdown(absl::ToChronoTime(absl::Now() + timeout));
  impl_->server->Wait();
}

}  // namespace eris::server
