#include "clients/python/embedded/columns.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "clients/python/embedded/status_error.h"
#include "eris/key_encoding.h"

namespace eris::python {
namespace {

using AnyArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

[[noreturn]] void Refuse(const std::string& text) {
  throw StatusError(absl::InvalidArgumentError(text));
}

AnyArray ArrayOf(nb::handle given, const ColumnSchema& type) {
  AnyArray array;
  if (!nb::try_cast(given, array, /*convert=*/false)) {
    Refuse(absl::StrCat("column \"", type.name, "\" is no contiguous array of one dimension"));
  }
  return array;
}

// Offsets that may be believed.
void CheckOffsets(const ColumnSchema& type, const uint32_t* offsets, uint64_t rows,
                  uint64_t bytes) {
  if (offsets[rows] > bytes || !std::is_sorted(offsets, offsets + rows + 1)) {
    Refuse(absl::StrCat("offsets of column \"", type.name, "\" descend, or end behind its ", bytes,
                        " bytes"));
  }
}

template <class T>
nb::object ViewOf(const void* values, uint64_t count, nb::handle owner) {
  static const T kNothing[1] = {};
  const auto* const data = values == nullptr ? kNothing : static_cast<const T*>(values);
  return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(data, {count}, owner));
}

uint64_t Encoded(const ColumnSchema& type, nb::handle part) {
  try {
    switch (type.type) {
      case ColumnType::kUint64:
        return nb::cast<uint64_t>(part);
      case ColumnType::kFloat64: {
        const auto number = nb::cast<double>(part);
        if (IsNan(number)) Refuse(absl::StrCat("a bound of \"", type.name, "\" is NaN"));
        return KeyFromFloat64(number);
      }
      case ColumnType::kDate:
      case ColumnType::kInt32:
        return EncodeKey(nb::cast<int32_t>(part));
      default:
        return KeyFromInt64(nb::cast<int64_t>(part));
    }
  } catch (const nb::cast_error&) {
    Refuse(absl::StrCat("a bound of \"", type.name, "\" is no ", ColumnTypeName(type.type)));
  }
}

}  // namespace

ColumnsIn::ColumnsIn(const nb::list& columns, const std::vector<ColumnSchema>& types) {
  if (columns.size() != types.size()) {
    Refuse(absl::StrCat("the call has ", columns.size(), " columns, and needs ", types.size()));
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const ColumnSchema& type = types[i];
    const auto parts = nb::cast<nb::tuple>(columns[i]);
    const AnyArray values = ArrayOf(parts[0], type);
    ColumnView view{.values = values.data()};
    uint64_t rows = 0;
    if (const uint64_t width = ColumnValueBytes(type.type); width > 0) {
      rows = values.nbytes() / width;
      if (rows * width != values.nbytes() || values.itemsize() != width) {
        Refuse(absl::StrCat("column \"", type.name, "\" has values of ", values.itemsize(),
                            " bytes: those of ", ColumnTypeName(type.type), " have ", width));
      }
    } else {
      const AnyArray offsets = ArrayOf(parts[1], type);
      if (offsets.itemsize() != sizeof(uint32_t) || offsets.size() == 0) {
        Refuse(absl::StrCat("column \"", type.name, "\" needs offsets of 32 bits"));
      }
      rows = offsets.size() - 1;
      view.offsets = static_cast<const uint32_t*>(offsets.data());
      CheckOffsets(type, view.offsets, rows, values.nbytes());
    }
    if (i > 0 && rows != rows_) {
      Refuse(
          absl::StrCat("column \"", type.name, "\" has ", rows, " rows, and others have ", rows_));
    }
    if (!parts[2].is_none()) {
      const AnyArray validity = ArrayOf(parts[2], type);
      if (validity.nbytes() < (rows + 7) / 8) {
        Refuse(absl::StrCat("validity of column \"", type.name, "\" has ", validity.nbytes(),
                            " bytes for ", rows, " rows"));
      }
      view.validity = static_cast<const uint8_t*>(validity.data());
    }
    rows_ = rows;
    views_.push_back(view);
  }
}

