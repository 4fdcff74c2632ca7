#include "tests/fuzz/flight_machine.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "arrow/flight.pb.h"
#include "eris/schema.h"
#include "tests/support/arrow_messages.h"
#include "wire/arrow_header.h"
#include "wire/arrow_reader.h"
#include "wire/arrow_values.h"

namespace eris::fuzz {
namespace {

using ::eris::test::ArrowColumn;
using FlightData = ::arrow::flight::protocol::FlightData;

// More than any message of the fuzzer can need.
constexpr uint64_t kCopiesBytesMax = 64 << 20;

const std::vector<Schema>& Schemas() {
  static const auto* const schemas = new std::vector<Schema>{
      {.columns = {{.name = "key", .type = ColumnType::kUint64},
                   {.name = "value", .type = ColumnType::kUint64}},
       .key = {0}},
      {.columns = {{.name = "key", .type = ColumnType::kInt64},
                   {.name = "value", .type = ColumnType::kString}},
       .key = {0}},
      {.columns = {{.name = "i", .type = ColumnType::kInt32, .nullable = true},
                   {.name = "l", .type = ColumnType::kInt64},
                   {.name = "u", .type = ColumnType::kUint64, .nullable = true},
                   {.name = "g", .type = ColumnType::kFloat64, .nullable = true},
                   {.name = "d", .type = ColumnType::kDate},
                   {.name = "p", .type = ColumnType::kDecimal, .scale = 2, .nullable = true},
                   {.name = "s", .type = ColumnType::kString, .nullable = true},
                   {.name = "t", .type = ColumnType::kString},
                   {.name = "at", .type = ColumnType::kTimestamp, .nullable = true}}}};
  return *schemas;
}

std::vector<uint32_t> AllOf(const Schema& schema) {
  std::vector<uint32_t> columns(schema.columns.size());
  for (uint32_t i = 0; i < columns.size(); ++i) columns[i] = i;
  return columns;
}

// Reads every byte that the engine may read.
class Checker {
 public:
  Checker(const std::string& body, const wire::ViewedColumns& rows) : body_(body), rows_(rows) {}

  absl::Status Check(const ColumnSchema& column, const ColumnView& view) {
    for (uint64_t row = 0; row < rows_.rows; ++row) {
      const bool null = wire::IsNullAt(view.validity, row);
      if (null && !column.nullable) return absl::InternalError("a null where none may be");
      if (column.type == ColumnType::kDecimal && !null &&
          !wire::IsDecimal(static_cast<const int64_t*>(view.values)[row])) {
        return absl::InternalError("a decimal of more than 18 digits");
      }
    }
    if (view.values == nullptr) return absl::InternalError("a column without values");
    if (IsByteString(column.type)) return CheckStrings(view);
    const uint64_t width = ColumnValueBytes(column.type);
    if (reinterpret_cast<uintptr_t>(view.values) % width != 0) {
      return absl::InternalError("values at an odd place");
    }
    Touch(view.values, rows_.rows * width);
    return absl::OkStatus();
  }
  uint64_t sum() const { return sum_; }

 private:
  absl::Status CheckStrings(const ColumnView& view) {
    const uint32_t last = view.offsets[rows_.rows];
    for (uint64_t row = 0; row < rows_.rows; ++row) {
      if (view.offsets[row] > view.offsets[row + 1]) {
        return absl::InternalError("offsets that descend");
      }
    }
    const auto* const bytes = static_cast<const char*>(view.values);
    const bool inside =
        bytes >= body_.data() && last <= static_cast<size_t>(body_.data() + body_.size() - bytes);
    if (last > 0 && !inside) return absl::InternalError("a string outside its bytes");
    Touch(bytes, last);
    return absl::OkStatus();
  }

  void Touch(const void* bytes, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) sum_ += static_cast<const uint8_t*>(bytes)[i];
  }

  const std::string& body_;
  const wire::ViewedColumns& rows_;
  uint64_t sum_ = 0;
};

absl::Status Allowed(const absl::Status& status) {
  if (absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status)) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat("the reader returns ", status.ToString()));
}

// One stream, as FlightStream reads it.
class Machine {
 public:
  explicit Machine(const Schema& schema) : schema_(schema) {}

  // False: the stream has ended, with status().
  bool Take(const FlightData& data) {
    const absl::StatusOr<wire::ArrowHeader> header = wire::ArrowHeader::From(data.data_header());
    if (!header.ok()) return End(Allowed(header.status()));
    if (reader_) return TakeRows(*header, data.data_body());
    if (header->kind() != wire::ArrowHeader::Kind::kSchema) return false;
    const std::vector<uint32_t> columns = AllOf(schema_);
    absl::StatusOr<wire::ArrowReader> reader = wire::ArrowReader::Make(schema_, columns, *header);
    if (!reader.ok()) return End(Allowed(reader.status()));
    reader_ = *std::move(reader);
    return true;
  }
  const absl::Status& status() const { return status_; }
  int read() const { return read_; }

 private:
  bool End(absl::Status status) {
    status_ = std::move(status);
    return false;
  }

  bool TakeRows(const wire::ArrowHeader& header, const std::string& body) {
    const auto charge = [](uint64_t, uint64_t bytes) {
      return bytes <= kCopiesBytesMax ? absl::OkStatus() : absl::ResourceExhaustedError("copies");
    };
    const absl::StatusOr<wire::ViewedColumns> rows = reader_->Read(header, body, charge);
    if (!rows.ok()) return End(Allowed(rows.status()));
    ++read_;
    if (rows->rows == 0) return true;
    if (rows->views.size() != schema_.columns.size()) {
      return End(absl::InternalError("a column too many, or too few"));
    }
    Checker checker(body, *rows);
    for (size_t i = 0; i < rows->views.size(); ++i) {
      absl::Status wrong = checker.Check(schema_.columns[i], rows->views[i]);
      if (!wrong.ok()) return End(std::move(wrong));
    }
    // So that no compiler leaves the reads out.
    return checker.sum() != ~uint64_t{0};
  }

