#include "wire/columns.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "eris/errors.h"

namespace eris::wire {

// The wire is little-endian, and elements are read in place.
static_assert(std::endian::native == std::endian::little);

namespace {

constexpr size_t kOffsetBytes = sizeof(uint32_t);
// What messages show of a client's names.
constexpr size_t kShownBytesMax = 64;

constexpr auto kOneAfterAnother = [] {
  std::array<uint32_t, kTableColumnsMax> columns{};
  std::iota(columns.begin(), columns.end(), 0);
  return columns;
}();

absl::string_view Shown(absl::string_view name) { return name.substr(0, kShownBytesMax); }

std::string TypeText(v1::ColumnType type) {
  const std::string& name = v1::ColumnType_Name(type);
  if (name.empty()) return absl::StrCat(static_cast<int>(type));
  return absl::StrCat(name, " (", static_cast<int>(type), ")");
}

size_t BitmapBytes(uint64_t rows) { return (rows + 7) / 8; }

// All offsets are looked at without a branch.
bool Ascend(const uint32_t* offsets, uint64_t rows) {
  uint32_t descents = 0;
  for (uint64_t i = 0; i < rows; ++i) descents |= offsets[i] > offsets[i + 1] ? 1u : 0u;
  return descents == 0;
}

// Reads one column after another into `out`; the first one says how many rows there are.
class Reader {
 public:
  Reader(absl::string_view batch, ViewedColumns& out) : batch_(batch), out_(out) {}

  absl::Status Read(const ColumnSchema& schema, const v1::Column& column) {
    schema_ = &schema;
    ColumnView& view = out_.views.emplace_back();
    if (column.type() != ToProto(schema.type)) {
      return Refuse("type is ", TypeText(column.type()), ", must be ",
                    TypeText(ToProto(schema.type)));
    }
    if (out_.views.size() == 1) ERIS_RETURN_IF_ERROR(CountRows(column));
    ERIS_RETURN_IF_ERROR(ReadValidity(column, view));
    if (IsByteString(schema.type)) return ReadStrings(column, view);
    const size_t width = ColumnValueBytes(schema.type);
    ERIS_RETURN_IF_ERROR(CheckBytes("data", column.data(), out_.rows * width));
    ERIS_RETURN_IF_ERROR(CheckBytes("offsets", column.offsets(), 0));
    return Align(column.data(), width, view.values);
  }

 private:
  absl::Status CountRows(const v1::Column& column) {
    const bool strings = IsByteString(schema_->type);
    const std::string& bytes = strings ? column.offsets() : column.data();
    const size_t width = strings ? kOffsetBytes : ColumnValueBytes(schema_->type);
    if (bytes.size() % width != 0) {
      return Refuse(strings ? "offsets of " : "data of ", bytes.size(),
                    " bytes, must be a multiple of ", width);
    }
    const uint64_t elements = bytes.size() / width;
    out_.rows = strings && elements > 0 ? elements - 1 : elements;
    if (out_.rows == 0) {
      return Refuse("no elements, a batch has at least 1",
                    strings ? "; strings have one more offset" : "");
    }
    if (out_.rows > kTableBatchRowsMax) {
      return Refuse(out_.rows, " elements, a batch has at most ", kTableBatchRowsMax);
    }
    return absl::OkStatus();
  }

