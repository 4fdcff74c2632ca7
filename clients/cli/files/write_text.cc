#include "clients/cli/files/write_text.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clients/cli/files/cell_text.h"
#include "clients/cli/files/delimited.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/text/byte_text.h"
#include "clients/cli/text/parse.h"
#include "text/cut_text.h"

namespace eris::cli {
namespace {

// Not decoded.
struct WriteParts {
  absl::string_view key, expected, value;
};

// Cuts `right` at the separator at `at`, to which blanks behind it belong; false: it is npos.
bool CutAt(size_t at, bool exact, absl::string_view& left, absl::string_view& right) {
  if (at == right.npos) return false;
  const bool blank = absl::ascii_isspace(static_cast<unsigned char>(right[at]));
  left = right.substr(0, at);
  right.remove_prefix(at + 1);
  if (blank || !exact) right = absl::StripLeadingAsciiWhitespace(right);
  return true;
}

bool HasTimestampKey(const Schema& schema) {
  return std::any_of(schema.key.begin(), schema.key.end(), [&](uint32_t column) {
    return schema.columns[column].type == ColumnType::kTimestamp;
  });
}

// Where a key with timestamps ends, which have blanks inside: at the "=" behind it, or else at the
// last blank that has a whole key before it.
size_t TimestampKeyEnd(const Schema& schema, absl::string_view text) {
  constexpr size_t kKeyBytesMax = 160;  // of two timestamps
  const size_t first = text.find_first_of("= \t");
  const auto is_key = [&](size_t end) {
    client::OwnedRows row;
    return AddKey(schema, text.substr(0, end), row).ok();
  };
  const size_t equals = text.find('=');
  if (equals <= kKeyBytesMax && is_key(equals)) return equals;
  size_t end = first;
  for (size_t at = first; at <= kKeyBytesMax; at = text.find_first_of(" \t", at + 1)) {
    if (is_key(at)) end = at;
  }
  return end;
}

absl::StatusOr<WriteParts> CutWrite(const Schema& schema, WriteMode mode, absl::string_view text) {
  constexpr size_t kShownMax = 60;
  const bool strings = IsByteString(schema.columns.back().type);
  const bool compares = mode == WriteMode::kCompareAndSet;
  WriteParts parts;
  parts.value =
      strings ? absl::StripLeadingAsciiWhitespace(text) : absl::StripAsciiWhitespace(text);
  const bool times = HasTimestampKey(schema);
  const size_t end =
      times ? TimestampKeyEnd(schema, parts.value) : parts.value.find_first_of("= \t");
  // Behind a key that may be a day, 17:05 is no pair of numbers.
  const bool colons = !times || (end != parts.value.npos && parts.value[end] == '=');
  if (CutAt(end, strings, parts.key, parts.value)) {
    const size_t middle = parts.value.find_first_of(strings ? ":" : colons ? ": \t" : " \t");
    if (!compares || CutAt(middle, strings, parts.expected, parts.value)) return parts;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", text::CutText(text, kShownMax), "' is no pair; expected ",
                   compares                  ? "key=expected:value or 'key expected value'"
                   : mode == WriteMode::kAdd ? "key=delta or 'key delta'"
                                             : "key=value or 'key value'"));
}

absl::Status AddDelta(absl::string_view text, ColumnBuffers& to) {
  constexpr uint64_t kLowest = uint64_t{1} << 63;
  uint64_t delta = 0;
  if (!ParseU64(text, delta)) {
    if (text.empty() || text[0] != '-' || !ParseU64(text.substr(1), delta) || delta > kLowest) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", text, "' is no number from -9223372036854775808 to 18446744073709551615"));
    }
    delta = 0 - delta;
  }
  to.values.append(reinterpret_cast<const char*>(&delta), sizeof(delta));
  return absl::OkStatus();
}

}  // namespace

size_t RowsToWrite::value_bytes() const {
  size_t bytes = 0;
  for (const client::OwnedRows* part : {&rows, &expected}) {
    for (const ColumnBuffers& column : part->columns) bytes += column.values.size();
  }
  return bytes;
}

