#include "server/tables/table_rows.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "wire/tables.h"

namespace eris::server {
namespace {

static_assert(std::endian::native == std::endian::little);

// What messages show of a client's names.
constexpr size_t kShownBytesMax = 64;

// Where the bytes can be read as values of `width` bytes: where they lie, or in a copy.
const void* Aligned(const std::string& bytes, size_t width, DecodedRows& rows) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % width == 0) return bytes.data();
  auto copy = std::make_unique<char[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return rows.copies.emplace_back(std::move(copy)).get();
}

class ColumnReader {
 public:
  ColumnReader(absl::string_view name, const ColumnSchema& schema, DecodedRows& rows)
      : name_(absl::StrCat(name, ".", schema.name.substr(0, kShownBytesMax))),
        schema_(schema),
        rows_(rows) {}

  absl::Status Read(const v1::Column& column, ColumnView& view) {
    if (column.type() != wire::ToProto(schema_.type)) {
      return Refuse("type is ", static_cast<int>(column.type()), ", must be ",
                    v1::ColumnType_Name(wire::ToProto(schema_.type)), " (",
                    static_cast<int>(wire::ToProto(schema_.type)), ")");
    }
    const size_t bitmap_bytes = (rows_.rows + 7) / 8;
    if (!column.validity().empty()) {
      if (column.validity().size() != bitmap_bytes) {
        return Refuse("validity of ", column.validity().size(), " bytes, must be empty or ",
                      bitmap_bytes, " for ", rows_.rows, " rows");
      }
      view.validity = reinterpret_cast<const uint8_t*>(column.validity().data());
    }
    if (schema_.type == ColumnType::kString) return ReadStrings(column, view);
    const size_t width = ColumnValueBytes(schema_.type);
    if (column.data().size() != rows_.rows * width) {
      return Refuse("data of ", column.data().size(), " bytes, must be ", rows_.rows * width,
                    " for ", rows_.rows, " rows");
    }
    if (!column.offsets().empty()) {
      return Refuse("offsets of ", column.offsets().size(), " bytes, must be empty");
    }
    view.values = Aligned(column.data(), width, rows_);
    return absl::OkStatus();
  }

 private:
  absl::Status ReadStrings(const v1::Column& column, ColumnView& view) {
    constexpr size_t kWidth = sizeof(uint32_t);
    if (column.offsets().size() != (rows_.rows + 1) * kWidth) {
      return Refuse("offsets of ", column.offsets().size(), " bytes, must be ",
                    (rows_.rows + 1) * kWidth, " for ", rows_.rows, " rows");
    }
    const auto* const offsets =
        static_cast<const uint32_t*>(Aligned(column.offsets(), kWidth, rows_));
    if (offsets[0] != 0) return Refuse("offset 0 is ", offsets[0], ", must be 0");
    // First all of them without a branch.
    uint32_t descents = 0;
    for (uint64_t i = 0; i < rows_.rows; ++i) descents |= offsets[i] > offsets[i + 1] ? 1u : 0u;
    for (uint64_t i = 0; i < rows_.rows && descents != 0; ++i) {
      if (offsets[i] > offsets[i + 1]) {
        return Refuse("offset ", i + 1, " is ", offsets[i + 1], ", less than the one before, ",
                      offsets[i]);
      }
    }
    if (offsets[rows_.rows] != column.data().size()) {
      return Refuse("the last offset is ", offsets[rows_.rows], ", there are ",
                    column.data().size(), " bytes: must be equal");
    }
    view.values = column.data().data();
    view.offsets = offsets;
    return absl::OkStatus();
  }

  template <class... Text>
  absl::Status Refuse(const Text&... text) const {
    return absl::InvalidArgumentError(absl::StrCat("column ", name_, ": ", text...));
  }

  const std::string name_;
  const ColumnSchema& schema_;
  DecodedRows& rows_;
};

// The bits of `rows` rows; none where all are set.
void FillValidity(const uint8_t* validity, uint64_t rows, v1::Column* column) {
  if (validity == nullptr) return column->clear_validity();
  column->set_validity(validity, (rows + 7) / 8);
}

}  // namespace

