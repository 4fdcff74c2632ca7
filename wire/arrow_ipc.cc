#include "wire/arrow_ipc.h"

#include <arrow/ipc_generated.h>

#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace eris::wire {

static_assert(std::endian::native == std::endian::little);

namespace {

using Builder = flatbuffers::FlatBufferBuilder;
using TypeOffset = std::pair<ipc::Type, flatbuffers::Offset<void>>;

constexpr int kDecimalDigits = 18;
constexpr int kSumDigits = 38;
constexpr size_t kBuilderBytes = 1024;

TypeOffset AddInt(Builder& builder, int bits, bool is_signed) {
  return {ipc::Type_Int, ipc::CreateInt(builder, bits, is_signed).Union()};
}

TypeOffset AddType(Builder& builder, const ColumnSchema& column) {
  switch (column.type) {
    case ColumnType::kInt32:
      return AddInt(builder, 32, true);
    case ColumnType::kInt64:
      return AddInt(builder, 64, true);
    case ColumnType::kUint64:
      return AddInt(builder, 64, false);
    case ColumnType::kFloat64:
      return {ipc::Type_FloatingPoint,
              ipc::CreateFloatingPoint(builder, ipc::Precision_DOUBLE).Union()};
    case ColumnType::kDate:
      return {ipc::Type_Date, ipc::CreateDate(builder, ipc::DateUnit_DAY).Union()};
    case ColumnType::kTimestamp:
      return {ipc::Type_Timestamp,
              ipc::CreateTimestamp(builder, ipc::TimeUnit_MICROSECOND).Union()};
    case ColumnType::kDecimal:
      return {ipc::Type_Decimal,
              ipc::CreateDecimal(builder, kDecimalDigits, column.scale, 64).Union()};
    case ColumnType::kInt128:
      return {ipc::Type_Decimal,
              ipc::CreateDecimal(builder, kSumDigits, column.scale, 128).Union()};
    case ColumnType::kString:
      return {ipc::Type_Utf8, ipc::CreateUtf8(builder).Union()};
    case ColumnType::kBytes:
      break;
  }
  return {ipc::Type_Binary, ipc::CreateBinary(builder).Union()};
}

std::string Finish(Builder& builder, ipc::MessageHeader kind, flatbuffers::Offset<void> header,
                   uint64_t body_bytes) {
  builder.Finish(ipc::CreateMessage(builder, ipc::MetadataVersion_V5, kind, header,
                                    static_cast<int64_t>(body_bytes)));
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

uint64_t NullsOf(const uint8_t* validity, uint64_t rows) {
  if (validity == nullptr) return 0;
  uint64_t valid = 0;
  uint64_t row = 0;
  for (; row + 64 <= rows; row += 64) {
    uint64_t word;
    std::memcpy(&word, validity + row / 8, sizeof(word));
    valid += static_cast<uint64_t>(std::popcount(word));
  }
  for (; row < rows; ++row) valid += validity[row >> 3] >> (row & 7) & 1;
  return rows - valid;
}

uint64_t Aligned(uint64_t bytes) {
  return (bytes + ArrowBatch::kArrowAlignment - 1) / ArrowBatch::kArrowAlignment *
         ArrowBatch::kArrowAlignment;
}

// Offsets of a piece of a longer column begin above 0.
void CopyOffsets(const uint32_t* from, uint64_t count, char* to) {
  const uint32_t first = from[0];
  if (first == 0) {
    std::memcpy(to, from, count * sizeof(uint32_t));
    return;
  }
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t offset = from[i] - first;
    std::memcpy(to + i * sizeof(offset), &offset, sizeof(offset));
  }
}

}  // namespace

std::string ArrowSchema(const Schema& schema) { return ArrowSchema("", schema); }

std::string ArrowSchema(absl::string_view found, const Schema& schema) {
  Builder builder(kBuilderBytes);
  std::vector<flatbuffers::Offset<ipc::Field>> fields;
  if (!found.empty()) {
    const auto name = builder.CreateString(found.data(), found.size());
    const auto type = ipc::CreateBool(builder).Union();
    const auto children = builder.CreateVector<flatbuffers::Offset<ipc::Field>>({});
    fields.push_back(
        ipc::CreateField(builder, name, /*nullable=*/false, ipc::Type_Bool, type, 0, children));
  }
  for (const ColumnSchema& column : schema.columns) {
    const auto name = builder.CreateString(column.name);
    const auto [kind, type] = AddType(builder, column);
    // Readers ask for the list of children, even though it is empty.
    const auto children = builder.CreateVector<flatbuffers::Offset<ipc::Field>>({});
    fields.push_back(
        ipc::CreateField(builder, name, column.nullable, kind, type, /*dictionary=*/0, children));
  }
  const auto header = ipc::CreateSchema(builder, /*endianness=*/0, builder.CreateVector(fields));
  return Finish(builder, ipc::MessageHeader_Schema, header.Union(), 0);
}

