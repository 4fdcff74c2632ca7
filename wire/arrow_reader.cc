#include "wire/arrow_reader.h"

#include <arrow/ipc_generated.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "wire/arrow_values.h"
#include "wire/planted_fault.h"

namespace eris::wire {
namespace {

// Digits of a timestamp's fraction, as columns have it.
constexpr int32_t kMicrosecondScale = 6;

// A type that a column takes, as pyarrow makes it.
std::string WantedType(const ColumnSchema& column) {
  switch (column.type) {
    case ColumnType::kDate:
      return "date32()";
    case ColumnType::kTimestamp:
      return "timestamp('us')";
    case ColumnType::kDecimal:
      return absl::StrCat("decimal128(18, ", column.scale, ")");
    case ColumnType::kString:
      return "string()";
    case ColumnType::kBytes:
      return "binary()";
    default:
      return absl::StrCat(ColumnTypeName(column.type), "()");
  }
}

uint64_t BitsSet(absl::string_view bits, uint64_t rows) {
  uint64_t set = 0;
  for (uint64_t byte = 0; byte < rows / 8; ++byte) {
    set += static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(bits[byte])));
  }
  if (rows % 8 == 0) return set;
  const auto last = static_cast<uint8_t>(bits[rows / 8]);
  return set + static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(last << (8 - rows % 8))));
}

}  // namespace

std::optional<ArrowReader::Way> ArrowReader::WayFor(const ColumnSchema& column,
                                                    const ArrowField& field) {
  using Kind = ArrowField::Kind;
  const uint8_t bytes = field.value_bytes;
  const uint32_t wanted_bytes = ColumnValueBytes(column.type);
  switch (column.type) {
    case ColumnType::kInt32:
    case ColumnType::kInt64:
    case ColumnType::kUint64:
      if (field.kind != Kind::kInteger) break;
      if (bytes < wanted_bytes) return Way::kInteger;
      if (bytes == wanted_bytes && field.is_signed == (column.type != ColumnType::kUint64)) {
        return Way::kInPlace;
      }
      break;
    case ColumnType::kFloat64:
      if (field.kind == Kind::kFloat64) return Way::kInPlace;
      break;
    case ColumnType::kDate:
      if (field.kind == Kind::kDate32) return Way::kInPlace;
      break;
    case ColumnType::kTimestamp:
      if (field.kind != Kind::kTimestamp) break;
      return field.scale == kMicrosecondScale ? Way::kInPlace : Way::kTimestamp;
    case ColumnType::kDecimal:
      if (field.kind != Kind::kDecimal || field.scale != column.scale) break;
      return bytes == 4 ? Way::kDecimal32 : bytes == 8 ? Way::kDecimal64 : Way::kDecimal128;
    case ColumnType::kString:  // whether it is text, the engine looks
    case ColumnType::kBytes:
      if (field.kind != Kind::kBytes) break;
      return bytes == sizeof(uint32_t) ? Way::kOffsets32 : Way::kOffsets64;
    case ColumnType::kInt128:
      break;
  }
  return std::nullopt;
}

absl::Status ArrowReader::AddColumn(const ColumnSchema& column,
                                    absl::Span<const ArrowField> fields) {
  Column& added = columns_.emplace_back(Column{.schema = column});
  uint32_t buffer = 0;
  bool found = false;
  for (uint32_t i = 0; i < fields.size(); ++i) {
    const ArrowField& field = fields[i];
    if (field.name == column.name) {
      const std::optional<Way> way = WayFor(column, field);
      if (!way || found) {
        const std::string name = ShownArrowName(column.name);
        if (found) {
          return absl::InvalidArgumentError(absl::StrCat("column \"", name, "\" comes twice"));
        }
        return absl::InvalidArgumentError(absl::StrCat(
            "column \"", name, "\" comes as ", field.type, ", but is ", ColumnTypeName(column.type),
            " here: cast it, for example to pyarrow.", WantedType(column)));
      }
      found = true;
      added.way = *way;
      added.field = i;
      added.buffer = buffer;
      added.value_bytes = field.value_bytes;
      added.is_signed = field.is_signed;
      added.scale = field.scale;
    }
    buffer += field.kind == ArrowField::Kind::kBytes ? 3 : 2;
  }
  if (found || column.nullable) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("column \"", ShownArrowName(column.name), "\" is missing, and is not nullable"));
}

