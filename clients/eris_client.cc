#include "clients/eris_client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "clients/channel.h"
#include "clients/client_stubs.h"
#include "clients/data_messages.h"
#include "wire/objects.h"
#include "wire/query.h"
#include "wire/stats.h"

namespace eris::client {
namespace {

// Errors: InvalidArgument unless it is host:port or unix:path. gRPC would use 443 for a missing
// port, and 34463 for 99999.
absl::Status CheckAddress(const std::string& server) {
  if (absl::StartsWith(server, "unix:")) return absl::OkStatus();
  const size_t colon = server.rfind(':');
  const bool in_brackets = absl::StartsWith(server, "[");
  uint32_t port = 0;
  if (colon == server.npos || colon == 0 || (in_brackets && server[colon - 1] != ']') ||
      !absl::SimpleAtoi(server.substr(colon + 1), &port) || port == 0 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("server '", server,
                     "' is neither host:port, with a port from 1 to 65535, nor "
                     "unix:path; the default is 127.0.0.1:7411"));
  }
  return absl::OkStatus();
}

// Waits for the connection, or until the first attempt fails. Errors: Unavailable.
absl::Status AwaitConnection(const std::shared_ptr<grpc::Channel>& channel,
                             const ConnectOptions& options, absl::Time deadline) {
  for (;;) {
    const grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) return absl::OkStatus();
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) break;
    if (!channel->WaitForStateChange(state, absl::ToChronoTime(deadline))) {
      return absl::UnavailableError(absl::StrCat("no answer from ", options.server, " within ",
                                                 absl::FormatDuration(options.timeout),
                                                 ": is it an ERIS server?"));
    }
  }
  // A channel's state has no reason, but a failed call has one. It does not wait for the next
  // attempt.
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  v1::GetObjectResponse response;
  const grpc::Status status =
      v1::Catalog::NewStub(channel)->GetObject(&context, v1::GetObjectRequest(), &response);
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return absl::OkStatus();
  return absl::UnavailableError(ConnectionText(options.server, status.error_message()));
}