std::string FramedArrow(absl::string_view message) {
  constexpr uint32_t kMark = 0xffffffff;
  constexpr size_t kMultiple = 8;
  const size_t padded = (message.size() + kMultiple - 1) / kMultiple * kMultiple;
  const uint32_t head[] = {kMark, static_cast<uint32_t>(padded)};
  std::string framed(reinterpret_cast<const char*>(head), sizeof(head));
  framed.append(message.data(), message.size());
  framed.resize(sizeof(head) + padded, '\0');
  return framed;
}

ArrowBatch::ArrowBatch(const Schema& schema, const RowBatch& rows) { Build(nullptr, schema, rows); }

ArrowBatch::ArrowBatch(const uint8_t* found, const Schema& schema, const RowBatch& rows) {
  Build(found, schema, rows);
}

ArrowBatch::ArrowBatch(const Chunk& chunk) {
  std::vector<ColumnView> views;
  for (size_t i = 0; i < chunk.schema().columns.size(); ++i) views.push_back(chunk.column(i));
  Build(nullptr, chunk.schema(), {chunk.rows(), views});
}

void ArrowBatch::Build(const uint8_t* found, const Schema& schema, const RowBatch& rows) {
  ERIS_CHECK(schema.columns.size() == rows.columns.size());
  std::vector<ipc::FieldNode> nodes;
  if (found != nullptr) {
    nodes.emplace_back(static_cast<int64_t>(rows.rows), 0);
    AddPart(nullptr, 0);
    AddPart(found, (rows.rows + 7) / 8);
  }
  for (size_t i = 0; i < rows.columns.size(); ++i) {
    const ColumnView& view = rows.columns[i];
    const uint64_t nulls = NullsOf(view.validity, rows.rows);
    nodes.emplace_back(static_cast<int64_t>(rows.rows), static_cast<int64_t>(nulls));
    AddPart(view.validity, nulls == 0 ? 0 : (rows.rows + 7) / 8);
    if (!IsByteString(schema.columns[i].type)) {
      AddPart(view.values, rows.rows * ColumnValueBytes(schema.columns[i].type));
    } else if (view.offsets == nullptr) {  // no row
      AddPart(nullptr, 0);
      AddPart(nullptr, 0);
    } else {
      const uint32_t first = view.offsets[0];
      AddPart(view.offsets, (rows.rows + 1) * sizeof(uint32_t), /*offsets=*/true);
      AddPart(static_cast<const char*>(view.values) + first, view.offsets[rows.rows] - first);
    }
  }
  std::vector<ipc::Buffer> buffers;
  for (const Part& part : parts_) {
    buffers.emplace_back(static_cast<int64_t>(part.at), static_cast<int64_t>(part.bytes));
  }
  Builder builder(kBuilderBytes);
  const auto batch = ipc::CreateRecordBatch(builder, static_cast<int64_t>(rows.rows),
                                            builder.CreateVectorOfStructs(nodes),
                                            builder.CreateVectorOfStructs(buffers));
  header_ = Finish(builder, ipc::MessageHeader_RecordBatch, batch.Union(), body_bytes_);
}

void ArrowBatch::AddPart(const void* data, uint64_t bytes, bool offsets) {
  parts_.push_back({.data = data, .bytes = bytes, .at = body_bytes_, .offsets = offsets});
  body_bytes_ += Aligned(bytes);
}

void ArrowBatch::CopyBody(char* to) const {
  for (const Part& part : parts_) {
    if (part.bytes == 0) continue;
    if (part.offsets) {
      CopyOffsets(static_cast<const uint32_t*>(part.data), part.bytes / sizeof(uint32_t),
                  to + part.at);
    } else {
      std::memcpy(to + part.at, part.data, part.bytes);
    }
    std::memset(to + part.at + part.bytes, 0, Aligned(part.bytes) - part.bytes);
  }
}

}  // namespace eris::wire
