#include "wire/arrow_header.h"

#include <arrow/ipc_generated.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/schema.h"

namespace eris::wire {
namespace {

// Tables of the largest header: each column has its own, its type's, and that of a dictionary.
constexpr uint32_t kTablesMax = 4 * kTableColumnsMax;
constexpr uint32_t kDepthMax = 16;

// The names of types by their places in the union. Those of the types that are read say more.
constexpr const char* kTypeNames[] = {"without a type",
                                      "null",
                                      "int",
                                      "float",
                                      "binary",
                                      "string",
                                      "bool",
                                      "decimal",
                                      "date",
                                      "time",
                                      "timestamp",
                                      "interval",
                                      "list",
                                      "struct",
                                      "union",
                                      "fixed_size_binary",
                                      "fixed_size_list",
                                      "map",
                                      "duration",
                                      "large_binary",
                                      "large_string",
                                      "large_list",
                                      "run_end_encoded",
                                      "binary_view",
                                      "string_view",
                                      "list_view",
                                      "large_list_view"};

absl::Status NoMessage(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("the message's header is ", what));
}

const char* TypeName(ipc::Type type) {
  const auto place = static_cast<size_t>(type);
  return place < std::size(kTypeNames) ? kTypeNames[place] : "of an unknown type";
}

void ReadInt(const ipc::Int& type, ArrowField& field) {
  field.is_signed = type.is_signed();
  field.type = absl::StrCat(field.is_signed ? "int" : "uint", type.bit_width());
  const int32_t bits = type.bit_width();
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) return;
  field.kind = ArrowField::Kind::kInteger;
  field.value_bytes = static_cast<uint8_t>(bits / 8);
}

void ReadFloat(const ipc::FloatingPoint& type, ArrowField& field) {
  switch (type.precision()) {
    case ipc::Precision_HALF:
      field.type = "halffloat";
      return;
    case ipc::Precision_SINGLE:
      field.type = "float";
      return;
    case ipc::Precision_DOUBLE:
      field.type = "double";
      field.kind = ArrowField::Kind::kFloat64;
      field.value_bytes = sizeof(double);
      return;
  }
}

void ReadDate(const ipc::Date& type, ArrowField& field) {
  const bool days = type.unit() == ipc::DateUnit_DAY;
  field.type = days ? "date32" : "date64";
  if (!days) return;
  field.kind = ArrowField::Kind::kDate32;
  field.value_bytes = sizeof(int32_t);
}

void ReadTimestamp(const ipc::Timestamp& type, ArrowField& field) {
  constexpr const char* kUnits[] = {"s", "ms", "us", "ns"};
  const auto unit = static_cast<size_t>(type.unit());
  if (unit >= std::size(kUnits)) return;
  field.kind = ArrowField::Kind::kTimestamp;
  field.value_bytes = sizeof(int64_t);
  field.scale = static_cast<int32_t>(3 * unit);
  field.type = absl::StrCat("timestamp[", kUnits[unit], "]");
}

void ReadDecimal(const ipc::Decimal& type, ArrowField& field) {
  field.type =
      absl::StrCat("decimal", type.bit_width(), "(", type.precision(), ", ", type.scale(), ")");
  const int32_t bits = type.bit_width();
  if (bits != 32 && bits != 64 && bits != 128) return;
  field.kind = ArrowField::Kind::kDecimal;
  field.value_bytes = static_cast<uint8_t>(bits / 8);
  field.scale = type.scale();
}

void ReadBytes(bool is_text, uint8_t offset_bytes, ArrowField& field) {
  field.kind = ArrowField::Kind::kBytes;
  field.is_text = is_text;
  field.value_bytes = offset_bytes;
}

