#include "server/data/batch_ops.h"

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/key_text.h"
#include "server/data/bytes_column.h"
#include "server/data/columns.h"
#include "server/guard/rpc_status.h"
#include "wire/keys.h"

namespace eris::server {
namespace {

static_assert(kColumnTypeUint64 == v1::COLUMN_TYPE_UINT64);
static_assert(kColumnTypeInt64 == v1::COLUMN_TYPE_INT64);
static_assert(kColumnTypeFloat64 == v1::COLUMN_TYPE_FLOAT64);
static_assert(kColumnTypeDate32 == v1::COLUMN_TYPE_DATE32);
static_assert(kColumnTypeBytes == v1::COLUMN_TYPE_BYTES);

absl::StatusOr<Uint64Column> Decode(absl::string_view name, const v1::Column& column) {
  return DecodeUint64Column(name,
                            {column.type(), column.data(), column.validity(), column.offsets()});
}

absl::StatusOr<Uint64Column> DecodePart(absl::string_view name, ColumnType type,
                                        const v1::Column& keys) {
  return DecodeKeyColumn(name, type, {keys.type(), keys.data(), keys.validity(), keys.offsets()});
}

// The keys of a request, as the engine has them.
struct DecodedKeys {
  Uint64Column first;
  Uint64Column second;
  bool two_parts = false;

  KeyColumns columns() const {
    if (!two_parts) return first.elements();
    return {first.elements(), second.elements()};
  }
};

template <class Request>
absl::StatusOr<DecodedKeys> DecodeKeys(Session& session, const Request& request) {
  ERIS_ASSIGN_OR_RETURN(const KeyTypes types, session.KeyTypesOf(request.object()));
  DecodedKeys keys;
  keys.two_parts = types.two_parts();
  ERIS_ASSIGN_OR_RETURN(keys.first, DecodePart("keys", types.first, request.keys()));
  const size_t count = keys.first.elements().size();
  if (request.has_second_keys() != keys.two_parts) {
    const v1::Column& second = request.second_keys();
    const std::string there =
        keys.two_parts
            ? "is unset"
            : absl::StrCat("has ", ElementsSaid(second.type(), second.data().size()), " elements");
    return absl::InvalidArgumentError(
        absl::StrCat("column keys has ", count, " elements, column second_keys ", there,
                     ": keys of object \"", request.object(), "\" have ", KeyPartsText(types)));
  }
  if (!keys.two_parts) return keys;
  ERIS_ASSIGN_OR_RETURN(keys.second,
                        DecodePart("second_keys", *types.second, request.second_keys()));
  if (keys.second.elements().size() != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "column keys has ", count, " elements, column second_keys ", keys.second.elements().size(),
        ": must be equal, keys of object \"", request.object(), "\" have ", KeyPartsText(types)));
  }
  return keys;
}

// Objects with keys of two parts have no byte strings.
template <class Request>
absl::Status CheckBytesAllowed(const DecodedKeys& keys, const Request& request) {
  if (!keys.two_parts) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("values of object \"", request.object(),
                                                    "\" are u64, column values is of type ",
                                                    v1::ColumnType_Name(v1::COLUMN_TYPE_BYTES)));
}

uint64_t KeyCount(const v1::Column& keys) { return ElementsSaid(keys.type(), keys.data().size()); }
// Of an answer with a u64 for each key.
uint64_t ValueBytes(const v1::Column& keys) { return KeyCount(keys) * sizeof(uint64_t); }
uint64_t BitmapBytes(const v1::Column& keys) { return KeyCount(keys) / 8 + 1; }

bool IsBytes(const v1::Column& column) { return column.type() == v1::COLUMN_TYPE_BYTES; }

// A column of byte strings, as many as keys.
absl::StatusOr<std::vector<absl::string_view>> DecodeBytes(absl::string_view name,
                                                           const v1::Column& column,
                                                           const Uint64Column& keys) {
  ERIS_ASSIGN_OR_RETURN(
      std::vector<absl::string_view> strings,
      DecodeBytesColumn(name, {column.type(), column.data(), column.validity(), column.offsets()}));
  if (strings.size() == keys.elements().size()) return strings;
  return absl::InvalidArgumentError(absl::StrCat("column keys has ", keys.elements().size(),
                                                 " elements, column ", name, " ", strings.size(),
                                                 ": must be equal"));
}

