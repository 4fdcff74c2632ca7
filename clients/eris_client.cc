#include "clients/eris_client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "clients/client_stubs.h"
#include "wire/keys.h"
#include "wire/objects.h"
#include "wire/stats.h"

namespace eris::client {
namespace {

// A lookup of kBatchKeysMax keys answers with 8.2 MB; lists of many objects may be longer.
constexpr int kMessageBytesMax = 64 << 20;

void SetValues(const ValueRange& values, v1::ValueRange& out) {
  out.set_lo(values.lo);
  out.set_last(values.last);
}

// Errors: InvalidArgument unless it is host:port or unix:path. gRPC would take 443 for a port that
// is missing, and 34463 for 99999.
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

std::shared_ptr<grpc::Channel> OpenChannel(const std::string& server, bool own_connection) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetMaxSendMessageSize(kMessageBytesMax);
  if (own_connection) arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
}

// Waits for the connection, or the first attempt that fails. Errors: Unavailable.
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
  // A state has no reason, a call that fails has one. It does not wait for the next attempt.
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  v1::GetObjectResponse response;
  const grpc::Status status =
      v1::Catalog::NewStub(channel)->GetObject(&context, v1::GetObjectRequest(), &response);
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return absl::OkStatus();
  return absl::UnavailableError(ConnectionText(options.server, status.error_message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const ConnectOptions& options) {
  if (absl::Status status = CheckAddress(options.server); !status.ok()) return status;
  const absl::Time deadline = absl::Now() + options.timeout;
  absl::Status status;
  std::shared_ptr<grpc::Channel> channel;
  // A shared connection that has failed before rests for a while, although the server may be there
  // by now: then a connection of its own decides.
  for (bool own = options.own_connection;; own = true) {
    channel = OpenChannel(options.server, own);
    status = AwaitConnection(channel, options, deadline);
    if (status.ok()) break;
    if (own) return status;
  }
  auto stubs = std::make_shared<Stubs>();
  stubs->catalog = v1::Catalog::NewStub(channel);
  stubs->data = v1::Data::NewStub(channel);
  stubs->tables = v1::Tables::NewStub(channel);
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
  request.set_kind(static_cast<v1::ObjectKind>(options.kind));
  const ColumnType type = options.key_type.first;
  request.set_key_type(wire::ToProto(type));
  if (options.key_type.two_parts())
    request.set_second_key_type(wire::ToProto(*options.key_type.second));
  request.set_value_type(static_cast<v1::ValueType>(options.value_type));
  absl::Status status =
      wire::SetRange("expected", options.key_type, options.expected, *request.mutable_expected());
  if (type == ColumnType::kUint64) {
    request.mutable_split_points()->Add(options.split_points.begin(), options.split_points.end());
  } else {
    for (size_t i = 0; i < options.split_points.size() && status.ok(); ++i) {
      status = wire::SetKey(absl::StrCat("split_points[", i, "]"), type, options.split_points[i],
                            *request.add_split_keys());
    }
  }
  if (!status.ok()) return status;
  v1::CreateObjectResponse response;
  status = Stubs::Call(*stubs_->catalog, &v1::Catalog::Stub::CreateObject, options_.timeout,
                       request, response);
  if (!status.ok()) return status;
  return wire::ObjectFrom(response.object());
}

absl::Status Client::Drop(const std::string& name) {
  v1::DropObjectRequest request;
  request.set_name(name);
  v1::DropObjectResponse response;
  return Stubs::Call(*stubs_->catalog, &v1::Catalog::Stub::DropObject, options_.timeout, request,
                     response);
}

absl::Status Client::DropIfWritten(const std::string& name, ObjectId id, uint64_t rows) {
  v1::DropObjectRequest request;
  request.set_name(name);
  request.mutable_if_written()->set_id(id.value);
  request.mutable_if_written()->set_rows(rows);
  v1::DropObjectResponse response;
  return Stubs::Call(*stubs_->catalog, &v1::Catalog::Stub::DropObject, options_.timeout, request,
                     response);
}

absl::StatusOr<ObjectInfo> Client::Get(const std::string& name) {
  v1::GetObjectRequest request;
  request.set_name(name);
  v1::GetObjectResponse response;
  absl::Status status = Stubs::Call(*stubs_->catalog, &v1::Catalog::Stub::GetObject,
                                    options_.timeout, request, response);
  if (!status.ok()) return status;
  return wire::ObjectFrom(response.object());
}

absl::StatusOr<std::vector<ObjectInfo>> Client::List() {
  v1::ListObjectsResponse response;
  absl::Status status = Stubs::Call(*stubs_->catalog, &v1::Catalog::Stub::ListObjects,
                                    options_.timeout, v1::ListObjectsRequest(), response);
  if (!status.ok()) return status;
  std::vector<ObjectInfo> objects;
  for (const v1::Object& object : response.objects()) objects.push_back(wire::ObjectFrom(object));
  return objects;
}

absl::StatusOr<LookupResult> Client::Lookup(const std::string& object, const KeyColumns& keys,
                                            const KeyTypes& key_type) {
  v1::LookupRequest request;
  request.set_object(object);
  absl::Status status = SetKeys(key_type, keys, request);
  if (!status.ok()) return status;
  v1::LookupResponse response;
  status = Stubs::Call(*stubs_->data, &v1::Data::Stub::Lookup, options_.timeout, request, response);
  if (!status.ok()) return status;
  LookupResult result;
  status = TakeLookupResult(std::move(response), keys.size(), result);
  if (!status.ok()) return status;
  return result;
}

absl::StatusOr<RowBits> Client::Upsert(const std::string& object, const KeyColumns& keys,
                                       absl::Span<const uint64_t> values,
                                       const KeyTypes& key_type) {
  v1::UpsertRequest request;
  request.set_object(object);
  absl::Status status = SetKeys(key_type, keys, request);
  if (!status.ok()) return status;
  ToColumn(values, *request.mutable_values());
  v1::UpsertResponse response;
  status = Stubs::Call(*stubs_->data, &v1::Data::Stub::Upsert, options_.timeout, request, response);
  if (!status.ok()) return status;
  RowBits existed;
  status = ToRowBits(std::move(*response.mutable_existed()), keys.size(), false, existed);
  if (!status.ok()) return status;
  return existed;
}

absl::StatusOr<RowBits> Client::Erase(const std::string& object, const KeyColumns& keys,
                                      const KeyTypes& key_type) {
  v1::EraseRequest request;
  request.set_object(object);
  absl::Status status = SetKeys(key_type, keys, request);
  if (!status.ok()) return status;
  v1::EraseResponse response;
  status = Stubs::Call(*stubs_->data, &v1::Data::Stub::Erase, options_.timeout, request, response);
  if (!status.ok()) return status;
  RowBits existed;
  status = ToRowBits(std::move(*response.mutable_existed()), keys.size(), false, existed);
  if (!status.ok()) return status;
  return existed;
}

absl::StatusOr<WriteResult> Client::Write(const std::string& object, WriteMode mode,
                                          const KeyColumns& keys, absl::Span<const uint64_t> values,
                                          absl::Span<const uint64_t> expected,
                                          const KeyTypes& key_type) {
  v1::WriteRequest request;
  absl::Status status = ToWriteRequest(object, mode, keys, values, expected, request, key_type);
  if (!status.ok()) return status;
  v1::WriteResponse response;
  status = Stubs::Call(*stubs_->data, &v1::Data::Stub::Write, options_.timeout, request, response);
  if (!status.ok()) return status;
  WriteResult result;
  status = TakeWriteResult(std::move(response), keys.size(), result);
  if (!status.ok()) return status;
  return result;
}

absl::StatusOr<BytesLookupResult> Client::LookupBytes(const std::string& object,
                                                      absl::Span<const uint64_t> keys,
                                                      uint64_t values_bytes_max, ColumnType key_type) {
  v1::LookupRequest request;
  request.set_object(object);
  request.set_values_bytes_max(values_bytes_max);
  absl::Status status = SetKeys(key_type, keys, request);
  if (!status.ok()) return status;
  v1::LookupResponse response;
  status = Stubs::Call(*stubs_->data, &v1::Data::Stub::Lookup, options_.timeout, request, response);
  if (!status.ok()) return status;
  BytesLookupResult result;
  status = TakeBytesLookupResult(std::move(response), keys.size(), result);
  if (!status.ok()) return status;
  return result;
}

absl::StatusOr<RowBits> Client::UpsertBytes(const std::string& object,
                                            absl::Span<const uint64_t> keys,
                                            absl::Span<const absl::string_view> values,
                                            ColumnType key_type) {
  v1::UpsertRequest request;
  request.set_object(object);
  absl::Status status = SetKeys(key_type, keys, request);
  if (status.ok()) status = ToBytesColumn(values, *request.mutable_values());
  if (!status.ok()) return status;
  v1::UpsertResponse response;
  status = Stubs::Call(*stubs_->data, &v1::Data::Stub::Upsert, options_.timeout, request, response);
  if (!status.ok()) return status;
  RowBits existed;
  status = ToRowBits(std::move(*response.mutable_existed()), keys.size(), false, existed);
  if (!status.ok()) return status;
  return existed;
}

absl::StatusOr<BytesWriteResult> Client::WriteBytes(const std::string& object, WriteMode mode,
                                                    absl::Span<const uint64_t> keys,
                                                    absl::Span<const absl::string_view> values,
                                                    absl::Span<const absl::string_view> expected,
                                                    ColumnType key_type) {
  v1::WriteRequest request;
  request.set_object(object);
  request.set_mode(static_cast<v1::WriteMode>(mode));
  absl::Status status = SetKeys(key_type, keys, request);
  if (status.ok()) status = ToBytesColumn(values, *request.mutable_values());
  if (status.ok() && !expected.empty()) {
    status = ToBytesColumn(expected, *request.mutable_expected());
  }
  if (!status.ok()) return status;
  v1::WriteResponse response;
  status = Stubs::Call(*stubs_->data, &v1::Data::Stub::Write, options_.timeout, request, response);
  if (!status.ok()) return status;
  BytesWriteResult result;
  status = TakeBytesWriteResult(std::move(response), keys.size(), result);
  if (!status.ok()) return status;
  return result;
}

std::unique_ptr<ScanReader> Client::Scan(const std::string& object, const KeyRange& range,
                                         uint64_t limit, const KeyTypes& key_type) {
  v1::ScanRequest request;
  request.set_object(object);
  absl::Status status = wire::SetRange("range", key_type, range, *request.mutable_range());
  request.set_limit(limit);
  return std::make_unique<ScanReader>(*this, std::move(request), options_.timeout, key_type,
                                      std::move(status));
}

std::unique_ptr<ScanReader> Client::ScanWith(const std::string& object, const ScanOptions& options,
                                             const KeyTypes& key_type) {
  v1::ScanRequest request;
  request.set_object(object);
  absl::Status status = wire::SetRange("range", key_type, options.range, *request.mutable_range());
  request.set_limit(options.limit);
  if (options.direction == ScanDirection::kBackward) {
    request.set_direction(v1::SCAN_DIRECTION_BACKWARD);
  }
  if (options.values) SetValues(*options.values, *request.mutable_values());
  request.set_keys_only(options.keys_only);
  return std::make_unique<ScanReader>(*this, std::move(request), options_.timeout, key_type,
                                      std::move(status));
}

absl::StatusOr<RangeAggregate> Client::Aggregate(const std::string& object,
                                                 const AggregateOptions& options,
                                                 const KeyTypes& key_type) {
  v1::AggregateRequest request;
  request.set_object(object);
  absl::Status status = wire::SetRange("range", key_type, options.range, *request.mutable_range());
  if (!status.ok()) return status;
  if (options.values) SetValues(*options.values, *request.mutable_values());
  request.set_count_only(options.count_only);
  v1::AggregateResponse response;
  status =
      Stubs::Call(*stubs_->data, &v1::Data::Stub::Aggregate, options_.timeout, request, response);
  if (!status.ok()) return status;
  RangeAggregate result{.count = response.count()};
  if (!response.has_min()) return result;
  result.min = response.min();
  result.max = response.max();
  result.sum_low = response.sum_low();
  result.sum_high = response.sum_high();
  result.first_key = wire::KeyFrom("first_key", key_type.first, response.first_key()).value_or(0);
  result.last_key = wire::KeyFrom("last_key", key_type.first, response.last_key()).value_or(0);
  if (key_type.two_parts()) {
    result.first_second =
        wire::KeyFrom("first_second", *key_type.second, response.first_second()).value_or(0);
    result.last_second =
        wire::KeyFrom("last_second", *key_type.second, response.last_second()).value_or(0);
  }
  return result;
}

absl::StatusOr<EngineStats> Client::Stats() {
  v1::GetStatsResponse response;
  absl::Status status = Stubs::Call(*stubs_->admin, &v1::Admin::Stub::GetStats, options_.timeout,
                                    v1::GetStatsRequest(), response);
  if (!status.ok()) return status;
  return wire::StatsFrom(response);
}

absl::StatusOr<ServerInfo> Client::Server() {
  v1::GetServerResponse response;
  absl::Status status = Stubs::Call(*stubs_->admin, &v1::Admin::Stub::GetServer, options_.timeout,
                                    v1::GetServerRequest(), response);
  if (!status.ok()) return status;
  return ServerInfo{.version = response.version(),
                    .receive_message_bytes_max = response.receive_message_bytes_max()};
}

absl::StatusOr<std::string> Client::Topology() {
  v1::GetTopologyResponse response;
  absl::Status status = Stubs::Call(*stubs_->admin, &v1::Admin::Stub::GetTopology, options_.timeout,
                                    v1::GetTopologyRequest(), response);
  if (!status.ok()) return status;
  return response.text();
}

absl::StatusOr<MemoryStats> Client::Memory() {
  v1::GetMemoryResponse response;
  absl::Status status = Stubs::Call(*stubs_->admin, &v1::Admin::Stub::GetMemory, options_.timeout,
                                    v1::GetMemoryRequest(), response);
  if (!status.ok()) return status;
  return wire::MemoryFrom(response);
}

absl::StatusOr<MemoryVerification> Client::VerifyMemory(const VerifyMemoryOptions& options) {
  v1::VerifyMemoryRequest request;
  request.set_pages_max(options.pages_max);
  v1::VerifyMemoryResponse response;
  absl::Status status = Stubs::Call(*stubs_->admin, &v1::Admin::Stub::VerifyMemory,
                                    options_.timeout, request, response);
  if (!status.ok()) return status;
  return wire::VerificationFrom(response);
}

}  // namespace eris::client
