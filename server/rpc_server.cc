#include "server/rpc_server.h"

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <sched.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"
#include "eris/errors.h"
#include "grpc/health/v1/health.pb.h"
#include "server/access/exposure.h"
#include "server/admin/admin_service.h"
#include "server/admin/catalog_service.h"
#include "server/admin/reflection_service.h"
#include "server/data/data_service.h"
#include "server/door/calls_by_peer.h"
#include "server/door/descriptors.h"
#include "server/door/door.h"
#include "server/flight/flight_service.h"
#include "server/guard/callback_threads.h"
#include "server/guard/grpc_log.h"
#include "server/overload/health_watches.h"
#include "server/queries/queries_service.h"
#include "server/state/host_port.h"
#include "server/state/memory_limits.h"
#include "server/state/server_state.h"

namespace eris::server {
namespace {

uint64_t RandomSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

int AsInt(uint64_t value) {
  return static_cast<int>(
      std::min<uint64_t>(value, static_cast<uint64_t>(std::numeric_limits<int>::max())));
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
  // A request of a few KiB may unpack to gigabytes, which gRPC 1.51 does not limit.
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
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
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, AsInt(config.handshake_ms_max));
  if (config.connection_idle_ms_max > 0) {
    builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                                AsInt(config.connection_idle_ms_max));
  }
  if (config.connection_age_ms_max > 0) {
    builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                                AsInt(config.connection_age_ms_max));
    if (config.call_ms_max > 0) {
      builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, AsInt(config.call_ms_max));
    }
  }
}

// The limits of connections, with the defaults that depend on the process.
DoorOptions DoorOptionsOf(const ServerConfig& config, uint64_t receive_bytes) {
  // More would take gigabytes in gRPC, a hundred KiB each.
  constexpr uint64_t kConnectionsPlenty = 16384;
  const uint64_t within = ConnectionsWithin(RaiseDescriptorLimit(), DescriptorsInUse());
  DoorOptions options;
  options.unix_mode = ParseMode(config.unix_mode).value_or(0600);
  options.user_timeout_ms = AsInt(config.keepalive_timeout_ms);
  options.connections = {.connections_max = config.connections_max > 0
                                                ? config.connections_max
                                                : std::min(within, kConnectionsPlenty),
                         .per_owner_max = config.connections_per_address_max};
  options.first_call = std::chrono::milliseconds(config.first_call_ms_max);
  options.judge = {.unused_bytes_max = config.unused_bytes_max,
                   .cancelled_calls_max = config.cancelled_calls_max,
                   .message_bytes_max = config.receive_message_bytes_max,
                   .arriving_bytes_max = receive_bytes,
                   .calls_max = config.calls_per_connection_max};
  return options;
}

void LimitHealthWatches(ClientShares* shares, grpc::ServerBuilder* builder) {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
  creators.push_back(std::make_unique<HealthWatches>(shares));
  builder->experimental().SetInterceptorCreators(std::move(creators));
}

CallsByPeer::Counts CountCalls(const DrainGate& gate) {
  CallsByPeer::Counts counts;
  gate.VisitOrigins([&](const void* context) {
    ++counts[static_cast<const grpc::CallbackServerContext*>(context)->peer()];
  });
  return counts;
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

ConnectionFigures FiguresOf(const DoorStats& stats) {
  ConnectionFigures figures{
      .open = stats.open, .open_max = stats.connections_max, .accepted = stats.accepted};
  for (size_t cause = 0; cause < kDoorCauses; ++cause) {
    figures.closed.emplace_back(kDoorCauseNames[cause], stats.closed[cause]);
  }
  return figures;
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

  // Errors: as Start.
  absl::Status OpenDoor(uint64_t receive_bytes, boost::asio::io_context* io,
                        grpc::ServerBuilder* builder) {
    std::vector<Door::Address> addresses;
    for (const std::string& listen : SplitListen(state.config.listen)) {
      ERIS_RETURN_IF_ERROR(CheckExposure(state.config.security, "server.listen", listen));
      addresses.push_back({listen, state.access.CredentialsFor(listen)});
    }
    DoorOptions options = DoorOptionsOf(state.config, receive_bytes);
    options.memory_is_free = [this] { state.trims.trim().Used(); };
    ERIS_ASSIGN_OR_RETURN(door, Door::Open(addresses, options, io, builder));
    state.connections = [opened = door.get()] { return FiguresOf(opened->Read()); };
    return absl::OkStatus();
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
  std::unique_ptr<Door> door;
  bool shut_down = false;
};

RpcServer::RpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RpcServer::~RpcServer() { Shutdown(absl::ZeroDuration()); }

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const ServerConfig& config,
                                                            Engine* engine,
                                                            boost::asio::io_context* io) {
  KeepLibraryUp();
  InstallGrpcLog();
  // Reflection shows health only if its descriptor is in the binary, and the linker includes it
  // only if it is referenced.
  ERIS_CHECK(grpc::health::v1::HealthCheckRequest::descriptor() != nullptr);
  grpc::EnableDefaultHealthCheckService(true);

  ERIS_RETURN_IF_ERROR(CheckExposure(config.security, "server.http", config.http));

  const MemoryPlan plan = engine->Memory({.parts = false}).plan;
  const ServerConfig limited = WithShares(config, plan);
  auto impl = std::make_unique<Impl>(limited, engine, io,
                                     PlacesFor(limited, plan, WantedCallbackThreads(config)));
  ERIS_RETURN_IF_ERROR(impl->state.access.Start());
  grpc::ServerBuilder builder;
  SetLimits(impl->state.config, plan.receive_bytes, &builder);
  LimitHealthWatches(&impl->state.health_watches, &builder);
  ERIS_RETURN_IF_ERROR(impl->OpenDoor(plan.receive_bytes, io, &builder));
  builder.RegisterService(&impl->data);
  builder.RegisterService(&impl->queries);
  builder.RegisterService(&impl->catalog);
  builder.RegisterService(&impl->admin);
  builder.RegisterService(&impl->flight);
  builder.RegisterService(&impl->reflection);
  impl->server = builder.BuildAndStart();
  if (impl->server == nullptr) return absl::UnavailableError("gRPC cannot start a server");
  ServerState& state = impl->state;
  impl->door->Begin([&state] { return CountCalls(state.gate); });
  for (const char* service : {"eris.v1.Data", "eris.v1.Queries", "eris.v1.Catalog", "eris.v1.Admin",
                              "arrow.flight.protocol.FlightService"}) {
    impl->server->GetHealthCheckService()->SetServingStatus(service, true);
  }
  impl->callback_threads =
      std::make_unique<CallbackThreads>(WantedCallbackThreads(config), *impl->server);
  return std::unique_ptr<RpcServer>(new RpcServer(std::move(impl)));
}

const std::vector<std::string>& RpcServer::addresses() const { return impl_->door->addresses(); }

DoorStats RpcServer::ReadDoor() const { return impl_->door->Read(); }

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
  if (impl_->door != nullptr) impl_->door->Stop();
  impl_->callback_threads.reset();
  if (impl_->server == nullptr) return;
  impl_->server->Shutdown(absl::ToChronoTime(absl::Now() + timeout));
  impl_->server->Wait();
}

}  // namespace eris::server
