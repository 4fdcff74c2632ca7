#include "engine/sessions/batch_request.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "engine/core/table_batch.h"
#include "engine/sessions/row_copies.h"
#include "eris/errors.h"
#include "eris/key_encoding.h"
#include "storage/byte_value.h"
#include "storage/table/rows/append_pieces.h"
#include "storage/table/rows/table_layout.h"
#include "storage/table/rows/text_check.h"

namespace eris::engine {
namespace {

using routing::CommandType;

constexpr absl::string_view kModeNames[] = {"insert-if-absent",
                                            "replace-if-present",
                                            "compare-and-set",
                                            "add",
                                            "upsert",
                                            "erase",
                                            "append"};

absl::Status WrongMode(const ObjectEntry& object, WriteMode mode) {
  const absl::string_view name = kModeNames[static_cast<int>(mode) - 1];
  switch (object.kind) {
    case ObjectKind::kTable:
      return Error(ErrorReason::kModeNotForObject,
                   absl::StrCat("object \"", object.name,
                                "\" is a clustered table: it takes upsert and erase, not ", name));
    case ObjectKind::kHeapTable:
      return Error(ErrorReason::kModeNotForObject,
                   absl::StrCat("object \"", object.name,
                                "\" is a heap table, whose rows have no keys: it takes append, "
                                "not ",
                                name));
    default:
      if (mode == WriteMode::kAdd) {
        return Error(
            ErrorReason::kModeNotForObject,
            absl::StrCat("object \"", object.name, "\" is an index whose values are of type ",
                         ColumnTypeName(object.value_type),
                         ", which cannot be added to: "
                         "counters need values of uint64"));
      }
      return Error(ErrorReason::kModeNotForObject,
                   absl::StrCat("object \"", object.name,
                                "\" is not a heap table: rows are appended to "
                                "those"));
  }
}

// The command for a mode. Errors: InvalidArgument, FailedPrecondition.
absl::StatusOr<CommandType> TypeOf(const ObjectEntry& object, std::optional<WriteMode> mode) {
  if (!mode) {
    if (!object.is_table()) return CommandType::kLookup;
    if (object.kind == ObjectKind::kTable) return CommandType::kLookupRows;
    return Error(ErrorReason::kObjectHasNoKey,
                 absl::StrCat("object \"", object.name,
                              "\" is a heap table, whose rows have no keys: they cannot be "
                              "looked up"));
  }
  switch (*mode) {
    case WriteMode::kInsertIfAbsent:
      if (!object.is_table()) return CommandType::kInsertIfAbsent;
      break;
    case WriteMode::kReplaceIfPresent:
      if (!object.is_table()) return CommandType::kReplaceIfPresent;
      break;
    case WriteMode::kCompareAndSet:
      if (!object.is_table()) return CommandType::kCompareAndSet;
      break;
    case WriteMode::kAdd:
      if (!object.is_table() && object.value_type == ColumnType::kUint64) return CommandType::kAdd;
      break;
    case WriteMode::kUpsert:
      if (!object.is_table()) return CommandType::kUpsert;
      if (object.kind == ObjectKind::kTable) return CommandType::kPutRows;
      break;
    case WriteMode::kErase:
      if (object.kind != ObjectKind::kHeapTable) return CommandType::kErase;
      break;
    case WriteMode::kAppend:
      if (object.kind == ObjectKind::kHeapTable) return CommandType::kAppendRows;
      break;
    default:
      return Error(ErrorReason::kWriteModeInvalid,
                   absl::StrCat("write mode ", static_cast<int>(*mode), " is none of 1 to 7"));
  }
  return WrongMode(object, *mode);
}

absl::Status CheckCount(const RowBatch& rows) {
  static_assert(kBatchKeysMax == kTableBatchRowsMax);
  if (rows.rows == 0) {
    return Error(ErrorReason::kBatchSizeInvalid, "a batch needs at least one row");
  }
  if (rows.rows <= kBatchKeysMax) return absl::OkStatus();
  return Error(ErrorReason::kBatchSizeInvalid, absl::StrCat("a batch has at most ", kBatchKeysMax,
                                                            " rows, this one has ", rows.rows));
}

absl::Status CheckExpected(const ObjectEntry& object, CommandType type, const BatchInput& input) {
  const RowBatch& expected = input.expected;
  if (!routing::HasExpected(type)) {
    if (expected.columns.empty() && expected.rows == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "expected values belong to compare-and-set alone: ", expected.rows, " for another mode"));
  }
  if (expected.columns.size() != 1 || expected.rows != input.rows.rows) {
    return absl::InvalidArgumentError(absl::StrCat(
        "compare-and-set needs as many expected values as rows, in one column: ", expected.rows,
        " in ", expected.columns.size(), " columns for ", input.rows.rows, " rows"));
  }
  return storage::TableLayout::CheckColumn(object.schema.columns.back(), expected.columns[0],
                                           expected.rows, kValueBytesMax);
}

// Adds up the bytes of an index's strings. Errors: InvalidArgument (together they are too long).
absl::Status Measure(const ColumnView& strings, uint64_t rows, uint64_t& string_bytes,
                     uint64_t& record_bytes) {
  string_bytes += strings.offsets[rows] - strings.offsets[0];
  if (string_bytes > kBatchValueBytesMax) {
    return Error(ErrorReason::kBatchSizeInvalid,
                 absl::StrCat("the strings of a batch have at most ", kBatchValueBytesMax,
                              " bytes, these have ", string_bytes));
  }
  for (uint64_t row = 0; row < rows; ++row) {
    record_bytes += storage::LongRecordBytes(strings.offsets[row + 1] - strings.offsets[row]);
  }
  return absl::OkStatus();
}

absl::Status CheckBytes(const ObjectEntry& object, const BatchInput& input, CheckedBatch& checked) {
  if (object.is_table()) {
    const uint64_t bytes = BytesOf(*object.layout, input.rows, input.keys_only());
    if (input.copies) checked.credit_bytes += static_cast<int64_t>(bytes);
    if (bytes <= kTableBatchBytesMax) return absl::OkStatus();
    return Error(ErrorReason::kBatchSizeInvalid,
                 absl::StrCat("the columns of a batch have at most ", kTableBatchBytesMax,
                              " bytes, these have ", bytes));
  }
  if (!IsByteString(object.value_type) || input.keys_only()) return absl::OkStatus();
  uint64_t string_bytes = 0;
  ERIS_RETURN_IF_ERROR(
      Measure(input.rows.columns.back(), input.rows.rows, string_bytes, checked.record_bytes));
  if (!input.expected.columns.empty()) {
    ERIS_RETURN_IF_ERROR(
        Measure(input.expected.columns[0], input.rows.rows, string_bytes, checked.record_bytes));
  }
  checked.credit_bytes += static_cast<int64_t>(checked.record_bytes);
  return absl::OkStatus();
}

// Errors: InvalidArgument (a string that is no text).
absl::Status CheckTexts(const ObjectEntry& object, const BatchInput& input) {
  if (input.keys_only()) return absl::OkStatus();  // keys have no strings
  const std::vector<ColumnSchema>& columns = object.schema.columns;
  for (size_t i = 0; i < columns.size(); ++i) {
    ERIS_RETURN_IF_ERROR(storage::CheckText(columns[i], input.rows.columns[i], input.rows.rows));
  }
  if (input.expected.columns.empty()) return absl::OkStatus();
  return storage::CheckText(columns.back(), input.expected.columns[0], input.expected.rows);
}

absl::StatusOr<std::vector<uint32_t>> ColumnsAsked(const ObjectEntry& object,
                                                   absl::Span<const std::string> names) {
  const storage::TableLayout& layout = *object.layout;
  std::vector<uint32_t> asked;
  if (names.empty() && object.is_table()) {
    const std::vector<uint32_t>& key = object.schema.key;
    for (uint32_t i = 0; i < layout.columns(); ++i) {
      if (std::find(key.begin(), key.end(), i) == key.end()) asked.push_back(i);
    }
    return asked;
  }
  if (names.size() > kTableColumnsMax) {
    return absl::InvalidArgumentError(absl::StrCat("a lookup answers at most ", kTableColumnsMax,
                                                   " columns, not ", names.size()));
  }
  for (const std::string& name : names) {
    const std::optional<uint32_t> column = layout.Find(name);
    if (!column) {
      return Error(ErrorReason::kColumnUnknown,
                   absl::StrCat("object \"", object.name, "\" has no column \"", name, "\""));
    }
    asked.push_back(*column);
  }
  return asked;
}

// The engine's memory for one answer: key, value and state in the request, and the command.
int64_t BytesPerAnswer(const ObjectEntry& object, const CheckedBatch& checked) {
  int64_t bytes = 8 + 8 + 1 + 20;
  if (object.has_two_words()) bytes += 8 + 8;
  if (routing::HasValues(checked.type) && routing::AnswersValues(checked.type)) bytes += 8;
  if (routing::HasExpected(checked.type)) bytes += 8 + 8;
  if (object.is_table())
    return bytes + TableBatch::AnswerBytesPerKey(*object.layout, checked.asked);
  return bytes + int64_t{8} * static_cast<int64_t>(checked.asked.size());
}

void FillTable(const ObjectEntry& object, const BatchInput& input, CheckedBatch& checked,
               Request& request) {
  RowBatch rows = input.rows;
  if (input.copies) {
    auto copies = std::make_shared<RowCopies>(*object.layout, rows, input.keys_only());
    rows = copies->batch();
    request.HoldColumns(std::move(copies));
  }
  auto batch = std::make_unique<TableBatch>(object.layout, rows);
  if (checked.type == CommandType::kAppendRows) {
    batch->SetPieces(std::move(checked.pieces));
  } else {
    batch->PackKeys(input.keys_only());
  }
  batch->AskFor(checked.asked);
  if (batch->answers_strings()) {
    request.AnswerBytes(std::min<uint64_t>(input.answer_bytes_max, kBatchValueBytesMax));
  }
  request.in_order().columns = batch->keys();
  request.HoldTable(std::move(batch));
}

// A column of keys or numbers: in place if possible, otherwise copied to `words`.
absl::Span<const uint64_t> WordsOf(ColumnType type, const ColumnView& column, size_t rows,
                                   bool copies, std::vector<uint64_t>& words) {
  if (type == ColumnType::kUint64) {
    const auto* const numbers = static_cast<const uint64_t*>(column.values);
    if (!copies) return {numbers, rows};
    words.assign(numbers, numbers + rows);
    return words;
  }
  words.resize(rows);
  const absl::Span<uint64_t> keys = absl::MakeSpan(words);
  if (type == ColumnType::kInt64 || type == ColumnType::kTimestamp) {
    KeysFromInt64({static_cast<const int64_t*>(column.values), rows}, keys);
  } else if (type == ColumnType::kDate) {
    KeysFromDates({static_cast<const int32_t*>(column.values), rows}, keys);
  } else {
    const absl::Status numbers =
        KeysFromFloat64({static_cast<const double*>(column.values), rows}, keys);
    ERIS_CHECK(numbers.ok());  // TableLayout::Check has tested for NaN
  }
  return words;
}

// The same for byte strings. Those that do not fit in their words become records at `record`.
absl::Span<const uint64_t> StringWords(const ColumnView& column, size_t rows, uint64_t*& record,
                                       std::vector<uint64_t>& words) {
  words.reserve(rows);
  for (size_t row = 0; row < rows; ++row) {
    const uint32_t at = column.offsets[row];
    const absl::string_view string(static_cast<const char*>(column.values) + at,
                                   column.offsets[row + 1] - at);
    if (string.size() <= storage::kShortBytesMax) {
      words.push_back(storage::ShortWord(string));
    } else {
      words.push_back(storage::WriteRecord(record, string));
      record += storage::RecordBytes(string.size()) / sizeof(uint64_t);
    }
  }
  return words;
}

// The most string bytes of an answer, counting each string as often as the value is requested.
uint64_t AnswerBytesMax(const ObjectEntry& object, const BatchInput& input,
                        const CheckedBatch& checked) {
  const auto value = static_cast<uint32_t>(object.schema.key.size());
  const auto times = std::count(checked.asked.begin(), checked.asked.end(), value);
  return std::min<uint64_t>(input.answer_bytes_max, kBatchValueBytesMax) /
         static_cast<uint64_t>(std::max<ptrdiff_t>(times, 1));
}

void StoreOneZero(std::string& numbers) {
  for (size_t at = 0; at < numbers.size(); at += sizeof(double)) {
    double number;
    std::memcpy(&number, numbers.data() + at, sizeof number);
    number = Float64FromKey(KeyFromFloat64(number));
    std::memcpy(numbers.data() + at, &number, sizeof number);
  }
}

// Key columns that are answered are those that came, as they are stored: -0.0 is 0.0.
void AnswerKeys(const ObjectEntry& object, const BatchInput& input, const CheckedBatch& checked,
                Request& request) {
  std::vector<std::optional<std::string>> columns(checked.asked.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const uint32_t column = checked.asked[i];
    if (column == object.schema.key.size()) continue;  // the value
    const ColumnType type = object.schema.columns[column].type;
    std::string& keys =
        columns[i].emplace(static_cast<const char*>(input.rows.columns[column].values),
                           input.rows.rows * ColumnValueBytes(type));
    if (type == ColumnType::kFloat64) StoreOneZero(keys);
  }
  request.AnswerKeys(std::move(columns));
}

void FillKeyValue(const ObjectEntry& object, const BatchInput& input, const CheckedBatch& checked,
                  Request& request) {
  const size_t rows = input.rows.rows;
  ColumnCopies& words = request.words();
  BatchColumns columns;
  const ColumnView* column = input.rows.columns.data();
  columns.keys = WordsOf(object.key_types.first, *column++, rows, input.copies, words.keys);
  if (object.key_types.two_parts()) {
    columns.seconds =
        WordsOf(*object.key_types.second, *column++, rows, input.copies, words.seconds);
  }
  const bool expected = routing::HasExpected(checked.type);
  if (object.value_type == ColumnType::kUint64) {
    if (routing::HasValues(checked.type)) {
      columns.values = WordsOf(ColumnType::kUint64, *column, rows, input.copies, words.values);
    }
    if (expected) {
      columns.expected = WordsOf(ColumnType::kUint64, input.expected.columns[0], rows, input.copies,
                                 words.expected);
    }
  } else {
    // Not initialised before it is written.
    std::unique_ptr<uint64_t[]> records;
    if (checked.record_bytes > 0) records.reset(new uint64_t[checked.record_bytes / 8]);
    uint64_t* record = records.get();
    if (routing::HasValues(checked.type)) {
      columns.values = StringWords(*column, rows, record, words.values);
    }
    if (expected) {
      columns.expected = StringWords(input.expected.columns[0], rows, record, words.expected);
    }
    request.HoldRecords(std::move(records));
    if (routing::AnswersValues(checked.type)) {
      request.AnswerBytes(AnswerBytesMax(object, input, checked));
    }
  }
  if (!checked.asked.empty()) AnswerKeys(object, input, checked, request);
  request.in_order().columns = columns;
}

}  // namespace