nb::tuple ColumnOut(const ColumnSchema& type, const ColumnView& column, uint64_t rows,
                    nb::handle owner) {
  return VisitColumnType(type.type, [&]<class T>(ColumnTraits<T>) {
    if constexpr (std::is_void_v<T>) {
      const uint64_t bytes = rows == 0 ? 0 : column.offsets[rows];
      return nb::make_tuple(ViewOf<uint8_t>(column.values, bytes, owner),
                            ViewOf<uint32_t>(column.offsets, rows == 0 ? 0 : rows + 1, owner));
    } else if constexpr (std::is_same_v<T, Int128Halves>) {
      return nb::make_tuple(ViewOf<uint64_t>(column.values, 2 * rows, owner), nb::none());
    } else {
      return nb::make_tuple(ViewOf<T>(column.values, rows, owner), nb::none());
    }
  });
}

nb::object BytesOut(const std::string& bytes, nb::handle owner) {
  return ViewOf<uint8_t>(bytes.data(), bytes.size(), owner);
}

void ReadBound(const std::vector<ColumnSchema>& key, const nb::tuple& parts, bool table,
               uint64_t& first, uint64_t& second) {
  if (parts.size() == 0 || parts.size() > key.size()) {
    Refuse(absl::StrCat("a bound has ", parts.size(), " parts, and keys have ", key.size()));
  }
  first = Encoded(key[0], parts[0]);
  if (table && ColumnValueBytes(key[0].type) == sizeof(int32_t)) first <<= 32;
  if (parts.size() > 1) second = Encoded(key[1], parts[1]);
}

nb::object KeyPart(ColumnType type, uint64_t encoded) {
  switch (type) {
    case ColumnType::kUint64:
      return nb::cast(encoded);
    case ColumnType::kFloat64:
      return nb::cast(Float64FromKey(encoded));
    case ColumnType::kDate:
      return nb::cast(DateFromKey(encoded));
    default:
      return nb::cast(Int64FromKey(encoded));
  }
}

KeyRange RangeFrom(const std::vector<ColumnSchema>& key, const std::optional<nb::tuple>& lo,
                   const std::optional<nb::tuple>& hi, bool table) {
  KeyRange range;
  if (lo) ReadBound(key, *lo, table, range.lo, range.lo_second);
  if (hi) ReadBound(key, *hi, table, range.hi.emplace(), range.hi_second);
  return range;
}

nb::list SchemaOut(const std::vector<ColumnSchema>& columns) {
  nb::list out;
  for (const ColumnSchema& column : columns) {
    out.append(
        nb::make_tuple(column.name, ColumnTypeName(column.type), column.scale, column.nullable));
  }
  return out;
}

std::vector<ColumnSchema> SchemaIn(const nb::list& columns) {
  std::vector<ColumnSchema> out;
  for (const nb::handle given : columns) {
    const auto column = nb::cast<nb::tuple>(given);
    const auto name = nb::cast<std::string>(column[1]);
    const auto* const type =
        std::find_if(std::begin(kColumnTypes), std::end(kColumnTypes),
                     [&](ColumnType one) { return name == ColumnTypeName(one); });
    if (type == std::end(kColumnTypes)) Refuse(absl::StrCat("there is no type \"", name, "\""));
    out.push_back({.name = nb::cast<std::string>(column[0]),
                   .type = *type,
                   .scale = nb::cast<uint8_t>(column[2]),
                   .nullable = nb::cast<bool>(column[3])});
  }
  return out;
}

std::vector<ColumnSchema> KeyOf(const Schema& schema) {
  std::vector<ColumnSchema> key;
  for (const uint32_t column : schema.key) key.push_back(schema.columns[column]);
  return key;
}

}  // namespace eris::python