absl::StatusOr<ArrowReader> ArrowReader::Make(const Schema& schema,
                                              absl::Span<const uint32_t> columns,
                                              const ArrowHeader& header) {
  ERIS_ASSIGN_OR_RETURN(const std::vector<ArrowField> fields, header.Fields());
  ArrowReader reader;
  for (const uint32_t column : columns) {
    ERIS_RETURN_IF_ERROR(reader.AddColumn(schema.columns[column], fields));
  }
  for (const ArrowField& field : fields) {
    const bool known = std::any_of(columns.begin(), columns.end(), [&](uint32_t column) {
      return schema.columns[column].name == field.name;
    });
    if (!known) {
      return absl::InvalidArgumentError(absl::StrCat("column \"", ShownArrowName(field.name),
                                                     "\" is not among those that are taken here"));
    }
    reader.buffers_ += field.kind == ArrowField::Kind::kBytes ? 3 : 2;
  }
  reader.fields_ = static_cast<uint32_t>(fields.size());
  return reader;
}

// Reads one batch.
class ArrowReader::BatchReader {
 public:
  BatchReader(const ArrowReader& reader, const ipc::RecordBatch& batch, absl::string_view body)
      : reader_(reader), batch_(batch), body_(body) {}

  absl::StatusOr<ViewedColumns> Read(Charge charge) {
    ERIS_RETURN_IF_ERROR(CheckCounts());
    std::vector<Parts> parts(reader_.columns_.size());
    uint64_t copied_bytes = 0, used_bytes = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      column_ = &reader_.columns_[i];
      if (column_->way != Way::kMissing) ERIS_RETURN_IF_ERROR(FindParts(parts[i]));
      used_bytes += parts[i].validity.size() + parts[i].offsets.size() + parts[i].values.size();
      copied_bytes += CopyBytes(parts[i]);
    }
    // Else one body would be the rows of many columns, which nobody has paid for.
    if (used_bytes > body_.size()) return Damaged("has buffers that overlap");
    if (out_.rows == 0) copied_bytes = 0;
    ERIS_RETURN_IF_ERROR(charge(out_.rows, copied_bytes));
    if (out_.rows == 0) return std::move(out_);
    for (size_t i = 0; i < parts.size(); ++i) {
      column_ = &reader_.columns_[i];
      ERIS_RETURN_IF_ERROR(ReadColumn(parts[i], out_.views.emplace_back()));
    }
    return std::move(out_);
  }

 private:
  absl::Status CheckCounts() {
    if (batch_.compression() != nullptr) {
      return absl::InvalidArgumentError(
          "the batch is compressed: write it without compression (IpcWriteOptions)");
    }
    const auto* const nodes = batch_.nodes();
    const auto* const buffers = batch_.buffers();
    const uint64_t nodes_said = nodes == nullptr ? 0 : nodes->size();
    const uint64_t buffers_said = buffers == nullptr ? 0 : buffers->size();
    if (nodes_said != reader_.fields_ || buffers_said != reader_.buffers_) {
      return Damaged("has ", nodes_said, " columns and ", buffers_said, " buffers, must have ",
                     reader_.fields_, " and ", reader_.buffers_, " as its schema has");
    }
    // The verifier looks at the place of a list, not at that of its numbers.
    if (reinterpret_cast<uintptr_t>(nodes->Data()) % alignof(ipc::FieldNode) != 0 ||
        reinterpret_cast<uintptr_t>(buffers->Data()) % alignof(ipc::Buffer) != 0) {
      return Damaged("has lists at odd places");
    }
    // A row takes at least a byte of the body, since it has a column.
    if (batch_.length() < 0 || static_cast<uint64_t>(batch_.length()) > body_.size()) {
      return Damaged("has ", batch_.length(), " rows in ", body_.size(), " bytes");
    }
    out_.rows = static_cast<uint64_t>(batch_.length());
    return absl::OkStatus();
  }

  absl::Status FindBuffer(uint32_t number, absl::string_view& buffer) const {
    const ipc::Buffer& said = *batch_.buffers()->Get(number);
    const auto at = static_cast<uint64_t>(said.offset());
    const auto bytes = static_cast<uint64_t>(said.length());
    if (at > body_.size() || bytes > body_.size() - at) {
      return Damaged("has a buffer of ", said.length(), " bytes at ", said.offset(),
                     ", outside its body of ", body_.size(), " bytes");
    }
    buffer = absl::string_view(body_.data() + at, bytes);
    return absl::OkStatus();
  }

  // All parts are within the body, and long enough for the rows.
  absl::Status FindParts(Parts& parts) const {
    const uint64_t rows = out_.rows;
    const ipc::FieldNode& node = *batch_.nodes()->Get(column_->field);
    if (node.length() != batch_.length() || node.null_count() < 0 ||
        node.null_count() > batch_.length()) {
      return Refuse("has ", node.length(), " rows and ", node.null_count(), " nulls in a batch of ",
                    batch_.length(), " rows");
    }
    parts.nulls = static_cast<uint64_t>(node.null_count());
    uint32_t number = column_->buffer;
    ERIS_RETURN_IF_ERROR(FindBuffer(number++, parts.validity));
    const uint64_t bits = (rows + 7) / 8;
    if (parts.validity.size() < bits && (parts.nulls > 0 || !parts.validity.empty())) {
      return Refuse("has ", parts.validity.size(), " bytes for the nulls of ", rows, " rows");
    }
    uint64_t width = column_->value_bytes;
    if (IsBytes()) {
      ERIS_RETURN_IF_ERROR(FindBuffer(number++, parts.offsets));
      ERIS_RETURN_IF_ERROR(FindBuffer(number, parts.values));
      if (rows > 0 && parts.offsets.size() / width < rows + 1) {
        return Refuse("has ", parts.offsets.size(), " bytes of offsets for ", rows, " rows");
      }
      return absl::OkStatus();
    }
    ERIS_RETURN_IF_ERROR(FindBuffer(number, parts.values));
    if (parts.values.size() / width >= rows) return absl::OkStatus();
    return Refuse("has ", parts.values.size(), " bytes for ", rows, " rows");
  }

  // What ReadColumn will copy.
  uint64_t CopyBytes(const Parts& parts) const {
    const uint64_t rows = out_.rows;
    const uint64_t width = ColumnValueBytes(column_->schema.type);
    switch (column_->way) {
      case Way::kInPlace:
      case Way::kDecimal64:
        return IsAligned(parts.values, width) ? 0 : rows * width;
      case Way::kOffsets32:
        return IsAligned(parts.offsets, sizeof(uint32_t)) ? 0 : OffsetBytes();
      case Way::kOffsets64:
        return OffsetBytes();
      case Way::kMissing:
        return (rows + 7) / 8 + (width == 0 ? OffsetBytes() : rows * width);
      default:
        return rows * width;
    }
  }

  absl::Status ReadColumn(const Parts& parts, ColumnView& view) {
    if (column_->way == Way::kMissing) return FillNulls(view);
    ERIS_RETURN_IF_ERROR(ReadValidity(parts, view));
    const uint64_t width = ColumnValueBytes(column_->schema.type);
    if (IsBytes()) return ReadBytes(parts, view);
    const char* const from = parts.values.data();
    const bool in_place = column_->way == Way::kInPlace || column_->way == Way::kDecimal64;
    if (in_place && IsAligned(parts.values, width)) {
      view.values = from;
      return CheckValues(parts, view, nullptr);
    }
    char* to = nullptr;
    ERIS_RETURN_IF_ERROR(Copy(out_.rows * width, to));
    if (in_place) std::memcpy(to, from, out_.rows * width);
    view.values = to;
    return CheckValues(parts, view, to);
  }

  absl::Status ReadValidity(const Parts& parts, ColumnView& view) const {
    if (parts.validity.empty()) return absl::OkStatus();
    const uint64_t nulls = out_.rows - BitsSet(parts.validity, out_.rows);
    if (nulls != parts.nulls) {
      return Refuse("is said to have ", parts.nulls, " nulls, but has ", nulls);
    }
    if (nulls == 0) return absl::OkStatus();
    view.validity = reinterpret_cast<const uint8_t*>(parts.validity.data());
    if (column_->schema.nullable) return absl::OkStatus();
    uint64_t row = 0;
    while (!IsNullAt(view.validity, row)) ++row;
    return Refuse("row ", row, " is null, which the column cannot be");
  }

  // Converts the values to `to`, unless they are there.
  absl::Status CheckValues(const Parts& parts, const ColumnView& view, char* to) const {
    const char* const from = parts.values.data();
    uint64_t wrong = out_.rows;
    switch (column_->way) {
      case Way::kInteger:
        wrong = Widen(from, view.validity, to);
        break;
      case Way::kDecimal32:
        WidenIntegers<int32_t>(from, out_.rows, view.validity, reinterpret_cast<int64_t*>(to));
        break;
      case Way::kDecimal64:
        wrong = CheckDecimals(from, out_.rows, view.validity);
        break;
      case Way::kDecimal128:
        wrong = NarrowDecimals(from, out_.rows, view.validity, reinterpret_cast<int64_t*>(to));
        break;
      case Way::kTimestamp:
        wrong = ToMicroseconds(from, out_.rows, view.validity, column_->scale,
                               reinterpret_cast<int64_t*>(to));
        break;
      default:
        break;
    }
    if (wrong == out_.rows) return absl::OkStatus();
    if (column_->way == Way::kInteger) return Refuse("row ", wrong, " is negative");
    if (column_->way == Way::kTimestamp) {
      return Refuse("row ", wrong, " is ", LoadAt<int64_t>(from, wrong), " ",
                    column_->scale == 0 ? "seconds, which do not fit in 64 bits as microseconds"
                    : column_->scale == 3
                        ? "milliseconds, which do not fit in 64 bits as microseconds"
                        : "nanoseconds, which are no whole microseconds: round them "
                          "first");
    }
    return Refuse("row ", wrong, " has more than 18 digits");
  }

  uint64_t Widen(const char* from, const uint8_t* validity, char* to) const {
    return VisitColumnType(column_->schema.type, [&]<class To>(ColumnTraits<To>) -> uint64_t {
      if constexpr (std::is_integral_v<To>) {
        auto* const values = reinterpret_cast<To*>(to);
        const bool is_signed = column_->is_signed;
        switch (column_->value_bytes) {
          case 1:
            return is_signed ? WidenIntegers<int8_t>(from, out_.rows, validity, values)
                             : WidenIntegers<uint8_t>(from, out_.rows, validity, values);
          case 2:
            return is_signed ? WidenIntegers<int16_t>(from, out_.rows, validity, values)
                             : WidenIntegers<uint16_t>(from, out_.rows, validity, values);
          default:
            return is_signed ? WidenIntegers<int32_t>(from, out_.rows, validity, values)
                             : WidenIntegers<uint32_t>(from, out_.rows, validity, values);
        }
      } else {
        return out_.rows;
      }
    });
  }

  absl::Status ReadBytes(const Parts& parts, ColumnView& view) {
    const char* const from = parts.offsets.data();
    const bool in_place =
        column_->way == Way::kOffsets32 && IsAligned(parts.offsets, sizeof(uint32_t));
    char* copy = nullptr;
    if (!in_place) ERIS_RETURN_IF_ERROR(Copy(OffsetBytes(), copy));
    auto* const to = reinterpret_cast<uint32_t*>(copy);
    const uint64_t bytes = parts.values.size();
    const bool ascend = column_->way == Way::kOffsets32
                            ? CheckOffsets<uint32_t>(from, out_.rows, bytes, to)
                            : CheckOffsets<uint64_t>(from, out_.rows, bytes, to);
    if (!ascend && !IsPlanted(WireFault::kBelieveOffsets)) {
      return Refuse("has offsets that do not ascend to its ", bytes, " bytes at most");
    }
    view.offsets = in_place ? reinterpret_cast<const uint32_t*>(from) : to;
    view.values = parts.values.data();
    return absl::OkStatus();
  }

  absl::Status FillNulls(ColumnView& view) {
    const uint64_t width = ColumnValueBytes(column_->schema.type);
    char* zeros = nullptr;
    ERIS_RETURN_IF_ERROR(Copy((out_.rows + 7) / 8, zeros));
    view.validity = reinterpret_cast<const uint8_t*>(zeros);
    ERIS_RETURN_IF_ERROR(Copy(width == 0 ? OffsetBytes() : out_.rows * width, zeros));
    view.values = zeros;
    if (width == 0) view.offsets = reinterpret_cast<const uint32_t*>(zeros);
    return absl::OkStatus();
  }

  // Memory that is 0.
  absl::Status Copy(uint64_t bytes, char*& to) {
    std::unique_ptr<char[]> copy(new (std::nothrow) char[bytes]());
    if (copy == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("column \"", Name(), "\": no memory for a copy of ", bytes, " bytes"));
    }
    to = out_.copies.emplace_back(std::move(copy)).get();
    return absl::OkStatus();
  }

  bool IsBytes() const {
    return column_->way == Way::kOffsets32 || column_->way == Way::kOffsets64;
  }
  uint64_t OffsetBytes() const { return (out_.rows + 1) * sizeof(uint32_t); }
  static bool IsAligned(absl::string_view bytes, uint64_t width) {
    return reinterpret_cast<uintptr_t>(bytes.data()) % width == 0;
  }
  std::string Name() const { return ShownArrowName(column_->schema.name); }
  template <class... Text>
  absl::Status Refuse(const Text&... text) const {
    return absl::InvalidArgumentError(absl::StrCat("column \"", Name(), "\": ", text...));
  }
  template <class... Text>
  static absl::Status Damaged(const Text&... text) {
    return absl::InvalidArgumentError(absl::StrCat("the batch is damaged: it ", text...));
  }

  const ArrowReader& reader_;
  const ipc::RecordBatch& batch_;
  const absl::string_view body_;
  const Column* column_ = nullptr;  // the one that is read
  ViewedColumns out_;
};

absl::StatusOr<ViewedColumns> ArrowReader::Read(const ArrowHeader& header, absl::string_view body,
                                                Charge charge) const {
  if (header.kind() == ArrowHeader::Kind::kSchema) {
    return absl::InvalidArgumentError("a second schema: a stream has one");
  }
  if (header.kind() == ArrowHeader::Kind::kDictionaryBatch) {
    return absl::InvalidArgumentError(
        "a batch of a dictionary: cast columns of dictionaries to the type of their values");
  }
  if (header.body_bytes() < 0 || static_cast<uint64_t>(header.body_bytes()) > body.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the batch is damaged: its body has ",
                                                   body.size(), " bytes, its header says ",
                                                   header.body_bytes()));
  }
  return BatchReader(*this, header.batch(), body).Read(charge);
}

}  // namespace eris::wire
