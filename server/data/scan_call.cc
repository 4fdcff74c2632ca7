#include "server/data/scan_call.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "server/data/columns.h"
#include "server/data/ranges.h"
#include "server/guard/rpc_status.h"
#include "wire/keys.h"

namespace eris::server {

ScanCall* ScanCall::Begin(ServerState& server, grpc::CallbackServerContext& context) {
  auto* call = new ScanCall(server, context);
  call->Arrive();
  return call;
}

namespace {

// The bytes of the scan's largest message; few for a small `limit`. `limit` 0: unknown, or all
// rows.
uint64_t MessageBytesOf(uint64_t limit) {
  constexpr uint64_t kRowBytes = 3 * sizeof(uint64_t);  // a key of two parts and a value
  constexpr uint64_t kRestBytes = 4 << 10;
  const uint64_t rows_most = (ScanCall::kMessageBytesMax - kRestBytes) / kRowBytes;
  return limit == 0 || limit > rows_most ? ScanCall::kMessageBytesMax
                                         : limit * kRowBytes + kRestBytes;
}

}  // namespace

absl::Status ScanCall::Open(const v1::ScanRequest& request, ByteBudget::Charge) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  const uint64_t message_bytes = MessageBytesOf(request.limit());
  charge_ = server_.budget.TryTake(kCopies * message_bytes);
  if (!charge_) return OverBudgetStatus(server_.budget, kCopies * message_bytes);

  session_ = server_.sessions.Borrow();
  // Before anything else is asked about the object: OpenScan then opens this one or none.
  ERIS_ASSIGN_OR_RETURN(key_type_, session_->KeyTypesOf(request.object()));
  ScanOptions options;
  if (!request.resume_token().empty()) {
    ERIS_ASSIGN_OR_RETURN(options, Resume(request));
    new_snapshot_ = true;
  } else {
    ERIS_ASSIGN_OR_RETURN(options.range, wire::RangeFrom("range", key_type_, request.range()));
    ERIS_ASSIGN_OR_RETURN(options.direction, DirectionOf(request.direction()));
    if (request.has_values()) {
      ERIS_ASSIGN_OR_RETURN(options.values, ValuesOf(request.values()));
    }
    options.limit = request.limit();
    options.keys_only = request.keys_only();
    ERIS_ASSIGN_OR_RETURN(const ObjectInfo info, server_.engine->Describe(request.object()));
    object_ = info.id;
  }
  options_ = options;
  ERIS_ASSIGN_OR_RETURN(const ColumnType type, session_->ValueTypeOf(request.object()));
  has_bytes_ = type == ColumnType::kString && !options.keys_only;
  constexpr uint64_t kMore = kCopies * (kStringsMessageBytesMax - kMessageBytesMax);
  if (has_bytes_ && !charge_.TryGrow(kMore)) return OverBudgetStatus(server_.budget, kMore);
  rows_left_ = options.limit;
  ERIS_ASSIGN_OR_RETURN(scan_, session_->OpenScan(request.object(), options));
  stop_->Attach(scan_.get());
  return absl::OkStatus();
}

absl::StatusOr<ScanOptions> ScanCall::Resume(const v1::ScanRequest& request) {
  if (request.has_range() || request.limit() != 0 || request.has_values() || request.keys_only() ||
      request.direction() != v1::SCAN_DIRECTION_UNSPECIFIED) {
    return absl::InvalidArgumentError(
        "resume_token is set, so range, limit, direction, values and keys_only must be unset: the "
        "token carries what is left");
  }
  ERIS_ASSIGN_OR_RETURN(const ResumePoint point, server_.tokens.Decode(request.resume_token()));
  ERIS_ASSIGN_OR_RETURN(const ObjectInfo info, server_.engine->Describe(request.object()));
  if (info.id != point.object) {
    for (const ObjectInfo& other : server_.engine->List()) {
      if (other.id == point.object) {
        return absl::InvalidArgumentError(absl::StrCat("resume_token is of object ", other.name,
                                                       ", the request names ", request.object()));
      }
    }
    return absl::NotFoundError("the object of the resume_token has been dropped");
  }
  object_ = point.object;
  ScanOptions options{.range = point.rest,
                      .limit = point.rows_left,
                      .direction = point.direction,
                      .keys_only = point.keys_only};
  if (point.values != ValueRange{}) options.values = point.values;
  return options;
}

void ScanCall::FetchNext() {
  scan_->NextAsync(
      [this](absl::StatusOr<std::optional<ScanChunk>> chunk) { OnChunk(std::move(chunk)); });
}

void ScanCall::OnChunk(absl::StatusOr<std::optional<ScanChunk>> chunk) {
  if (const auto reason = stop_->reason()) return End(*reason);
  if (!chunk.ok()) return End(chunk.status());
  if (!chunk->has_value()) return End(absl::OkStatus());
  Fill(**chunk);
  chunk->reset();  // before the write: an AEU may fill it while the client reads this one
  Write();
}

namespace {

void FillKeys(ColumnType type, absl::Span<const uint64_t> keys, v1::Column* column) {
  column->set_type(static_cast<v1::ColumnType>(ColumnTypeOf(type)));
  column->set_data(EncodeKeyColumn(type, keys));
}

void FillStrings(const ScanChunk& chunk, v1::Column* values) {
  const size_t rows = chunk.keys().size();
  std::string& data = *values->mutable_data();
  std::vector<uint32_t> offsets(rows + 1);
  data.clear();
  for (size_t i = 0; i < rows; ++i) {
    const absl::string_view one = chunk.bytes(i);
    data.append(one.data(), one.size());
    offsets[i + 1] = static_cast<uint32_t>(data.size());
  }
  values->set_type(v1::COLUMN_TYPE_BYTES);
  values->set_offsets(reinterpret_cast<const char*>(offsets.data()),
                      offsets.size() * sizeof(uint32_t));
}

}  // namespace

void ScanCall::Fill(const ScanChunk& chunk) {
  const uint64_t rows = chunk.keys().size();
  ERIS_CHECK(chunk.values().size() == (options_.keys_only || has_bytes_ ? 0 : rows));
  ERIS_CHECK(chunk.second_keys().size() == (key_type_.two_parts() ? rows : 0));
  const size_t columns = key_type_.two_parts() ? 3 : 2;
  ERIS_CHECK(rows * columns * sizeof(uint64_t) <= kMessageBytesMax - 256);  // the message's rest
  FillKeys(key_type_.first, chunk.keys(), response_.mutable_keys());
  if (key_type_.two_parts()) {
    FillKeys(*key_type_.second, chunk.second_keys(), response_.mutable_second_keys());
  }
  if (has_bytes_) {
    FillStrings(chunk, response_.mutable_values());
  } else if (!options_.keys_only) {
    response_.mutable_values()->set_type(v1::COLUMN_TYPE_UINT64);
    response_.mutable_values()->set_data(EncodeUint64Column(chunk.values()));
  }
  response_.set_new_snapshot(std::exchange(new_snapshot_, false));
  const bool limit_reached = rows_left_ != 0 && rows >= rows_left_;
  if (rows_left_ != 0 && !limit_reached) rows_left_ -= rows;
  last_ = limit_reached || !chunk.rest().has_value();
  if (last_) {
    response_.clear_resume_token();
  } else {
    response_.set_resume_token(
        server_.tokens.Encode({.object = object_,
                               .rest = *chunk.rest(),
                               .rows_left = rows_left_,
                               .direction = options_.direction,
                               .keys_only = options_.keys_only,
                               .values = options_.values.value_or(ValueRange{})}));
  }
}

}  // namespace eris::server