absl::Status AddWrite(const Schema& schema, const WriteSyntax& syntax, bool from_input,
                      absl::string_view text, RowsToWrite& to) {
  if (syntax.mode == WriteMode::kErase) {
    return AddKey(schema, absl::StripAsciiWhitespace(text), to.rows);
  }
  const ColumnSchema& column = schema.columns.back();
  const bool strings = IsByteString(column.type);
  const absl::StatusOr<WriteParts> parts = CutWrite(schema, syntax.mode, text);
  if (!parts.ok()) return parts.status();
  if (absl::Status status = AddKey(schema, parts->key, to.rows); !status.ok()) return status;
  const auto add = [&](absl::string_view value, ColumnBuffers& buffers) {
    if (syntax.mode == WriteMode::kAdd) return AddDelta(value, buffers);
    if (!strings) return AddCell(column, value, buffers);
    const absl::StatusOr<std::string> bytes =
        from_input ? ParseByteText(syntax.format, value) : ParseByteArgument(syntax.format, value);
    if (bytes.ok()) AddString(*bytes, buffers);
    return bytes.status();
  };
  to.rows.columns.resize(schema.columns.size());
  if (syntax.mode == WriteMode::kCompareAndSet) {
    ++to.expected.rows;
    to.expected.columns.resize(1);
    absl::Status status = add(parts->expected, to.expected.columns[0]);
    if (!status.ok()) return status;
  }
  return add(parts->value, to.rows.columns.back());
}

namespace {

// A string, or bytes, which \x and hexadecimal digits may be, as `eris export` writes them.
absl::Status AddBytes(const ColumnSchema& column, ByteFormat format, absl::string_view text,
                      ColumnBuffers& to) {
  if (column.type == ColumnType::kBytes && format == ByteFormat::kText &&
      absl::ConsumePrefix(&text, kHexPrefix)) {
    format = ByteFormat::kHex;
  }
  const absl::StatusOr<std::string> bytes = ParseByteText(format, text);
  if (!bytes.ok()) return bytes.status();
  if (column.type == ColumnType::kString && !IsUtf8(*bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("'", ShowBytes(ByteFormat::kText, *bytes),
                                                   "' is not UTF-8, and a string is text"));
  }
  AddString(*bytes, to);
  return absl::OkStatus();
}

}  // namespace

absl::Status AddTableRow(const Schema& schema, ByteFormat format, absl::string_view text,
                         client::OwnedRows& to) {
  std::vector<absl::string_view> fields;
  std::string scratch, reason;
  size_t consumed = 0;
  if (SplitRecord(text, /*at_end=*/true, {}, fields, scratch, consumed, reason) !=
      SplitResult::kRecord) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no row: ", reason));
  }
  if (consumed != text.size()) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is more than one row"));
  }
  if (fields.size() != schema.columns.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' has ", fields.size(), fields.size() == 1 ? " field" : " fields",
                     ", a row has ", schema.columns.size(), ": ", SchemaText(schema)));
  }
  const uint64_t row = to.rows++;
  to.columns.resize(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    const ColumnSchema& column = schema.columns[i];
    ColumnBuffers& buffers = to.columns[i];
    const absl::string_view field = fields[i];
    const bool quoted =
        field.data() >= scratch.data() && field.data() <= scratch.data() + scratch.size();
    const bool null = column.nullable && field.empty() && !quoted;
    if (column.nullable) {
      if (row % 8 == 0) buffers.validity.push_back('\0');
      if (!null) buffers.validity.back() |= static_cast<char>(1 << (row % 8));
    }
    absl::Status status;
    if (IsByteString(column.type)) {
      status = AddBytes(column, format, field, buffers);
    } else if (null) {
      buffers.values.append(ColumnValueBytes(column.type), '\0');
    } else {
      status = AddCell(column, field, buffers);
    }
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("column ", column.name, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace eris::cli