// The engine's copy of the strings, while it has them.
uint64_t CopyBytes(const v1::Column& column) {
  return IsBytes(column) ? column.data().size() + column.offsets().size() * 2 : 0;
}

// The values of an answer, whichever they are.
void FillValues(BatchResult& result, v1::Column* values) {
  if (result.offsets.empty()) {
    values->set_type(v1::COLUMN_TYPE_UINT64);
  } else {
    values->set_type(v1::COLUMN_TYPE_BYTES);
    values->set_offsets(std::move(result.offsets));
  }
  values->set_data(std::move(result.values));
}

// Of an answer to keys that were executed and others that were not.
template <class Response>
void FillRefusal(BatchResult& result, Response* response) {
  const grpc::Status refusal = ToRpcStatus(result.status);
  response->mutable_refusal()->set_code(refusal.error_code());
  response->mutable_refusal()->set_message(refusal.error_message());
  response->set_executed(std::move(result.executed));
}

// Of fields that this version does not know: kept by protobuf, in many times their size.
uint64_t UnknownBytes(const google::protobuf::Message& message) {
  const google::protobuf::UnknownFieldSet& unknown =
      message.GetReflection()->GetUnknownFields(message);
  return unknown.empty() ? 0 : unknown.SpaceUsedExcludingSelfLong();
}

absl::StatusOr<WriteMode> ModeOf(v1::WriteMode mode) {
  static_assert(static_cast<int>(WriteMode::kInsertIfAbsent) == v1::WRITE_MODE_INSERT_IF_ABSENT);
  static_assert(static_cast<int>(WriteMode::kReplaceIfPresent) ==
                v1::WRITE_MODE_REPLACE_IF_PRESENT);
  static_assert(static_cast<int>(WriteMode::kCompareAndSet) == v1::WRITE_MODE_COMPARE_AND_SET);
  static_assert(static_cast<int>(WriteMode::kAdd) == v1::WRITE_MODE_ADD);
  if (mode >= v1::WRITE_MODE_INSERT_IF_ABSENT && mode <= v1::WRITE_MODE_ADD) {
    return static_cast<WriteMode>(mode);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("mode is ", static_cast<int>(mode), ", must be 1 to 4 (",
                   v1::WriteMode_Name(v1::WRITE_MODE_INSERT_IF_ABSENT), " to ",
                   v1::WriteMode_Name(v1::WRITE_MODE_ADD), ")"));
}

// What the message holds of it, also of parts for which the request will be refused.
uint64_t ColumnBytes(const v1::Column& column) {
  return column.data().size() + column.validity().size() + column.offsets().size() +
         UnknownBytes(column);
}

// The keys as they came, and what becomes of them.
template <class Request>
uint64_t KeyBytes(const Request& request) {
  const auto decoded = [](const v1::Column& part) {
    return DecodedBytes(part.type(), part.data().size());
  };
  return ColumnBytes(request.keys()) + decoded(request.keys()) +
         ColumnBytes(request.second_keys()) + decoded(request.second_keys());
}

}  // namespace

uint64_t LookupOp::Bytes(const Request& request) {
  // The keys, and as many values.
  return request.object().size() + KeyBytes(request) + ValueBytes(request.keys()) +
         BitmapBytes(request.keys()) + UnknownBytes(request);
}

StartedBatch LookupOp::Start(Session& session, const Request& request, Session::Callback done) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  ERIS_ASSIGN_OR_RETURN(const DecodedKeys keys, DecodeKeys(session, request));
  ERIS_ASSIGN_OR_RETURN(const ColumnType type, session.ValueTypeOf(request.object()));
  if (type == ColumnType::kString) {
    const uint64_t most = request.values_bytes_max();
    return session.LookupBytesAsync(request.object(), keys.first.elements(),
                                    most == 0 ? kBatchValueBytesMax : most, std::move(done));
  }
  return session.LookupAsync(request.object(), keys.columns(), std::move(done));
}

absl::Status LookupOp::Fill(BatchResult& result, Response* response) {
  if (!result.status.ok()) {
    if (result.offsets.empty() || result.refused == result.count) return result.status;
    FillRefusal(result, response);
  }
  FillValues(result, response->mutable_values());
  response->mutable_values()->set_validity(std::move(result.present));
  return absl::OkStatus();
}

uint64_t UpsertOp::Bytes(const Request& request) {
  return request.object().size() + KeyBytes(request) + ColumnBytes(request.values()) +
         CopyBytes(request.values()) + BitmapBytes(request.keys()) + UnknownBytes(request);
}

