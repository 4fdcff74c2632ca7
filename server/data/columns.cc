#include "server/data/columns.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <new>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/key_encoding.h"

namespace eris::server {

// The wire is little-endian, and elements are read in place.
static_assert(std::endian::native == std::endian::little);

namespace {

std::string TypeText(int type) {
  switch (type) {
    case kColumnTypeUint64:
      return absl::StrCat("COLUMN_TYPE_UINT64 (", type, ")");
    case kColumnTypeInt64:
      return absl::StrCat("COLUMN_TYPE_INT64 (", type, ")");
    case kColumnTypeFloat64:
      return absl::StrCat("COLUMN_TYPE_FLOAT64 (", type, ")");
    case kColumnTypeDate32:
      return absl::StrCat("COLUMN_TYPE_DATE32 (", type, ")");
    default:
      return absl::StrCat(type);
  }
}

// Everything but the elements' values.
absl::StatusOr<size_t> CheckParts(absl::string_view name, int type, absl::string_view why,
                                  const ColumnParts& parts) {
  if (parts.type != type) {
    return absl::InvalidArgumentError(absl::StrCat(
        "column ", name, ": type is ", TypeText(parts.type), ", must be ", TypeText(type), why));
  }
  if (parts.data.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("column ", name, ": no elements, a batch has at least 1"));
  }
  const size_t width = type == kColumnTypeDate32 ? sizeof(int32_t) : sizeof(uint64_t);
  if (parts.data.size() % width != 0) {
    return absl::InvalidArgumentError(absl::StrCat("column ", name, ": ", parts.data.size(),
                                                   " bytes, not a multiple of ", width));
  }
  const size_t count = parts.data.size() / width;
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
                                                   " bytes, must be empty: the width is fixed"));
  }
  return count;
}

// Room for `count` elements; empty where the system gives none.
std::unique_ptr<uint64_t[]> TryAllocate(size_t count) {
  return std::unique_ptr<uint64_t[]>(new (std::nothrow) uint64_t[count]);
}

absl::Status NoMemory(absl::string_view name, size_t count) {
  return absl::ResourceExhaustedError(absl::StrCat("column ", name, ": no memory for ", count,
                                                   " elements of ", sizeof(uint64_t), " bytes"));
}

// One pass from bytes at any address; the compiler makes vectors of it.
template <class Element, class Function>
void ToKeys(const char* bytes, size_t count, uint64_t* out, Function function) {
  for (size_t i = 0; i < count; ++i) {
    Element element;
    std::memcpy(&element, bytes + i * sizeof(Element), sizeof(Element));
    out[i] = function(element);
  }
}

// One pass in pieces that stay in the core's cache: a string cannot grow without being filled.
template <class Element, class Function>
std::string FromKeys(absl::Span<const uint64_t> keys, Function function) {
  std::string bytes;
  bytes.reserve(keys.size() * sizeof(Element));
  Element piece[512];
  for (size_t done = 0; done < keys.size();) {
    const size_t count = std::min(keys.size() - done, std::size(piece));
    const uint64_t* in = keys.data() + done;
    for (size_t i = 0; i < count; ++i) piece[i] = function(in[i]);
    bytes.append(reinterpret_cast<const char*>(piece), count * sizeof(Element));
    done += count;
  }
  return bytes;
}

}  // namespace

int ColumnTypeOf(ColumnType type) {
  switch (type) {
    case ColumnType::kInt64:
      return kColumnTypeInt64;
    case ColumnType::kFloat64:
      return kColumnTypeFloat64;
    case ColumnType::kDate:
      return kColumnTypeDate32;
    default:
      return kColumnTypeUint64;
  }
}

absl::StatusOr<Uint64Column> DecodeUint64Column(absl::string_view name, const ColumnParts& parts) {
  ERIS_ASSIGN_OR_RETURN(const size_t count, CheckParts(name, kColumnTypeUint64, "", parts));
  Uint64Column column;
  if (reinterpret_cast<uintptr_t>(parts.data.data()) % alignof(uint64_t) == 0) {
    column.elements_ = {reinterpret_cast<const uint64_t*>(parts.data.data()), count};
  } else {
    column.own_ = TryAllocate(count);
    if (!column.own_) return NoMemory(name, count);
    std::memcpy(column.own_.get(), parts.data.data(), parts.data.size());
    column.elements_ = {column.own_.get(), count};
  }
  return column;
}

absl::StatusOr<Uint64Column> DecodeKeyColumn(absl::string_view name, ColumnType type,
                                             const ColumnParts& parts) {
  if (type == ColumnType::kUint64) return DecodeUint64Column(name, parts);
  ERIS_ASSIGN_OR_RETURN(const size_t count,
                        CheckParts(name, ColumnTypeOf(type), " as the keys of the object", parts));
  const char* bytes = parts.data.data();
  Uint64Column column;
  column.own_ = TryAllocate(count);
  if (!column.own_) return NoMemory(name, count);
  uint64_t* out = column.own_.get();
  if (type == ColumnType::kInt64) {
    ToKeys<int64_t>(bytes, count, out, KeyFromInt64);
  } else if (type == ColumnType::kDate) {
    ToKeys<int32_t>(bytes, count, out, KeyFromDate);
  } else {
    uint64_t nans = 0;
    ToKeys<double>(bytes, count, out, [&nans](double number) {
      nans |= NanMark(number);
      return KeyFromFloat64(number);
    });
    if (nans >> 63 != 0) {
      size_t first = 0;
      for (double number; first < count; ++first) {
        std::memcpy(&number, bytes + first * sizeof number, sizeof number);
        if (IsNan(number)) break;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("column ", name, ": element ", first, " is NaN, which is no key"));
    }
  }
  column.elements_ = {column.own_.get(), count};
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

std::string EncodeKeyColumn(ColumnType type, absl::Span<const uint64_t> keys) {
  switch (type) {
    case ColumnType::kInt64:
      return FromKeys<int64_t>(keys, Int64FromKey);
    case ColumnType::kFloat64:
      return FromKeys<double>(keys, Float64FromKey);
    case ColumnType::kDate:
      return FromKeys<int32_t>(keys, DateFromKey);
    default:
      return EncodeUint64Column(keys);
  }
}

}  // namespace eris::server