  absl::Status ReadValidity(const v1::Column& column, ColumnView& view) {
    if (column.validity().empty()) return absl::OkStatus();
    const size_t bytes = BitmapBytes(out_.rows);
    if (column.validity().size() != bytes) {
      return Refuse("validity of ", column.validity().size(), " bytes, must be empty or ", bytes,
                    " for ", out_.rows, " rows");
    }
    if (schema_->nullable) {
      view.validity = reinterpret_cast<const uint8_t*>(column.validity().data());
      return absl::OkStatus();
    }
    for (uint64_t row = 0; row < out_.rows; ++row) {
      if (!BitAt(column.validity(), row)) {
        return Refuse("row ", row, " is null, which the column cannot be");
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadStrings(const v1::Column& column, ColumnView& view) {
    const uint64_t rows = out_.rows;
    ERIS_RETURN_IF_ERROR(CheckBytes("offsets", column.offsets(), (rows + 1) * kOffsetBytes));
    const void* aligned = nullptr;
    ERIS_RETURN_IF_ERROR(Align(column.offsets(), kOffsetBytes, aligned));
    const auto* const offsets = static_cast<const uint32_t*>(aligned);
    if (offsets[0] != 0) return Refuse("offset 0 is ", offsets[0], ", must be 0");
    if (!Ascend(offsets, rows)) {
      uint64_t i = 0;
      while (offsets[i] <= offsets[i + 1]) ++i;
      return Refuse("offset ", i + 1, " is ", offsets[i + 1], ", less than the one before, ",
                    offsets[i]);
    }
    if (offsets[rows] != column.data().size()) {
      return Refuse("the last offset is ", offsets[rows], ", there are ", column.data().size(),
                    " bytes: must be equal");
    }
    view.values = column.data().data();
    view.offsets = offsets;
    return absl::OkStatus();
  }

  absl::Status CheckBytes(absl::string_view what, const std::string& bytes, uint64_t expected) {
    if (bytes.size() == expected) return absl::OkStatus();
    if (expected == 0) return Refuse(what, " of ", bytes.size(), " bytes, must be empty");
    return Refuse(what, " of ", bytes.size(), " bytes, must be ", expected, " for ", out_.rows,
                  " rows");
  }

  // Where the bytes can be read as values of `width` bytes: where they lie, or in a copy.
  absl::Status Align(const std::string& bytes, size_t width, const void*& aligned) {
    aligned = bytes.data();
    if (reinterpret_cast<uintptr_t>(bytes.data()) % width == 0) return absl::OkStatus();
    std::unique_ptr<char[]> copy(new (std::nothrow) char[bytes.size()]);
    if (copy == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("column ", Name(), ": no memory for a copy of ", bytes.size(), " bytes"));
    }
    std::memcpy(copy.get(), bytes.data(), bytes.size());
    aligned = out_.copies.emplace_back(std::move(copy)).get();
    return absl::OkStatus();
  }

  std::string Name() const { return absl::StrCat(batch_, ".", Shown(schema_->name)); }
  template <class... Text>
  absl::Status Refuse(const Text&... text) const {
    return Error(ErrorReason::kColumnInvalid, absl::StrCat("column ", Name(), ": ", text...),
                 {.field = Name()});
  }

  const absl::string_view batch_;
  ViewedColumns& out_;
  const ColumnSchema* schema_ = nullptr;  // of the column that is read
};

absl::Status WrongColumnCount(absl::string_view name, const Schema& schema,
                              absl::Span<const uint32_t> columns, int count) {
  std::string expected;
  if (columns.size() <= kTableKeyColumnsMax) {
    expected =
        absl::StrCat(" (",
                     absl::StrJoin(columns, ", ",
                                   [&](std::string* out, uint32_t i) {
                                     const ColumnSchema& column = schema.columns[i];
                                     absl::StrAppend(out, Shown(column.name), " ",
                                                     v1::ColumnType_Name(ToProto(column.type)));
                                   }),
                     ")");
  }
  return Error(ErrorReason::kColumnInvalid,
               absl::StrCat(name, ": ", count, " columns, must be ", columns.size(), expected));
}

void MoveColumn(ColumnType type, ColumnBuffers buffers, v1::Column* column) {
  column->set_type(ToProto(type));
  column->set_data(std::move(buffers.values));
  column->set_validity(std::move(buffers.validity));
  column->set_offsets(std::move(buffers.offsets));
}

void Resize(size_t count, Columns* message) {
  while (static_cast<size_t>(message->size()) < count) message->Add();
  while (static_cast<size_t>(message->size()) > count) message->RemoveLast();
}

// Whether `rows` strings lie where the offsets say, one behind the other.
bool AreStrings(const v1::Column& column, uint64_t rows) {
  if (column.offsets().size() != (rows + 1) * kOffsetBytes) return false;
  std::vector<uint32_t> offsets(rows + 1);
  std::memcpy(offsets.data(), column.offsets().data(), column.offsets().size());
  return offsets[0] == 0 && Ascend(offsets.data(), rows) && offsets[rows] == column.data().size();
}

bool IsWhole(ColumnType type, uint64_t rows, const v1::Column& column) {
  if (column.type() != ToProto(type)) return false;
  if (!column.validity().empty() && column.validity().size() < BitmapBytes(rows)) return false;
  if (IsByteString(type)) return AreStrings(column, rows);
  return column.data().size() == rows * ColumnValueBytes(type);
}

}  // namespace

v1::ColumnType ToProto(ColumnType type) {
  switch (type) {
    case ColumnType::kInt32:
      return v1::COLUMN_TYPE_INT32;
    case ColumnType::kInt64:
      return v1::COLUMN_TYPE_INT64;
    case ColumnType::kUint64:
      return v1::COLUMN_TYPE_UINT64;
    case ColumnType::kFloat64:
      return v1::COLUMN_TYPE_FLOAT64;
    case ColumnType::kDate:
      return v1::COLUMN_TYPE_DATE32;
    case ColumnType::kTimestamp:
      return v1::COLUMN_TYPE_TIMESTAMP;
    case ColumnType::kDecimal:
      return v1::COLUMN_TYPE_DECIMAL64;
    case ColumnType::kString:
      return v1::COLUMN_TYPE_STRING;
    case ColumnType::kInt128:
      return v1::COLUMN_TYPE_DECIMAL128;
    case ColumnType::kBytes:
      return v1::COLUMN_TYPE_BYTES;
  }
  return v1::COLUMN_TYPE_UNSPECIFIED;
}

absl::StatusOr<ColumnType> ColumnTypeFrom(absl::string_view name, v1::ColumnType type) {
  for (const ColumnType one : kColumnTypes) {
    if (ToProto(one) == type) return one;
  }
  const auto append = [](std::string* out, ColumnType one) {
    absl::string_view known = v1::ColumnType_Name(ToProto(one));
    absl::ConsumePrefix(&known, "COLUMN_TYPE_");
    out->append(known.data(), known.size());
  };
  const auto all = absl::MakeConstSpan(kColumnTypes);
  std::string expected =
      absl::StrCat(absl::StrJoin(all.first(all.size() - 1), ", ", append), " or ");
  append(&expected, all.back());
  return absl::InvalidArgumentError(
      absl::StrCat("column ", name, ": type is ", static_cast<int>(type), ", must be ", expected));
}

absl::Span<const uint32_t> AllColumns(const Schema& schema) {
  return absl::MakeConstSpan(kOneAfterAnother).subspan(0, schema.columns.size());
}
absl::Span<const uint32_t> ValueColumn(const Schema& schema) { return AllColumns(schema).last(1); }

ColumnTypes TypesOf(const Schema& schema, absl::Span<const uint32_t> columns) {
  ColumnTypes types;
  for (const uint32_t column : columns) types.push_back(schema.columns[column].type);
  return types;
}

absl::StatusOr<ColumnTypes> AnsweredTypes(const Schema& schema,
                                          absl::Span<const std::string> names) {
  ColumnTypes types;
  if (names.size() > kTableColumnsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a lookup of ", names.size(), " columns, must be at most ", kTableColumnsMax));
  }
  for (const std::string& name : names) {
    size_t i = 0;
    while (i < schema.columns.size() && schema.columns[i].name != name) ++i;
    if (i == schema.columns.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("column \"", Shown(name), "\" of the lookup is none of the object"));
    }
    types.push_back(schema.columns[i].type);
  }
  for (uint32_t i = 0; names.empty() && i < schema.columns.size(); ++i) {
    if (std::find(schema.key.begin(), schema.key.end(), i) != schema.key.end()) continue;
    types.push_back(schema.columns[i].type);
  }
  return types;
}

absl::StatusOr<ViewedColumns> ViewColumns(absl::string_view name, const Schema& schema,
                                          absl::Span<const uint32_t> columns,
                                          const Columns& message) {
  static_assert(kBatchKeysMax == kTableBatchRowsMax);
  if (static_cast<size_t>(message.size()) != columns.size()) {
    return WrongColumnCount(name, schema, columns, message.size());
  }
  uint64_t bytes = 0;
  for (const v1::Column& column : message) {
    bytes += column.data().size() + column.offsets().size() + column.validity().size();
  }
  if (bytes > kTableBatchBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", bytes, " bytes, must be at most ", kTableBatchBytesMax));
  }
  ViewedColumns viewed;
  Reader reader(name, viewed);
  for (size_t i = 0; i < columns.size(); ++i) {
    ERIS_RETURN_IF_ERROR(reader.Read(schema.columns[columns[i]], message.Get(static_cast<int>(i))));
  }
  return viewed;
}

uint64_t RowsSaid(const v1::Column& column) {
  for (const ColumnType one : kColumnTypes) {
    if (ToProto(one) != column.type()) continue;
    return IsByteString(one) ? column.offsets().size() / kOffsetBytes
                             : column.data().size() / ColumnValueBytes(one);
  }
  return column.data().size() / sizeof(uint64_t);
}

void MoveColumns(const ColumnTypes& types, std::vector<ColumnBuffers> columns, Columns* message) {
  ERIS_CHECK(types.size() == columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    MoveColumn(types[i], std::move(columns[i]), message->Add());
  }
}

void FillColumn(ColumnType type, uint64_t rows, const ColumnView& view, v1::Column* column) {
  column->set_type(ToProto(type));
  if (view.validity == nullptr) {
    column->clear_validity();
  } else {
    column->set_validity(view.validity, BitmapBytes(rows));
  }
  if (!IsByteString(type)) {
    column->clear_offsets();
    return column->set_data(view.values, rows * ColumnValueBytes(type));
  }
  const uint32_t first = view.offsets[0];
  column->set_data(static_cast<const char*>(view.values) + first, view.offsets[rows] - first);
  column->set_offsets(view.offsets, (rows + 1) * kOffsetBytes);
  if (first == 0) return;
  // A piece of a longer column: on the wire offsets begin at 0.
  std::string& offsets = *column->mutable_offsets();
  for (uint64_t row = 0; row <= rows; ++row) {
    const uint32_t offset = view.offsets[row] - first;
    std::memcpy(offsets.data() + row * kOffsetBytes, &offset, kOffsetBytes);
  }
}

void FillColumns(const ColumnTypes& types, const RowBatch& rows, Columns* message) {
  ERIS_CHECK(types.size() == rows.columns.size());
  Resize(types.size(), message);
  for (size_t i = 0; i < types.size(); ++i) {
    FillColumn(types[i], rows.rows, rows.columns[i], message->Mutable(static_cast<int>(i)));
  }
}

void FillColumns(const Chunk& chunk, bool take_strings, Columns* message) {
  const std::vector<ColumnSchema>& columns = chunk.schema().columns;
  Resize(columns.size(), message);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (take_strings && IsByteString(columns[i].type)) {
      MoveColumn(columns[i].type, chunk.TakeColumn(i), message->Mutable(static_cast<int>(i)));
      continue;
    }
    FillColumn(columns[i].type, chunk.rows(), chunk.column(i),
               message->Mutable(static_cast<int>(i)));
  }
}

uint64_t ChunkBytes(const Chunk& chunk) {
  const std::vector<ColumnSchema>& columns = chunk.schema().columns;
  uint64_t bytes = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnView view = chunk.column(i);
    if (view.validity != nullptr) bytes += BitmapBytes(chunk.rows());
    if (IsByteString(columns[i].type)) {
      bytes += (chunk.rows() + 1) * kOffsetBytes + view.offsets[chunk.rows()] - view.offsets[0];
    } else {
      bytes += chunk.rows() * ColumnValueBytes(columns[i].type);
    }
  }
  return bytes;
}