// Leaves kOther where columns of objects have nothing like it.
void ReadType(const ipc::Field& from, ArrowField& field) {
  field.type = TypeName(from.type_type());
  if (from.dictionary() != nullptr) {
    field.type = absl::StrCat("dictionary of ", field.type);
    return;
  }
  if (from.children() != nullptr && from.children()->size() > 0) return;  // nested
  if (const auto* const integer = from.type_as_Int()) {
    ReadInt(*integer, field);
  } else if (const auto* const number = from.type_as_FloatingPoint()) {
    ReadFloat(*number, field);
  } else if (const auto* const date = from.type_as_Date()) {
    ReadDate(*date, field);
  } else if (const auto* const timestamp = from.type_as_Timestamp()) {
    ReadTimestamp(*timestamp, field);
  } else if (const auto* const decimal = from.type_as_Decimal()) {
    ReadDecimal(*decimal, field);
  } else if (from.type_as_Binary() != nullptr || from.type_as_Utf8() != nullptr) {
    ReadBytes(from.type_as_Utf8() != nullptr, sizeof(uint32_t), field);
  } else if (from.type_as_LargeBinary() != nullptr || from.type_as_LargeUtf8() != nullptr) {
    ReadBytes(from.type_as_LargeUtf8() != nullptr, sizeof(uint64_t), field);
  }
}

absl::StatusOr<ArrowHeader::Kind> KindOf(const ipc::Message& message) {
  if (message.version() < ipc::MetadataVersion_V4) {
    return NoMessage("of a version of Arrow before V4");
  }
  if (message.header_as_Schema() != nullptr) return ArrowHeader::Kind::kSchema;
  if (message.header_as_RecordBatch() != nullptr) return ArrowHeader::Kind::kRecordBatch;
  if (message.header_as_DictionaryBatch() != nullptr) return ArrowHeader::Kind::kDictionaryBatch;
  return NoMessage("neither a schema nor a batch of rows");
}

}  // namespace

std::string ShownArrowName(absl::string_view name) {
  constexpr size_t kShownBytesMax = 64;
  return absl::CEscape(name.substr(0, kShownBytesMax));
}

absl::StatusOr<ArrowHeader> ArrowHeader::From(absl::string_view bytes) {
  if (bytes.size() > kArrowHeaderBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("the message's header has ", bytes.size(),
                                                   " bytes, must have at most ",
                                                   kArrowHeaderBytesMax));
  }
  ArrowHeader header;
  header.copy_.reset(new (std::nothrow) uint64_t[bytes.size() / sizeof(uint64_t) + 1]);
  if (header.copy_ == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a header of ", bytes.size(), " bytes"));
  }
  std::memcpy(header.copy_.get(), bytes.data(), bytes.size());
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(header.copy_.get()), bytes.size(),
                                 kDepthMax, kTablesMax);
  if (!ipc::VerifyMessageBuffer(verifier)) {
    return NoMessage("damaged, or none of Arrow's IPC format");
  }
  ERIS_ASSIGN_OR_RETURN(header.kind_, KindOf(header.message()));
  return header;
}

const ipc::Message& ArrowHeader::message() const { return *ipc::GetMessage(copy_.get()); }
const ipc::RecordBatch& ArrowHeader::batch() const { return *message().header_as_RecordBatch(); }
int64_t ArrowHeader::body_bytes() const { return message().body_length(); }

absl::StatusOr<std::vector<ArrowField>> ArrowHeader::Fields() const {
  const ipc::Schema& schema = *message().header_as_Schema();
  if (schema.endianness() != 0) return NoMessage("a schema of big-endian numbers");
  const auto* const from = schema.fields();
  if (from == nullptr || from->size() == 0) return NoMessage("a schema without columns");
  if (from->size() > kTableColumnsMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a schema of ", from->size(), " columns, must have at most ", kTableColumnsMax));
  }
  std::vector<ArrowField> fields;
  fields.reserve(from->size());
  for (const ipc::Field* one : *from) {
    ArrowField& field = fields.emplace_back();
    if (one->name() == nullptr) return NoMessage("a schema with a column that has no name");
    // Fields may share a name of any length.
    if (one->name()->size() > kColumnNameBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat("a column's name has ", one->name()->size(),
                                                     " bytes, must have at most ",
                                                     kColumnNameBytesMax));
    }
    field.name = one->name()->str();
    ReadType(*one, field);
  }
  return fields;
}

}  // namespace eris::wire