absl::StatusOr<LookupResult> CallLookup(const Client& client,
                                        const absl::StatusOr<AnswerShape>& shape,
                                        const v1::LookupRequest& request) {
  if (!shape.ok()) return shape.status();
  return Call<LookupResult>(
      client, client.stubs().data, &v1::Data::Stub::Lookup, request,
      [&](v1::LookupResponse& response) { return TakeLookup(*shape, response); });
}
absl::StatusOr<WriteResult> CallWrite(const Client& client,
                                      const absl::StatusOr<AnswerShape>& shape,
                                      const v1::WriteRequest& request) {
  if (!shape.ok()) return shape.status();
  return Call<WriteResult>(
      client, client.stubs().data, &v1::Data::Stub::Write, request,
      [&](v1::WriteResponse& response) { return TakeWrite(*shape, response); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const ConnectOptions& options) {
  if (absl::Status status = CheckAddress(options.server); !status.ok()) return status;
  const absl::StatusOr<ChannelMaker> maker = ChannelMaker::Make(options.server, options.security);
  if (!maker.ok()) return maker.status();
  const absl::Time deadline = absl::Now() + options.timeout;
  absl::Status status;
  std::shared_ptr<grpc::Channel> channel;
  // After a failure a shared connection waits before it tries again, although the server may be up
  // already: so a separate connection decides.
  for (bool own = options.own_connection;; own = true) {
    channel = maker->Open(own);
    status = AwaitConnection(channel, options, deadline);
    if (status.ok()) break;
    if (own) return status;
  }
  auto stubs = std::make_shared<Stubs>();
  stubs->catalog = v1::Catalog::NewStub(channel);
  stubs->data = v1::Data::NewStub(channel);
  stubs->queries = v1::Queries::NewStub(channel);
  stubs->admin = v1::Admin::NewStub(channel);
  return std::unique_ptr<Client>(new Client(options, std::move(stubs)));
}

Client::Client(const ConnectOptions& options, std::shared_ptr<Stubs> stubs)
    : options_(options), stubs_(std::move(stubs)) {}
Client::~Client() = default;

std::unique_ptr<Client> Client::WithTimeout(absl::Duration timeout) const {
  ConnectOptions options = options_;
  options.timeout = timeout;
  return std::unique_ptr<Client>(new Client(options, stubs_));
}

absl::StatusOr<ObjectInfo> Client::Create(const std::string& name, const CreateOptions& options) {
  v1::CreateObjectRequest request;
  request.set_name(name);
  absl::Status status = wire::FillCreateOptions(options, &request);
  if (!status.ok()) return status;
  return Call<ObjectInfo>(
      *this, stubs_->catalog, &v1::Catalog::Stub::CreateObject, request,
      [](const v1::CreateObjectResponse& response) { return wire::ObjectFrom(response.object()); });
}

absl::Status Client::Drop(const std::string& name) {
  v1::DropObjectRequest request;
  request.set_name(name);
  return Call(*this, stubs_->catalog, &v1::Catalog::Stub::DropObject, request);
}

absl::Status Client::DropIfWritten(const std::string& name, ObjectId id, uint64_t rows) {
  v1::DropObjectRequest request;
  request.set_name(name);
  request.mutable_if_written()->set_id(id.value);
  request.mutable_if_written()->set_rows(rows);
  return Call(*this, stubs_->catalog, &v1::Catalog::Stub::DropObject, request);
}

absl::StatusOr<ObjectInfo> Client::Get(const std::string& name) {
  v1::GetObjectRequest request;
  request.set_name(name);
  return Call<ObjectInfo>(
      *this, stubs_->catalog, &v1::Catalog::Stub::GetObject, request,
      [](const v1::GetObjectResponse& response) { return wire::ObjectFrom(response.object()); });
}

absl::StatusOr<std::vector<ObjectInfo>> Client::List() {
  using Objects = std::vector<ObjectInfo>;
  return Call<Objects>(*this, stubs_->catalog, &v1::Catalog::Stub::ListObjects,
                       v1::ListObjectsRequest(),
                       [](const v1::ListObjectsResponse& response) -> absl::StatusOr<Objects> {
                         Objects objects;
                         for (const v1::Object& object : response.objects()) {
                           absl::StatusOr<ObjectInfo> info = wire::ObjectFrom(object);
                           if (!info.ok()) return info.status();
                           objects.push_back(*std::move(info));
                         }
                         return objects;
                       });
}

absl::StatusOr<LookupResult> Client::Lookup(const ObjectInfo& object, const RowView& keys,
                                            const std::vector<std::string>& columns,
                                            uint64_t answer_bytes_max) {
  v1::LookupRequest request;
  const auto shape = FillLookup(object, keys.batch(), columns, answer_bytes_max, request);
  return CallLookup(*this, shape, request);
}
absl::StatusOr<LookupResult> Client::Lookup(const ObjectInfo& object, const KeyColumns& keys) {
  v1::LookupRequest request;
  const auto shape = FillLookup(object, keys, request);
  return CallLookup(*this, shape, request);
}

absl::StatusOr<WriteResult> Client::Write(const ObjectInfo& object, WriteMode mode,
                                          const RowView& rows, const RowView& expected) {
  v1::WriteRequest request;
  const auto shape = FillWrite(object, mode, rows.batch(), expected.batch(), request);
  return CallWrite(*this, shape, request);
}
absl::StatusOr<WriteResult> Client::Write(const ObjectInfo& object, WriteMode mode,
                                          const KeyColumns& keys, absl::Span<const uint64_t> values,
                                          absl::Span<const uint64_t> expected) {
  v1::WriteRequest request;
  const auto shape = FillWrite(object, mode, keys, values, expected, request);
  return CallWrite(*this, shape, request);
}

std::unique_ptr<ScanReader> Client::Scan(const ObjectInfo& object, const Query& query,
                                         uint64_t snapshot) {
  return std::make_unique<ScanReader>(*this, object, query, snapshot);
}

absl::StatusOr<RangeAggregate> Client::Aggregate(const ObjectInfo& object,
                                                 const AggregateOptions& options,
                                                 uint64_t snapshot) {
  v1::AggregateRequest request;
  request.set_object(object.name);
  request.set_snapshot(snapshot);
  absl::Status status = CheckSchema(object);
  if (status.ok()) {
    status = wire::FillAggregateOptions(object.kind, object.schema, options, &request);
  }
  if (!status.ok()) return status;
  return Call<RangeAggregate>(*this, stubs_->data, &v1::Data::Stub::Aggregate, request,
                              [&](const v1::AggregateResponse& response) {
                                return wire::AggregateFrom(object.schema, response);
                              });
}

absl::StatusOr<uint64_t> Client::ScanInto(const std::string& table, const Query& query,
                                          const std::string& target, uint64_t snapshot) {
  v1::ScanIntoRequest request;
  request.set_table(table);
  absl::Status status =
      wire::FillQuery(ObjectKind::kTable, Schema(), query, request.mutable_query());
  if (!status.ok()) return status;
  request.set_target(target);
  request.set_snapshot(snapshot);
  return Call<uint64_t>(*this, stubs_->data, &v1::Data::Stub::ScanInto, request,
                        [](const v1::ScanIntoResponse& response) { return response.rows(); });
}

absl::StatusOr<uint64_t> Client::TakeSnapshot(absl::Duration time_to_live) {
  v1::TakeSnapshotRequest request;
  request.set_time_to_live_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(time_to_live)));
  return Call<uint64_t>(
      *this, stubs_->data, &v1::Data::Stub::TakeSnapshot, request,
      [](const v1::TakeSnapshotResponse& response) { return response.snapshot(); });
}

