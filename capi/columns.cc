#include "capi/columns.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "capi/guard.h"
#include "eris/query.h"

namespace eris::capi {
namespace {

constexpr int64_t kRowsMax = int64_t{1} << 40;  // so that offsets times widths stay in 64 bits

absl::Status Refuse(const ColumnSchema& type, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("column \"", type.name, "\": ", what));
}

absl::Status CheckAligned(const ColumnSchema& type, const ColumnView& view) {
  const auto aligned = [](const void* data, uintptr_t bytes) {
    return reinterpret_cast<uintptr_t>(data) % bytes == 0;
  };
  const uint32_t width = ColumnValueBytes(type.type);
  if (width > 0 && !aligned(view.values, std::min(width, 8u))) {
    return Refuse(type,
                  absl::StrCat("its values are not aligned to ", std::min(width, 8u), " bytes"));
  }
  if (!aligned(view.offsets, sizeof(uint32_t))) {
    return Refuse(type, "its offsets are not aligned to 4 bytes");
  }
  return absl::OkStatus();
}

// "d:18,2,64": digits, scale and, if it is given, bits.
std::optional<uint8_t> Decimal64Scale(absl::string_view format) {
  if (format.substr(0, 2) != "d:" || format.size() < 5) return std::nullopt;
  const size_t comma = format.find(',');
  const size_t bits = format.rfind(",64");
  if (comma == absl::string_view::npos || bits == absl::string_view::npos || bits <= comma ||
      bits + 3 != format.size()) {
    return std::nullopt;
  }
  uint32_t digits = 0, scale = 0;
  if (!absl::SimpleAtoi(format.substr(2, comma - 2), &digits) ||
      !absl::SimpleAtoi(format.substr(comma + 1, bits - comma - 1), &scale) ||
      scale > kDecimalScaleMax) {
    return std::nullopt;
  }
  return static_cast<uint8_t>(scale);
}

// A column's type and scale by its format. Errors: InvalidArgument.
absl::Status TypeFromArrow(const ArrowSchema& schema, ColumnSchema& column) {
  const absl::string_view format = schema.format == nullptr ? "" : schema.format;
  if (schema.dictionary != nullptr) {
    return Refuse(column, "a dictionary of Arrow: give its values themselves");
  }
  if (const std::optional<uint8_t> scale = Decimal64Scale(format)) {
    column.type = ColumnType::kDecimal;
    column.scale = *scale;
    return absl::OkStatus();
  }
  if (absl::StartsWith(format, "tsu:")) {  // and maybe a zone, which only says how it is shown
    column.type = ColumnType::kTimestamp;
    return absl::OkStatus();
  }
  const auto* const found =
      std::find_if(std::begin(kColumnTypes), std::end(kColumnTypes), [&](ColumnType type) {
        return type != ColumnType::kDecimal &&
               format == VisitColumnType(type, [](auto traits) { return traits.arrow_format; });
      });
  if (found == std::end(kColumnTypes)) {
    return Refuse(column, absl::StrCat("Arrow's format \"", format,
                                       "\" is none of \"i\", \"l\", \"L\", \"g\", \"tdD\", "
                                       "\"tsu:\", \"d:<digits>,<scale>,64\", \"u\" and \"z\""));
  }
  column.type = *found;
  return absl::OkStatus();
}

absl::Status CheckStruct(const ArrowSchema& schema) {
  if (schema.release == nullptr) {
    return absl::InvalidArgumentError("the ArrowSchema has been released");
  }
  if (schema.format == nullptr || absl::string_view(schema.format) != "+s") {
    return absl::InvalidArgumentError(absl::StrCat("the ArrowSchema is of format \"",
                                                   schema.format == nullptr ? "" : schema.format,
                                                   "\": rows are a struct, \"+s\""));
  }
  if (schema.n_children < 0 || (schema.n_children > 0 && schema.children == nullptr)) {
    return absl::InvalidArgumentError("the ArrowSchema has no children");
  }
  for (int64_t i = 0; i < schema.n_children; ++i) {
    if (schema.children[i] == nullptr || schema.children[i]->name == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("child ", i, " of the ArrowSchema has no name"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckStructArray(const ArrowSchema& schema, const ArrowArray& array) {
  if (array.release == nullptr) {
    return absl::InvalidArgumentError("the ArrowArray has been released");
  }
  if (array.n_children != schema.n_children ||
      (array.n_children > 0 && array.children == nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat("the ArrowArray has ", array.n_children,
                                                   " children, its schema ", schema.n_children));
  }
  if (array.length < 0 || array.offset < 0 || array.length > kRowsMax || array.offset > kRowsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ArrowArray has length ", array.length, " and offset ", array.offset));
  }
  const bool validity =
      array.n_buffers > 0 && array.buffers != nullptr && array.buffers[0] != nullptr;
  // -1: nobody has counted.
  const bool counted = array.null_count >= 0;
  const auto is_null = [&array](int64_t row) {
    const auto* const bits = static_cast<const uint8_t*>(array.buffers[0]);
    return (bits[row / 8] >> (row % 8) & 1) == 0;
  };
  bool nulls = validity && counted && array.null_count > 0;
  for (int64_t row = 0; validity && !counted && !nulls && row < array.length; ++row) {
    nulls = is_null(array.offset + row);
  }
  if (nulls) {
    return absl::InvalidArgumentError(
        "the ArrowArray has rows that are null as a whole: only columns can be null");
  }
  return absl::OkStatus();
}

// Bits from `first` on, moved to bit 0.
std::vector<uint8_t> BitsFrom(const uint8_t* bits, uint64_t first, uint64_t count) {
  std::vector<uint8_t> out((count + 7) / 8);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = first + i;
    out[i >> 3] |= static_cast<uint8_t>((bits[at >> 3] >> (at & 7) & 1) << (i & 7));
  }
  return out;
}

// A child's rows from `first` on. Errors: InvalidArgument.
absl::StatusOr<ColumnView> ViewOfChild(const ColumnSchema& type, const ArrowArray& child,
                                       uint64_t first, uint64_t rows,
                                       std::vector<std::vector<uint8_t>>& validities) {
  const bool strings = IsByteString(type.type);
  if (child.n_buffers != (strings ? 3 : 2) || child.buffers == nullptr) {
    return Refuse(type, absl::StrCat("its ArrowArray has ", child.n_buffers, " buffers, not ",
                                     strings ? 3 : 2));
  }
  if (child.length < 0 || child.offset < 0 || child.offset > kRowsMax ||
      static_cast<uint64_t>(child.length) < first + rows) {
    return Refuse(type, absl::StrCat("its ArrowArray has ", child.length, " rows from ",
                                     child.offset, " on, fewer than its struct needs"));
  }
  const uint64_t at = static_cast<uint64_t>(child.offset) + first;
  ColumnView view;
  if (strings) {
    view.values = child.buffers[2];
    view.offsets = static_cast<const uint32_t*>(child.buffers[1]);
    if (view.offsets != nullptr) view.offsets += at;
  } else {
    view.values = child.buffers[1];
    if (view.values != nullptr) {
      view.values = static_cast<const uint8_t*>(view.values) + at * ColumnValueBytes(type.type);
    }
  }
  const auto* const validity = static_cast<const uint8_t*>(child.buffers[0]);
  if (validity != nullptr && child.null_count != 0) {
    if (at % 8 == 0) {
      view.validity = validity + at / 8;
    } else {
      validities.push_back(BitsFrom(validity, at, rows));
      view.validity = validities.back().data();
    }
  }
  return view;
}

}  // namespace

absl::StatusOr<RowsIn> RowsIn::Create(const eris_rows& rows, absl::Span<const ColumnSchema> types) {
  if (rows.column_count != types.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the call has ", rows.column_count, " columns, and needs ", types.size()));
  }
  if (rows.columns == nullptr && rows.column_count > 0) {
    return absl::InvalidArgumentError("`columns` of the rows is NULL");
  }
  RowsIn in;
  in.rows_ = rows.rows;
  for (size_t i = 0; i < types.size(); ++i) {
    const eris_column& column = rows.columns[i];
    in.views_.push_back(
        {.values = column.values, .validity = column.validity, .offsets = column.offsets});
    ERIS_RETURN_IF_ERROR(CheckAligned(types[i], in.views_.back()));
  }
  return in;
}

absl::StatusOr<RowsIn> RowsIn::FromArrow(const ArrowSchema& schema, const ArrowArray& array,
                                         absl::Span<const ColumnSchema> types) {
  ERIS_RETURN_IF_ERROR(CheckStruct(schema));
  ERIS_RETURN_IF_ERROR(CheckStructArray(schema, array));
  if (static_cast<size_t>(schema.n_children) != types.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the ArrowArray has ", schema.n_children,
                                                   " columns, and the call needs ", types.size()));
  }
  RowsIn in;
  in.rows_ = static_cast<uint64_t>(array.length);
  in.validities_.reserve(types.size());
  for (const ColumnSchema& type : types) {
    int64_t at = 0;
    while (at < schema.n_children && type.name != schema.children[at]->name) ++at;
    if (at == schema.n_children) return Refuse(type, "the ArrowArray has no column of that name");
    ColumnSchema given{.name = type.name};
    ERIS_RETURN_IF_ERROR(TypeFromArrow(*schema.children[at], given));
    if (given.type != type.type || given.scale != type.scale) {
      return Refuse(
          type, absl::StrCat("Arrow's format \"", schema.children[at]->format, "\" is not that of ",
                             ColumnTypeName(type.type), " of scale ", type.scale));
    }
    if (array.children[at] == nullptr || array.children[at]->dictionary != nullptr) {
      return Refuse(type, "its ArrowArray is missing, or is a dictionary");
    }
    ERIS_ASSIGN_OR_RETURN(const ColumnView view, ViewOfChild(type, *array.children[at],
                                                             static_cast<uint64_t>(array.offset),
                                                             in.rows_, in.validities_));
    ERIS_RETURN_IF_ERROR(CheckAligned(type, view));
    in.views_.push_back(view);
  }
  return in;
}

std::vector<ColumnSchema> KeyOf(const Schema& schema) {
  std::vector<ColumnSchema> key;
  for (const uint32_t column : schema.key) key.push_back(schema.columns[column]);
  return key;
}

std::vector<ColumnSchema> OutsideKey(const Schema& schema) {
  std::vector<ColumnSchema> others;
  for (uint32_t i = 0; i < schema.columns.size(); ++i) {
    if (std::find(schema.key.begin(), schema.key.end(), i) == schema.key.end()) {
      others.push_back(schema.columns[i]);
    }
  }
  return others;
}

absl::StatusOr<std::vector<ColumnSchema>> ColumnsFrom(const eris_column_schema* columns,
                                                      size_t count) {
  ERIS_RETURN_IF_ERROR(
      CheckNumber("column_count", static_cast<int64_t>(count), 0, kTableColumnsMax));
  if (count > 0) ERIS_RETURN_IF_ERROR(Need({{"columns", columns}}));
  std::vector<ColumnSchema> out;
  for (size_t i = 0; i < count; ++i) {
    ERIS_RETURN_IF_ERROR(Need({{"name of a column", columns[i].name}}));
    ERIS_RETURN_IF_ERROR(CheckNumber("type", columns[i].type, 1, ERIS_TYPE_TIMESTAMP));
    ERIS_RETURN_IF_ERROR(CheckNumber("scale", columns[i].scale, 0, kDecimalScaleMax));
    ERIS_RETURN_IF_ERROR(CheckNumber("nullable", columns[i].nullable, 0, 1));
    out.push_back({.name = columns[i].name,
                   .type = static_cast<ColumnType>(columns[i].type),
                   .scale = static_cast<uint8_t>(columns[i].scale),
                   .nullable = columns[i].nullable != 0});
  }
  return out;
}

absl::StatusOr<std::vector<ColumnSchema>> ColumnsFromArrow(const ArrowSchema& schema) {
  ERIS_RETURN_IF_ERROR(CheckStruct(schema));
  ERIS_RETURN_IF_ERROR(CheckNumber("n_children", schema.n_children, 1, kTableColumnsMax));
  std::vector<ColumnSchema> out;
  for (int64_t i = 0; i < schema.n_children; ++i) {
    const ArrowSchema& child = *schema.children[i];
    ColumnSchema column{.name = child.name, .nullable = (child.flags & ARROW_FLAG_NULLABLE) != 0};
    ERIS_RETURN_IF_ERROR(TypeFromArrow(child, column));
    out.push_back(std::move(column));
  }
  return out;
}

absl::StatusOr<std::vector<std::string>> NamesFrom(const char* what, const char* const* names,
                                                   size_t count) {
  ERIS_RETURN_IF_ERROR(CheckNumber(what, static_cast<int64_t>(count), 0, kTableColumnsMax));
  if (count > 0) ERIS_RETURN_IF_ERROR(Need({{what, names}}));
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) {
    ERIS_RETURN_IF_ERROR(Need({{what, names[i]}}));
    out.emplace_back(names[i]);
  }
  return out;
}