  const Schema& schema_;
  std::optional<wire::ArrowReader> reader_;
  absl::Status status_;
  int read_ = 0;
};

void AddMessage(const std::string& header, const std::string& body, std::string& stream) {
  FlightData data;
  data.set_data_header(header);
  data.set_data_body(body);
  const std::string bytes = data.SerializeAsString();
  const auto length = static_cast<uint16_t>(bytes.size());
  stream.append(reinterpret_cast<const char*>(&length), sizeof(length));
  stream += bytes;
}

std::string StreamOf(uint8_t schema, int64_t rows, const std::vector<ArrowColumn>& columns) {
  std::string stream(1, static_cast<char>(schema));
  AddMessage(test::ArrowSchemaOf(columns), "", stream);
  const test::ArrowMessage batch = test::ArrowBatchOf(rows, columns);
  AddMessage(batch.header, batch.body, stream);
  const test::ArrowMessage packed = test::ArrowBatchOf(rows, columns, false, /*alignment=*/8);
  AddMessage(packed.header, packed.body, stream);
  return stream;
}

}  // namespace

absl::Status RunFlightBytes(std::string_view bytes, int* read) {
  if (bytes.empty()) return absl::OkStatus();
  Machine machine(Schemas()[static_cast<uint8_t>(bytes[0]) % Schemas().size()]);
  bytes.remove_prefix(1);
  uint16_t length = 0;
  while (bytes.size() >= sizeof(length)) {
    std::memcpy(&length, bytes.data(), sizeof(length));
    bytes.remove_prefix(sizeof(length));
    const std::string_view message = bytes.substr(0, length);
    bytes.remove_prefix(message.size());
    FlightData data;
    if (!data.ParseFromArray(message.data(), static_cast<int>(message.size()))) break;
    if (!machine.Take(data)) break;
  }
  if (read != nullptr) *read = machine.read();
  return machine.status();
}

std::vector<std::string> FlightSeeds() {
  using test::NumberColumn;
  using test::TextColumn;
  std::vector<std::string> seeds;
  seeds.push_back(StreamOf(0, 3,
                           {NumberColumn<uint64_t>("key", "uint64", {1, 2, ~uint64_t{0}}),
                            NumberColumn<int16_t>("value", "int16", {0, 1, 32'767})}));
  seeds.push_back(StreamOf(1, 2,
                           {TextColumn<uint32_t>("value", "binary", {0, 3, 5}, "abcde"),
                            NumberColumn<uint8_t>("key", "uint8", {7, 255})}));
  seeds.push_back(StreamOf(1, 2,
                           {NumberColumn<int64_t>("key", "int64", {-1, 1}),
                            TextColumn<uint64_t>("value", "large_string", {1, 1, 5}, "abcde")}));
  ArrowColumn price = NumberColumn<int64_t>("p", "decimal128", {5, 0, -5, -1});
  price.scale = 2;
  price.buffers[0] = "\x02";
  price.nulls = 1;
  ArrowColumn text = TextColumn<uint32_t>("s", "string", {0, 2, 2}, "ab");
  text.buffers[0] = "\x01";
  text.nulls = 1;
  seeds.push_back(StreamOf(
      2, 2,
      {NumberColumn<int32_t>("i", "int32", {-5, 5}), NumberColumn<int64_t>("l", "int64", {-5, 5}),
       NumberColumn<uint32_t>("u", "uint32", {0, 5}),
       NumberColumn<double>("g", "double", {-0.5, 1e300}),
       NumberColumn<int32_t>("d", "date32", {-1, 20'000}), price, text,
       TextColumn<uint64_t>("t", "large_binary", {0, 1, 2}, "xy")}));
  // Columns that are missing are null; one with decimals of 64 bits.
  ArrowColumn decimal = NumberColumn<int64_t>("p", "decimal64", {99, -99});
  decimal.scale = 2;
  seeds.push_back(StreamOf(2, 2,
                           {decimal, TextColumn<uint32_t>("t", "string", {0, 0, 3}, "xyz"),
                            NumberColumn<int32_t>("d", "date32", {0, 1}),
                            NumberColumn<int8_t>("l", "int8", {-128, 127})}));
  return seeds;
}

std::string ChangedFlight(std::string_view bytes, std::mt19937_64& random) {
  constexpr uint64_t kNumbers[] = {0,        1,          2,          8,          0x7f,
                                   0x80,     0xff,       0x7fff,     0xffff,     0x7fffffff,
                                   1u << 31, 0xffffffff, 1ull << 32, 1ull << 63, ~uint64_t{0}};
  std::string changed(bytes);
  for (uint64_t left = 1 + random() % 4; left > 0 && !changed.empty(); --left) {
    const size_t at = random() % changed.size();
    if (random() % 2 == 0) {
      changed[at] = static_cast<char>(random());
      continue;
    }
    const uint64_t number = random() % 4 == 0 ? random() : kNumbers[random() % std::size(kNumbers)];
    const size_t width = std::min<size_t>(size_t{2} << random() % 3, changed.size() - at);
    std::memcpy(changed.data() + at, &number, width);
  }
  return changed;
}

}  // namespace eris::fuzz
