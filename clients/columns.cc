#include "clients/columns.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "clients/rpc_status.h"
#include "eris/key_encoding.h"
#include "eris/key_text.h"
#include "eris/v1/column.pb.h"
#include "eris/v1/data.pb.h"
#include "wire/keys.h"

namespace eris::client {

static_assert(std::endian::native == std::endian::little,
              "columns are little-endian and are copied as they are");

size_t RowBits::Count() const {
  size_t count = 0;
  for (size_t row = 0; row < rows_; ++row) count += (*this)[row] ? 1 : 0;
  return count;
}

void ToColumn(absl::Span<const uint64_t> elements, v1::Column& column) {
  column.Clear();
  column.set_type(v1::COLUMN_TYPE_UINT64);
  column.mutable_data()->assign(reinterpret_cast<const char*>(elements.data()),
                                elements.size() * sizeof(uint64_t));
}

absl::Status FromColumn(const v1::Column& column, std::vector<uint64_t>& elements) {
  if (column.type() != v1::COLUMN_TYPE_UINT64) {
    if (column.type() == v1::COLUMN_TYPE_BYTES) {
      return absl::FailedPreconditionError("the object's values are byte strings, not u64");
    }
    return absl::InternalError(absl::StrCat("the server sent a column of type ",
                                            static_cast<int>(column.type()), "; expected ",
                                            static_cast<int>(v1::COLUMN_TYPE_UINT64)));
  }
  if (column.data().size() % sizeof(uint64_t) != 0) {
    return absl::InternalError(absl::StrCat("the server sent a column of ", column.data().size(),
                                            " bytes, no multiple of 8"));
  }
  elements.resize(column.data().size() / sizeof(uint64_t));
  if (!elements.empty()) {
    std::memcpy(elements.data(), column.data().data(), column.data().size());
  }
  return absl::OkStatus();
}

namespace {

template <class Number, class Function>
void Numbers(absl::Span<const uint64_t> keys, std::string& bytes, Function function) {
  bytes.resize(keys.size() * sizeof(Number));
  char* out = bytes.data();
  for (size_t i = 0; i < keys.size(); ++i) {
    const Number number = function(keys[i]);
    std::memcpy(out + i * sizeof number, &number, sizeof number);
  }
}

template <class Number, class Function>
absl::Status Keys(const std::string& bytes, std::vector<uint64_t>& keys, Function function) {
  if (bytes.size() % sizeof(Number) != 0) {
    return absl::InternalError(absl::StrCat("the server sent a column of ", bytes.size(),
                                            " bytes, no multiple of ", sizeof(Number)));
  }
  keys.resize(bytes.size() / sizeof(Number));
  for (size_t i = 0; i < keys.size(); ++i) {
    Number number;
    std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
    keys[i] = function(number);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ToKeyColumn(absl::string_view name, ColumnType type, absl::Span<const uint64_t> keys,
                         v1::Column& column) {
  if (type == ColumnType::kUint64) {
    ToColumn(keys, column);
    return absl::OkStatus();
  }
  if (type != ColumnType::kInt64) {  // every u64 is the key of an int64
    for (size_t i = 0; i < keys.size(); ++i) {
      if (wire::IsKeyOf(type, keys[i])) continue;
      return wire::NoKey(absl::StrCat(name, "[", i, "]"), type, keys[i]);
    }
  }
  column.Clear();
  std::string& bytes = *column.mutable_data();
  if (type == ColumnType::kInt64) {
    column.set_type(v1::COLUMN_TYPE_INT64);
    Numbers<int64_t>(keys, bytes, Int64FromKey);
  } else if (type == ColumnType::kFloat64) {
    column.set_type(v1::COLUMN_TYPE_FLOAT64);
    Numbers<double>(keys, bytes, Float64FromKey);
  } else {
    column.set_type(v1::COLUMN_TYPE_DATE32);
    Numbers<int32_t>(keys, bytes, DateFromKey);
  }
  return absl::OkStatus();
}

absl::Status CheckKeyParts(const KeyTypes& types, const KeyColumns& keys) {
  if (types.two_parts() != keys.two_parts()) {
    return absl::InvalidArgumentError(absl::StrCat(keys.size(), " keys have ",
                                                   keys.two_parts() ? "two parts" : "one part",
                                                   ", their type has ", KeyPartsText(types)));
  }
  if (!keys.two_parts() || keys.first().size() == keys.second().size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("keys have ", keys.first().size(),
                                                 " first parts and ", keys.second().size(),
                                                 " second parts: must be equal"));
}

absl::Status FromKeyColumn(const v1::Column& column, std::vector<uint64_t>& keys) {
  switch (column.type()) {
    case v1::COLUMN_TYPE_INT64:
      return Keys<int64_t>(column.data(), keys, KeyFromInt64);
    case v1::COLUMN_TYPE_FLOAT64:
      return Keys<double>(column.data(), keys, KeyFromFloat64);
    case v1::COLUMN_TYPE_DATE32:
      return Keys<int32_t>(column.data(), keys, KeyFromDate);
    default:
      return FromColumn(column, keys);
  }
}

absl::Status ToRowBits(std::string bits, size_t rows, bool empty_is_all, RowBits& out) {
  const size_t bytes = (rows + 7) / 8;
  if (bits.empty() && empty_is_all) bits.assign(bytes, '\xff');
  if (bits.size() < bytes) {
    return absl::InternalError(absl::StrCat("the server sent ", bits.size(),
                                            " bytes of presence for ", rows, " rows; expected ",
                                            bytes));
  }
  out = RowBits(std::move(bits), rows);
  return absl::OkStatus();
}

absl::Status TakeLookupResult(v1::LookupResponse response, size_t keys, LookupResult& out) {
  v1::Column& column = *response.mutable_values();
  absl::Status status = FromColumn(column, out.values);
  if (!status.ok()) return status;
  if (out.values.size() != keys) {
    return absl::InternalError(
        absl::StrCat("the server sent ", out.values.size(), " values for ", keys, " keys"));
  }
  return ToRowBits(std::move(*column.mutable_validity()), keys, true, out.found);
}

absl::Status ToWriteRequest(const std::string& object, WriteMode mode, const KeyColumns& keys,
                            absl::Span<const uint64_t> values, absl::Span<const uint64_t> expected,
                            v1::WriteRequest& request, const KeyTypes& key_type) {
  request.set_object(object);
  request.set_mode(static_cast<v1::WriteMode>(mode));
  if (absl::Status status = SetKeys(key_type, keys, request); !status.ok()) return status;
  ToColumn(values, *request.mutable_values());
  request.clear_expected();
  if (!expected.empty()) ToColumn(expected, *request.mutable_expected());
  return absl::OkStatus();
}

absl::Status TakeWriteResult(v1::WriteResponse response, size_t keys, WriteResult& out) {
  absl::Status status = FromColumn(response.values(), out.values);
  if (!status.ok()) return status;
  if (out.values.size() != keys) {
    return absl::InternalError(
        absl::StrCat("the server sent ", out.values.size(), " values for ", keys, " keys"));
  }
  status = ToRowBits(std::move(*response.mutable_applied()), keys, false, out.applied);
  if (!status.ok()) return status;
  status = ToRowBits(std::move(*response.mutable_existed()), keys, false, out.existed);
  if (!status.ok()) return status;
  out.refusal = ToAbslStatus(response.refusal().code(), response.refusal().message());
  return ToRowBits(std::move(*response.mutable_executed()), keys, true, out.executed);
}

}  // namespace eris::client