StartedBatch UpsertOp::Start(Session& session, const Request& request, Session::Callback done) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  ERIS_ASSIGN_OR_RETURN(const DecodedKeys keys, DecodeKeys(session, request));
  if (IsBytes(request.values())) {
    ERIS_RETURN_IF_ERROR(CheckBytesAllowed(keys, request));
    ERIS_ASSIGN_OR_RETURN(const auto strings, DecodeBytes("values", request.values(), keys.first));
    return session.UpsertBytesAsync(request.object(), keys.first.elements(), strings,
                                    std::move(done));
  }
  ERIS_ASSIGN_OR_RETURN(const Uint64Column values, Decode("values", request.values()));
  ERIS_RETURN_IF_ERROR(CheckEqualLength(keys.first, "values", values));
  return session.UpsertAsync(request.object(), keys.columns(), values.elements(), std::move(done));
}

absl::Status UpsertOp::Fill(BatchResult& result, Response* response) {
  if (!result.status.ok()) return result.status;
  response->set_existed(std::move(result.present));
  return absl::OkStatus();
}

uint64_t EraseOp::Bytes(const Request& request) {
  return request.object().size() + KeyBytes(request) + BitmapBytes(request.keys()) +
         UnknownBytes(request);
}

StartedBatch EraseOp::Start(Session& session, const Request& request, Session::Callback done) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  ERIS_ASSIGN_OR_RETURN(const DecodedKeys keys, DecodeKeys(session, request));
  return session.EraseAsync(request.object(), keys.columns(), std::move(done));
}

absl::Status EraseOp::Fill(BatchResult& result, Response* response) {
  if (!result.status.ok()) return result.status;
  response->set_existed(std::move(result.present));
  return absl::OkStatus();
}

uint64_t WriteOp::Bytes(const Request& request) {
  // The answer: as many values as keys, and three bitmaps.
  return request.object().size() + KeyBytes(request) + ColumnBytes(request.values()) +
         ColumnBytes(request.expected()) + CopyBytes(request.values()) +
         CopyBytes(request.expected()) + ValueBytes(request.keys()) +
         3 * BitmapBytes(request.keys()) + UnknownBytes(request);
}

StartedBatch WriteOp::Start(Session& session, const Request& request, Session::Callback done) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  ERIS_ASSIGN_OR_RETURN(const WriteMode mode, ModeOf(request.mode()));
  ERIS_ASSIGN_OR_RETURN(const DecodedKeys keys, DecodeKeys(session, request));
  const bool compares = mode == WriteMode::kCompareAndSet;
  if (!compares && request.has_expected()) {
    return absl::InvalidArgumentError(
        absl::StrCat("column expected: ", request.expected().data().size(),
                     " bytes, must be unset for mode ", v1::WriteMode_Name(request.mode())));
  }
  if (IsBytes(request.values())) {
    ERIS_RETURN_IF_ERROR(CheckBytesAllowed(keys, request));
    ERIS_ASSIGN_OR_RETURN(const auto strings, DecodeBytes("values", request.values(), keys.first));
    std::vector<absl::string_view> expected;
    if (compares) {
      ERIS_ASSIGN_OR_RETURN(expected, DecodeBytes("expected", request.expected(), keys.first));
    }
    return session.WriteBytesAsync(
        request.object(), {mode, keys.first.elements(), strings, expected}, std::move(done));
  }
  ERIS_ASSIGN_OR_RETURN(const Uint64Column values, Decode("values", request.values()));
  ERIS_RETURN_IF_ERROR(CheckEqualLength(keys.first, "values", values));
  Uint64Column expected;
  if (compares) {
    ERIS_ASSIGN_OR_RETURN(expected, Decode("expected", request.expected()));
    ERIS_RETURN_IF_ERROR(CheckEqualLength(keys.first, "expected", expected));
  }
  return session.WriteAsync(request.object(),
                            {mode, keys.columns(), values.elements(), expected.elements()},
                            std::move(done));
}

absl::Status WriteOp::Fill(BatchResult& result, Response* response) {
  if (!result.status.ok()) {
    if (result.refused == result.count) return result.status;
    FillRefusal(result, response);
  }
  response->set_applied(std::move(result.applied));
  response->set_existed(std::move(result.present));
  FillValues(result, response->mutable_values());
  return absl::OkStatus();
}

}  // namespace eris::server
