#include "clients/bytes_columns.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/rpc_status.h"
#include "eris/types.h"
#include "eris/v1/column.pb.h"
#include "eris/v1/data.pb.h"

namespace eris::client {

absl::Status ToBytesColumn(absl::Span<const absl::string_view> strings, v1::Column& column) {
  column.Clear();
  column.set_type(v1::COLUMN_TYPE_BYTES);
  uint64_t total = 0;
  for (const absl::string_view string : strings) total += string.size();
  if (total > kBatchValueBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("the values of a batch have at most ",
                                                   kBatchValueBytesMax,
                                                   " bytes together, these have ", total));
  }
  std::string& data = *column.mutable_data();
  std::string& offsets = *column.mutable_offsets();
  data.reserve(total);
  offsets.reserve((strings.size() + 1) * sizeof(uint32_t));
  const auto add_offset = [&] {
    const auto offset = static_cast<uint32_t>(data.size());
    offsets.append(reinterpret_cast<const char*>(&offset), sizeof offset);
  };
  add_offset();
  for (const absl::string_view string : strings) {
    data.append(string.data(), string.size());
    add_offset();
  }
  return absl::OkStatus();
}

absl::Status FromBytesColumn(v1::Column& column, size_t rows, BytesColumn& strings) {
  if (column.type() == v1::COLUMN_TYPE_UINT64) {
    return absl::FailedPreconditionError("the object's values are u64, not byte strings");
  }
  if (column.type() != v1::COLUMN_TYPE_BYTES) {
    return absl::InternalError(absl::StrCat("the server sent a column of type ",
                                            static_cast<int>(column.type()), "; expected ",
                                            static_cast<int>(v1::COLUMN_TYPE_BYTES)));
  }
  if (column.offsets().size() != (rows + 1) * sizeof(uint32_t)) {
    return absl::InternalError(absl::StrCat("the server sent ", column.offsets().size(),
                                            " bytes of offsets for ", rows, " strings"));
  }
  strings.offsets.resize(rows + 1);
  std::memcpy(strings.offsets.data(), column.offsets().data(), column.offsets().size());
  bool good = strings.offsets.front() == 0 && strings.offsets.back() == column.data().size();
  for (size_t i = 0; i < rows; ++i) good &= strings.offsets[i] <= strings.offsets[i + 1];
  if (!good) {
    return absl::InternalError("the server sent offsets that do not fit the column's bytes");
  }
  strings.data = std::move(*column.mutable_data());
  return absl::OkStatus();
}

absl::Status TakeBytesLookupResult(v1::LookupResponse response, size_t keys,
                                   BytesLookupResult& out) {
  v1::Column& column = *response.mutable_values();
  absl::Status status = FromBytesColumn(column, keys, out.values);
  if (!status.ok()) return status;
  status = ToRowBits(std::move(*column.mutable_validity()), keys, true, out.found);
  if (!status.ok()) return status;
  out.refusal = ToAbslStatus(response.refusal().code(), response.refusal().message());
  return ToRowBits(std::move(*response.mutable_executed()), keys, true, out.executed);
}

absl::Status TakeBytesWriteResult(v1::WriteResponse response, size_t keys, BytesWriteResult& out) {
  absl::Status status = FromBytesColumn(*response.mutable_values(), keys, out.values);
  if (!status.ok()) return status;
  status = ToRowBits(std::move(*response.mutable_applied()), keys, false, out.applied);
  if (!status.ok()) return status;
  status = ToRowBits(std::move(*response.mutable_existed()), keys, false, out.existed);
  if (!status.ok()) return status;
  out.refusal = ToAbslStatus(response.refusal().code(), response.refusal().message());
  return ToRowBits(std::move(*response.mutable_executed()), keys, true, out.executed);
}

}  // namespace eris::client
