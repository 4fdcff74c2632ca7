// Requests of memory_load.cc, over connections of their own to the server ERIS_SERVER. Any thread.
#ifndef ERIS_TESTS_E2E_MEMORY_CALLS_H_
#define ERIS_TESTS_E2E_MEMORY_CALLS_H_

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "eris/v1/catalog.grpc.pb.h"
#include "eris/v1/data.grpc.pb.h"

namespace eris {

using grpc::StatusCode;

inline constexpr int kWideColumns = 64;

inline std::shared_ptr<grpc::Channel> NewConnection() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const char* server = std::getenv("ERIS_SERVER");
  return grpc::CreateCustomChannel(server == nullptr ? "127.0.0.1:7411" : server,
                                   grpc::InsecureChannelCredentials(), arguments);
}

class Context : public grpc::ClientContext {
 public:
  explicit Context(int seconds = 60) {
    set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(seconds));
  }
};

inline v1::Column Numbers(uint64_t first, uint64_t count) {
  v1::Column column;
  column.set_type(v1::COLUMN_TYPE_UINT64);
  std::string& data = *column.mutable_data();
  data.resize(count * sizeof(uint64_t));
  auto* numbers = reinterpret_cast<uint64_t*>(data.data());
  for (uint64_t i = 0; i < count; ++i) numbers[i] = first + i;
  return column;
}

inline v1::Column Strings(uint64_t count, uint64_t bytes) {
  v1::Column column;
  column.set_type(v1::COLUMN_TYPE_BYTES);
  column.set_data(std::string(count * bytes, 'x'));
  std::vector<uint32_t> offsets;
  for (uint64_t i = 0; i <= count; ++i) offsets.push_back(static_cast<uint32_t>(i * bytes));
  column.set_offsets(reinterpret_cast<const char*>(offsets.data()), 4 * offsets.size());
  return column;
}

inline void AddColumn(const std::string& name, v1::ColumnType type,
                      v1::CreateObjectRequest& request) {
  v1::ColumnSchema& column = *request.mutable_schema()->add_columns();
  column.set_name(name);
  column.set_type(type);
}

inline grpc::Status Create(const v1::CreateObjectRequest& request) {
  v1::CreateObjectResponse response;
  Context context;
  return v1::Catalog::NewStub(NewConnection())->CreateObject(&context, request, &response);
}
inline grpc::Status CreateIndex(const std::string& name, v1::ColumnType values) {
  v1::CreateObjectRequest request;
  request.set_name(name);
  request.set_kind(v1::OBJECT_KIND_INDEX);
  AddColumn("key", v1::COLUMN_TYPE_UINT64, request);
  AddColumn("value", values, request);
  request.mutable_schema()->add_key("key");
  request.mutable_expected()->set_lo(0);
  request.mutable_expected()->set_hi(uint64_t{1} << 32);
  return Create(request);
}
inline grpc::Status CreateWide() {
  v1::CreateObjectRequest request;
  request.set_name("wide");
  request.set_kind(v1::OBJECT_KIND_HEAP_TABLE);
  for (int i = 0; i < kWideColumns; ++i) {
    AddColumn(absl::StrCat("c", i), v1::COLUMN_TYPE_UINT64, request);
  }
  for (const char* name : {"s0", "s1"}) AddColumn(name, v1::COLUMN_TYPE_BYTES, request);
  const grpc::Status status = Create(request);
  return status.error_code() == StatusCode::ALREADY_EXISTS ? grpc::Status::OK : status;
}

inline v1::WriteRequest UpsertOf(const std::string& object, v1::Column keys, v1::Column values) {
  v1::WriteRequest request;
  request.set_object(object);
  request.set_mode(v1::WRITE_MODE_UPSERT);
  *request.add_columns() = std::move(keys);
  *request.add_columns() = std::move(values);
  return request;
}
inline v1::WriteRequest UpsertOf(uint64_t first, uint64_t count, uint64_t value = 0) {
  return UpsertOf("probe", Numbers(first, count), Numbers(value, count));
}

// Rows that were refused make the status.
inline grpc::Status StatusOf(const v1::RequestStatus& status) {
  return {static_cast<StatusCode>(status.code()), status.message()};
}
inline grpc::Status Write(v1::Data::Stub& stub, const v1::WriteRequest& request) {
  v1::WriteResponse response;
  Context context;
  const grpc::Status status = stub.Write(&context, request, &response);
  return status.ok() ? StatusOf(response.refusal()) : status;
}

inline bool IsTooLarge(const grpc::Status& status) {
  const std::string text = status.error_message();
  return absl::StrContains(text, "larger than max") || absl::StrContains(text, "RST_STREAM") ||
         absl::StrContains(text, "smaller batches");
}

inline v1::ScanRequest ScanOf(const std::string& object) {
  v1::ScanRequest request;
  request.set_object(object);
  return request;
}
inline grpc::Status ReadAll(v1::Data::Stub& stub, const v1::ScanRequest& request) {
  Context context;
  const auto reader = stub.Scan(&context, request);
  v1::ScanResponse response;
  while (reader->Read(&response)) {
  }
  return reader->Finish();
}

}  // namespace eris

#endif  // ERIS_TESTS_E2E_MEMORY_CALLS_H_