absl::Status Client::ReleaseSnapshot(uint64_t snapshot) {
  v1::ReleaseSnapshotRequest request;
  request.set_snapshot(snapshot);
  return Call(*this, stubs_->data, &v1::Data::Stub::ReleaseSnapshot, request);
}

std::unique_ptr<QueryReader> Client::Execute(std::string plan) {
  return std::make_unique<QueryReader>(*this, std::move(plan));
}

absl::StatusOr<std::string> Client::Explain(std::string plan) {
  v1::ExplainRequest request;
  request.set_plan(std::move(plan));
  return Call<std::string>(*this, stubs_->queries, &v1::Queries::Stub::Explain, request,
                           [](const v1::ExplainResponse& response) { return response.text(); });
}

absl::StatusOr<std::string> Client::Analyze(std::string plan) {
  v1::AnalyzeRequest request;
  request.set_plan(std::move(plan));
  return Call<std::string>(*this, stubs_->queries, &v1::Queries::Stub::Analyze, request,
                           [](const v1::AnalyzeResponse& response) { return response.text(); });
}

absl::StatusOr<std::vector<RunningQuery>> Client::RunningQueries() {
  using Queries = std::vector<RunningQuery>;
  return Call<Queries>(
      *this, stubs_->queries, &v1::Queries::Stub::List, v1::ListQueriesRequest(),
      [](const v1::ListQueriesResponse& response) {
        Queries queries;
        for (const v1::RunningQuery& query : response.queries()) {
          queries.push_back({.id = query.id(),
                             .peer = query.peer(),
                             .age = absl::Milliseconds(query.age_ms()),
                             .sending = query.state() == v1::RunningQuery::STATE_SENDING,
                             .rows_sent = query.rows_sent()});
        }
        return queries;
      });
}

absl::Status Client::CancelQuery(uint64_t id) {
  v1::CancelQueryRequest request;
  request.set_id(id);
  return Call(*this, stubs_->queries, &v1::Queries::Stub::Cancel, request);
}

absl::StatusOr<ServerInfo> Client::Server() {
  return Call<ServerInfo>(*this, stubs_->admin, &v1::Admin::Stub::GetServer, v1::GetServerRequest(),
                          [](const v1::GetServerResponse& response) {
                            return ServerInfo{
                                .version = response.version(),
                                .receive_message_bytes_max = response.receive_message_bytes_max(),
                                .uptime = absl::Milliseconds(response.uptime_ms()),
                                .calls = response.calls(),
                                .calls_in_flight = response.calls_in_flight(),
                                .in_flight_bytes = response.in_flight_bytes(),
                                .in_flight_bytes_max = response.in_flight_bytes_max()};
                          });
}

absl::StatusOr<EngineStats> Client::Stats() {
  return Call<EngineStats>(
      *this, stubs_->admin, &v1::Admin::Stub::GetStats, v1::GetStatsRequest(),
      [](const v1::GetStatsResponse& response) { return wire::StatsFrom(response); });
}

absl::StatusOr<std::string> Client::Topology() {
  return Call<std::string>(*this, stubs_->admin, &v1::Admin::Stub::GetTopology,
                           v1::GetTopologyRequest(),
                           [](const v1::GetTopologyResponse& response) { return response.text(); });
}

absl::StatusOr<MemoryStats> Client::Memory() {
  return Call<MemoryStats>(
      *this, stubs_->admin, &v1::Admin::Stub::GetMemory, v1::GetMemoryRequest(),
      [](const v1::GetMemoryResponse& response) { return wire::MemoryFrom(response); });
}

absl::StatusOr<MemoryVerification> Client::VerifyMemory(const VerifyMemoryOptions& options) {
  v1::VerifyMemoryRequest request;
  request.set_pages_max(options.pages_max);
  request.set_rows(options.rows);
  return Call<MemoryVerification>(
      *this, stubs_->admin, &v1::Admin::Stub::VerifyMemory, request,
      [](const v1::VerifyMemoryResponse& response) { return wire::VerificationFrom(response); });
}

}  // namespace eris::client
