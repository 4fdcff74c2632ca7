#include "server/batch_ops.h"

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <utility>

#include "base/status_macros.h"
#include "server/columns.h"
#include "server/rpc_status.h"

namespace eris::server {
namespace {

static_assert(kColumnTypeUint64 == v1::COLUMN_TYPE_UINT64);

absl::StatusOr<Uint64Column> Decode(absl::string_view name, const v1::Column& column) {
  return DecodeUint64Column(name,
                            {column.type(), column.data(), column.validity(), column.offsets()});
}

uint64_t BitmapBytes(const v1::Column& keys) { return keys.data().size() / 64 + 1; }

// Of fields that this version does not know: kept by protobuf, in many times their size.
uint64_t UnknownBytes(const google::protobuf::Message& message) {
  const google::protobuf::UnknownFieldSet& unknown =
      message.GetReflection()->GetUnknownFields(message);
  return unknown.empty() ? 0 : unknown.SpaceUsedExcludingSelfLong();
}

// What the message holds of it, also of parts for which the request will be refused.
uint64_t ColumnBytes(const v1::Column& column) {
  return column.data().size() + column.validity().size() + column.offsets().size() +
         UnknownBytes(column);
}

}  // namespace

uint64_t LookupOp::Bytes(const Request& request) {
  // The keys, and as many values.
  return request.object().size() + ColumnBytes(request.keys()) + request.keys().data().size() +
         BitmapBytes(request.keys()) + UnknownBytes(request);
}

StartedBatch LookupOp::Start(Session& session, const Request& request, Session::Callback done) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  ERIS_ASSIGN_OR_RETURN(const Uint64Column keys, Decode("keys", request.keys()));
  return session.LookupAsync(request.object(), keys.elements(), std::move(done));
}

void LookupOp::Fill(BatchResult& result, Response* response) {
  v1::Column* values = response->mutable_values();
  values->set_type(v1::COLUMN_TYPE_UINT64);
  values->set_data(std::move(result.values));
  values->set_validity(std::move(result.present));
}

uint64_t UpsertOp::Bytes(const Request& request) {
  return request.object().size() + ColumnBytes(request.keys()) + ColumnBytes(request.values()) +
         BitmapBytes(request.keys()) + UnknownBytes(request);
}

StartedBatch UpsertOp::Start(Session& session, const Request& request, Session::Callback done) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  ERIS_ASSIGN_OR_RETURN(const Uint64Column keys, Decode("keys", request.keys()));
  ERIS_ASSIGN_OR_RETURN(const Uint64Column values, Decode("values", request.values()));
  ERIS_RETURN_IF_ERROR(CheckEqualLength(keys, values));
  return session.UpsertAsync(request.object(), keys.elements(), values.elements(), std::move(done));
}

void UpsertOp::Fill(BatchResult& result, Response* response) {
  response->set_existed(std::move(result.present));
}

uint64_t EraseOp::Bytes(const Request& request) {
  return request.object().size() + ColumnBytes(request.keys()) + BitmapBytes(request.keys()) +
         UnknownBytes(request);
}

StartedBatch EraseOp::Start(Session& session, const Request& request, Session::Callback done) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  ERIS_ASSIGN_OR_RETURN(const Uint64Column keys, Decode("keys", request.keys()));
  return session.EraseAsync(request.object(), keys.elements(), std::move(done));
}

void EraseOp::Fill(BatchResult& result, Response* response) {
  response->set_existed(std::move(result.present));
}

}  // namespace eris::server