absl::StatusOr<DecodedRows> DecodeRows(absl::string_view name, const Schema& schema,
                                       absl::Span<const uint32_t> columns,
                                       const v1::Rows& message) {
  const auto refuse = [&](const auto&... text) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", text...));
  };
  if (message.rows() == 0 || message.rows() > kTableBatchRowsMax) {
    return refuse(message.rows(), " rows, must be 1 to ", kTableBatchRowsMax);
  }
  if (static_cast<size_t>(message.columns_size()) != columns.size()) {
    return refuse(message.columns_size(), " columns, must be ", columns.size());
  }
  uint64_t bytes = 0;
  for (const v1::Column& column : message.columns()) {
    bytes += column.data().size() + column.offsets().size() + column.validity().size();
  }
  if (bytes > kTableBatchBytesMax) {
    return refuse(bytes, " bytes, must be at most ", kTableBatchBytesMax);
  }
  DecodedRows rows;
  rows.rows = message.rows();
  rows.views.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    ERIS_RETURN_IF_ERROR(ColumnReader(name, schema.columns[columns[i]], rows)
                             .Read(message.columns(static_cast<int>(i)), rows.views[i]));
  }
  return rows;
}

uint64_t ColumnsBytes(absl::Span<const ColumnBuffers> columns) {
  uint64_t bytes = 0;
  for (const ColumnBuffers& column : columns) {
    bytes += column.values.size() + column.validity.size() + column.offsets.size();
  }
  return bytes;
}

void FillRows(uint64_t rows, absl::Span<const ColumnType> types, std::vector<ColumnBuffers> columns,
              v1::Rows* message) {
  ERIS_CHECK(types.size() == columns.size());
  message->set_rows(rows);
  for (size_t i = 0; i < columns.size(); ++i) {
    v1::Column* column = message->add_columns();
    column->set_type(wire::ToProto(types[i]));
    column->set_data(std::move(columns[i].values));
    column->set_validity(std::move(columns[i].validity));
    column->set_offsets(std::move(columns[i].offsets));
  }
}

void FillRows(const Chunk& chunk, v1::Rows* message) {
  const uint64_t rows = chunk.rows();
  const std::vector<ColumnSchema>& columns = chunk.schema().columns;
  message->set_rows(rows);
  while (static_cast<size_t>(message->columns_size()) < columns.size()) message->add_columns();
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnView view = chunk.column(i);
    v1::Column* column = message->mutable_columns(static_cast<int>(i));
    column->set_type(wire::ToProto(columns[i].type));
    FillValidity(view.validity, rows, column);
    if (columns[i].type != ColumnType::kString) {
      column->set_data(view.values, rows * ColumnValueBytes(columns[i].type));
      continue;
    }
    const uint32_t first = view.offsets[0];
    column->set_data(static_cast<const char*>(view.values) + first, view.offsets[rows] - first);
    column->set_offsets(view.offsets, (rows + 1) * sizeof(uint32_t));
    if (first == 0) continue;
    // A piece of a longer column: on the wire offsets begin at 0.
    std::string& offsets = *column->mutable_offsets();
    for (uint64_t row = 0; row <= rows; ++row) {
      const uint32_t offset = view.offsets[row] - first;
      std::memcpy(offsets.data() + row * sizeof(offset), &offset, sizeof(offset));
    }
  }
}

uint64_t ExpectedChunkBytes(const Schema& schema, uint64_t rows_max, uint64_t bytes_max) {
  constexpr uint64_t kStringBytes = 32;
  uint64_t row_bytes = 0;
  for (const ColumnSchema& column : schema.columns) {
    const uint64_t width = ColumnValueBytes(column.type);
    row_bytes += 1 + (width == 0 ? sizeof(uint32_t) + kStringBytes : width);
  }
  if (rows_max == 0 || rows_max >= bytes_max / row_bytes) return bytes_max;
  return rows_max * row_bytes;
}

uint64_t ChunkBytes(const Chunk& chunk) {
  const std::vector<ColumnSchema>& columns = chunk.schema().columns;
  uint64_t bytes = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnView view = chunk.column(i);
    if (view.validity != nullptr) bytes += (chunk.rows() + 7) / 8;
    if (columns[i].type == ColumnType::kString) {
      bytes += (chunk.rows() + 1) * sizeof(uint32_t) + view.offsets[chunk.rows()] - view.offsets[0];
    } else {
      bytes += chunk.rows() * ColumnValueBytes(columns[i].type);
    }
  }
  return bytes;
}

}  // namespace eris::server