absl::StatusOr<KeyRange> RangeFrom(const eris_range& range) {
  ERIS_RETURN_IF_ERROR(CheckNumber("open_end", range.open_end, 0, 1));
  KeyRange out{.lo = range.lo, .lo_second = range.lo_second};
  if (range.open_end != 0) {
    if (range.hi == 0 && range.hi_second == 0) return out;
    return absl::InvalidArgumentError(
        "a range with an open end has no upper bound: `hi` must be 0");
  }
  if ((range.lo | range.hi | range.lo_second | range.hi_second) == 0) return out;
  out.hi = range.hi;
  out.hi_second = range.hi_second;
  return out;
}

eris_range RangeOut(const KeyRange& range) {
  return {.lo = range.lo,
          .hi = range.hi.value_or(0),
          .lo_second = range.lo_second,
          .hi_second = range.hi_second,
          .open_end = range.hi ? 0 : 1};
}

void ColumnOut(const ColumnSchema& type, const ColumnView& view, eris_column& column,
               eris_column_schema* schema) {
  column = {.values = view.values, .validity = view.validity, .offsets = view.offsets};
  if (schema == nullptr) return;
  *schema = {.name = type.name.c_str(),
             .type = static_cast<int32_t>(type.type),
             .scale = type.scale,
             .nullable = type.nullable ? 1 : 0};
}

absl::Status ExportSchema(const Schema& schema, ArrowSchema* out) {
  ExportArrowSchema(schema, out);
  if (out->release != nullptr) return absl::OkStatus();
  return absl::ResourceExhaustedError("no memory for an ArrowSchema");
}

}  // namespace eris::capi