uint64_t ExpectedChunkBytes(const Schema& schema, uint64_t rows_max, uint64_t bytes_max) {
  constexpr uint64_t kStringBytes = 32;
  uint64_t row_bytes = 0;
  for (const ColumnSchema& column : schema.columns) {
    const uint64_t width = ColumnValueBytes(column.type);
    row_bytes += 1 + (width == 0 ? kOffsetBytes + kStringBytes : width);
  }
  if (rows_max == 0 || rows_max >= bytes_max / row_bytes) return bytes_max;
  return rows_max * row_bytes;
}

absl::Status TakeColumns(const ColumnTypes& types, uint64_t rows, Columns* message,
                         std::vector<ColumnBuffers>* columns) {
  if (rows == 0 && message->empty()) {
    columns->assign(types.size(), {});
    return absl::OkStatus();
  }
  if (static_cast<size_t>(message->size()) != types.size()) {
    return absl::InternalError(
        absl::StrCat("the server sent ", message->size(), " columns, expected ", types.size()));
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const v1::Column& column = message->Get(static_cast<int>(i));
    if (IsWhole(types[i], rows, column)) continue;
    return absl::InternalError(absl::StrCat("the server sent column ", i, " of type ",
                                            TypeText(column.type()), " with ", column.data().size(),
                                            " bytes for ", rows, " rows; expected ",
                                            TypeText(ToProto(types[i]))));
  }
  columns->resize(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    v1::Column& column = *message->Mutable(static_cast<int>(i));
    ColumnBuffers& to = (*columns)[i];
    to.values.swap(*column.mutable_data());
    to.validity.swap(*column.mutable_validity());
    to.offsets.swap(*column.mutable_offsets());
  }
  return absl::OkStatus();
}

}  // namespace eris::wire
