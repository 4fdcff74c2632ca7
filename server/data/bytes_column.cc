#include "server/data/bytes_column.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "eris/types.h"

namespace eris::server {

static_assert(std::endian::native == std::endian::little);

absl::StatusOr<std::vector<absl::string_view>> DecodeBytesColumn(absl::string_view name,
                                                                 const ColumnParts& parts) {
  constexpr size_t kWidth = sizeof(uint32_t);
  const auto refuse = [&](const auto&... text) {
    return absl::InvalidArgumentError(absl::StrCat("column ", name, ": ", text...));
  };
  if (parts.type != kColumnTypeBytes) {
    return refuse("type is ", parts.type, ", must be COLUMN_TYPE_BYTES (", kColumnTypeBytes, ")");
  }
  if (parts.offsets.size() % kWidth != 0) {
    return refuse("offsets of ", parts.offsets.size(), " bytes, not a multiple of ", kWidth);
  }
  if (parts.offsets.size() < 2 * kWidth) {
    return refuse("no elements, a batch has at least 1; byte strings have one more offset");
  }
  const size_t count = parts.offsets.size() / kWidth - 1;
  if (count > kBatchKeysMax) {
    return refuse(count, " elements, a batch has at most ", kBatchKeysMax);
  }
  if (!parts.validity.empty()) {
    return refuse("validity of ", parts.validity.size(), " bytes, must be empty in a request");
  }
  const auto offset = [&](size_t i) {
    uint32_t value;
    std::memcpy(&value, parts.offsets.data() + i * kWidth, kWidth);
    return value;
  };
  if (offset(0) != 0) return refuse("offset 0 is ", offset(0), ", must be 0");
  if (offset(count) != parts.data.size()) {
    return refuse("the last offset is ", offset(count), ", there are ", parts.data.size(),
                  " bytes: must be equal");
  }
  std::vector<absl::string_view> strings(count);
  uint32_t begin = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t end = offset(i + 1);
    if (end < begin || end > parts.data.size()) {
      return refuse("offset ", i + 1, " is ", end, ", must lie between the one before, ", begin,
                    ", and the number of bytes, ", parts.data.size());
    }
    strings[i] = parts.data.substr(begin, end - begin);
    begin = end;
  }
  return strings;
}

}  // namespace eris::server
