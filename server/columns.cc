#include "server/columns.h"

#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eris/types.h"

namespace eris::server {

// The wire is little-endian, and elements are read in place.
static_assert(std::endian::native == std::endian::little);

absl::StatusOr<Uint64Column> DecodeUint64Column(absl::string_view name, const ColumnParts& parts) {
  constexpr size_t kWidth = sizeof(uint64_t);
  if (parts.type != kColumnTypeUint64) {
    return absl::InvalidArgumentError(absl::StrCat("column ", name, ": type is ", parts.type,
                                                   ", must be COLUMN_TYPE_UINT64 (",
                                                   kColumnTypeUint64, ")"));
  }
  if (parts.data.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("column ", name, ": no elements, a batch has at least 1"));
  }
  if (parts.data.size() % kWidth != 0) {
    return absl::InvalidArgumentError(absl::StrCat("column ", name, ": ", parts.data.size(),
                                                   " bytes, not a multiple of ", kWidth));
  }
  const size_t count = parts.data.size() / kWidth;
  if (count > kBatchKeysMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "column ", name, ": ", count, " elements, a batch has at most ", kBatchKeysMax));
  }
  if (!parts.validity.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("column ", name, ": validity of ",
                                                   parts.validity.size(),
                                                   " bytes, must be empty in a request"));
  }
  if (!parts.offsets.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("column ", name, ": offsets of ",
                                                   parts.offsets.size(),
                                                   " bytes, must be empty for a uint64 column"));
  }
  Uint64Column column;
  if (reinterpret_cast<uintptr_t>(parts.data.data()) % alignof(uint64_t) == 0) {
    column.elements_ = {reinterpret_cast<const uint64_t*>(parts.data.data()), count};
  } else {
    column.aligned_.resize(count);
    std::memcpy(column.aligned_.data(), parts.data.data(), parts.data.size());
    column.elements_ = column.aligned_;
  }
  return column;
}

absl::Status CheckEqualLength(const Uint64Column& keys, absl::string_view name,
                              const Uint64Column& column) {
  if (keys.elements().size() == column.elements().size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("column keys has ", keys.elements().size(),
                                                 " elements, column ", name, " ",
                                                 column.elements().size(), ": must be equal"));
}

std::string EncodeUint64Column(absl::Span<const uint64_t> elements) {
  return std::string(reinterpret_cast<const char*>(elements.data()),
                     elements.size() * sizeof(uint64_t));
}

}  // namespace eris::server