absl::StatusOr<CheckedBatch> CheckBatch(const ObjectEntry& object, const BatchInput& input) {
  CheckedBatch checked;
  ERIS_ASSIGN_OR_RETURN(checked.type, TypeOf(object, input.mode));
  ERIS_RETURN_IF_ERROR(CheckCount(input.rows));
  ERIS_RETURN_IF_ERROR(object.layout->Check(
      input.rows, input.keys_only(), object.is_table() ? kTableStringBytesMax : kValueBytesMax));
  ERIS_RETURN_IF_ERROR(CheckExpected(object, checked.type, input));
  ERIS_RETURN_IF_ERROR(CheckBytes(object, input, checked));
  ERIS_RETURN_IF_ERROR(CheckTexts(object, input));
  if (!input.mode) {
    ERIS_ASSIGN_OR_RETURN(checked.asked, ColumnsAsked(object, input.columns));
  }
  checked.count = static_cast<uint32_t>(input.rows.rows);
  if (checked.type == CommandType::kAppendRows) {
    checked.pieces = storage::AppendPieces(*object.layout, input.rows);
    checked.count = static_cast<uint32_t>(checked.pieces.size() - 1);
  }
  checked.credit_bytes += BytesPerAnswer(object, checked) * int64_t{checked.count};
  return checked;
}

void FillRequest(const BatchInput& input, CheckedBatch checked, Request& request) {
  const ObjectEntry& object = *request.object();
  request.HoldColumns(input.holder);
  if (object.is_table()) {
    FillTable(object, input, checked, request);
  } else {
    FillKeyValue(object, input, checked, request);
  }
}

}  // namespace eris::engine
