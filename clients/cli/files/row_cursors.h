// What a RowFile makes of the fields of its records: values at the ends of the columns of a batch.
// The part of row_file.cc that knows their types; for that file alone. One thread.
#ifndef ERIS_CLIENTS_CLI_FILES_ROW_CURSORS_H_
#define ERIS_CLIENTS_CLI_FILES_ROW_CURSORS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "clients/cli/files/delimiter_index.h"
#include "clients/cli/files/field_forms.h"
#include "clients/cli/files/field_text.h"
#include "clients/cli/files/row_file.h"
#include "clients/cli/text/byte_text.h"

namespace eris::cli {

// Readable bytes behind the text of a file.
inline constexpr size_t kPadBytes = kIndexPadBytes + 8;
// What a short string is copied in at once.
inline constexpr size_t kCopyBytes = 32;
static_assert(kCopyBytes <= kPadBytes);

struct RowFile::Field {
  static constexpr size_t kNone = FileColumns::kNone;
  size_t column = kNone;                  // of the object; kNone: passed over
  ColumnType type = ColumnType::kInt128;  // of no column: passed over
  uint8_t scale = 0;
  bool nullable = false;
  bool nulls = false;  // the format's texts of nulls are null in it
  bool key = false;
  bool exact = false;  // values that lose digits are none of the column
  bool forms = false;  // values may be in another form
  uint32_t width = 0;  // of a value; of strings 0
};

// One cursor per field; a field that is not read has none.
struct RowFile::Cursors {
  struct Cursor {
    char* values = nullptr;  // of fixed width: of row 0
    uint32_t* offsets = nullptr;
    uint8_t* validity = nullptr;
    ColumnBuffers* buffers = nullptr;
    size_t bytes = 0;  // of strings: up to the next row's
    size_t room = 0;   // of strings: bytes there are
  };

  Cursors(const std::vector<Field>& fields, size_t columns, uint64_t rows_max,
          const RowFileFormat& format, const bool& utf8, client::OwnedRows& rows)
      : row(rows.rows),
        string_bytes_max(format.string_bytes_max),
        text_is_utf8(utf8),
        null_texts(format.nulls),
        forms(format.forms),
        cursors(fields.size()) {
    for (const std::string& text : null_texts) null_lengths |= LengthBit(text.size());
    rows.columns.resize(columns);
    for (size_t i = 0; i < fields.size(); ++i) {
      const Field& field = fields[i];
      if (field.column == Field::kNone) continue;
      Cursor& cursor = cursors[i];
      cursor.buffers = &rows.columns[field.column];
      ColumnBuffers& buffers = *cursor.buffers;
      if (field.nullable) {
        // All set where no row was null before: Finish leaves it out then.
        if (buffers.validity.empty() && row > 0) buffers.validity.assign((row + 7) / 8, '\xff');
        buffers.validity.resize((rows_max + 7) / 8);
        cursor.validity = reinterpret_cast<uint8_t*>(buffers.validity.data());
      }
      if (IsByteString(field.type)) {
        buffers.offsets.resize((rows_max + 1) * sizeof(uint32_t));
        cursor.offsets = reinterpret_cast<uint32_t*>(buffers.offsets.data());
        if (row == 0) cursor.offsets[0] = 0;
        cursor.bytes = cursor.offsets[row];
        cursor.room = buffers.values.size();
        cursor.values = buffers.values.data();
      } else {
        buffers.values.resize(rows_max * field.width);
        cursor.values = buffers.values.data();
      }
    }
  }

  // Makes the columns as long as their rows.
  void Finish(const std::vector<Field>& fields, client::OwnedRows& rows) {
    rows.rows = row;
    for (size_t i = 0; i < fields.size(); ++i) {
      const Field& field = fields[i];
      if (field.column == Field::kNone) continue;
      ColumnBuffers& buffers = *cursors[i].buffers;
      if (IsByteString(field.type)) {
        buffers.values.resize(cursors[i].bytes);
        buffers.offsets.resize((row + 1) * sizeof(uint32_t));
      } else {
        buffers.values.resize(row * field.width);
      }
      if (!field.nullable) continue;
      buffers.validity.resize(AreSet(cursors[i].validity, row) ? 0 : (row + 7) / 8);
    }
  }

  // Whether the first bits are.
  static bool AreSet(const uint8_t* bits, uint64_t count) {
    const bool bytes =
        std::all_of(bits, bits + count / 8, [](uint8_t byte) { return byte == 0xff; });
    const auto rest = static_cast<uint8_t>((1 << (count & 7)) - 1);
    return bytes && (rest == 0 || (bits[count / 8] & rest) == rest);
  }
  // Grows a string column.
  static void MakeRoom(Cursor& cursor, size_t bytes) {
    std::string& values = cursor.buffers->values;
    values.resize(cursor.bytes + bytes + std::max<size_t>(cursor.bytes / 2, 64 << 10));
    cursor.values = values.data();
    cursor.room = values.size();
  }

  // Stores a field of row `row`; false: it is no value of the column. kPadded: kPadBytes readable
  // bytes follow the text.
  template <bool kPadded>
  bool Store(const Field& field, Cursor& cursor, const char* text, size_t length) {
    if (field.nullable) {
      const auto bit = static_cast<uint8_t>(1 << (row & 7));
      uint8_t& byte = cursor.validity[row >> 3];
      const bool null = IsNull(field, text, length);
      byte = static_cast<uint8_t>(null ? byte & ~bit : byte | bit);
      if (null) return StoreNothing(field, cursor);
    }
    if (field.type == ColumnType::kString) {
      return (text_is_utf8 || IsUtf8({text, length})) && StoreString<kPadded>(cursor, text, length);
    }
    if (field.type == ColumnType::kBytes) return StoreBytes<kPadded>(cursor, text, length);
    if (field.column == Field::kNone) return true;
    if (!field.forms) return StoreNumber(field, cursor, {text, length});
    const PlainField plain(forms, field.type, {text, length});
    return plain.good() && StoreNumber(field, cursor, plain.text());
  }
  bool StoreNumber(const Field& field, Cursor& cursor, absl::string_view text) {
    if (field.exact && LosesDigits(field.type, text)) return false;
    char* const to = cursor.values + row * field.width;
    if (!StoreField(field.type, field.scale, text, to)) return false;
    return !(field.key && field.type == ColumnType::kFloat64) || !IsNanAt(to);
  }
  // In quotes a text is itself, and nothing an empty string; of other types null, too.
  bool IsNull(const Field& field, const char* text, size_t length) const {
    if (in_quotes && IsByteString(field.type)) return false;
    if (length == 0) return true;
    return (null_lengths & LengthBit(length)) != 0 && field.nulls &&
           std::count(null_texts.begin(), null_texts.end(), absl::string_view(text, length)) > 0;
  }
  static uint64_t LengthBit(size_t length) { return uint64_t{1} << (length % 64); }
  static bool IsNanAt(const char* at) {
    double number;
    std::memcpy(&number, at, sizeof(number));
    return std::isnan(number);
  }
  template <bool kPadded>
  bool StoreString(Cursor& cursor, const char* text, size_t length) {
    if (length > string_bytes_max) return false;
    if (cursor.room - cursor.bytes < length + kCopyBytes) MakeRoom(cursor, length + kCopyBytes);
    if (kPadded && length <= kCopyBytes) {
      std::memcpy(cursor.values + cursor.bytes, text, kCopyBytes);
    } else {
      std::memcpy(cursor.values + cursor.bytes, text, length);
    }
    cursor.bytes += length;
    cursor.offsets[row + 1] = static_cast<uint32_t>(cursor.bytes);
    return true;
  }
  // \x and hexadecimal digits, as `eris export` writes them, or the bytes themselves.
  template <bool kPadded>
  bool StoreBytes(Cursor& cursor, const char* text, size_t length) {
    absl::string_view digits(text, length);
    if (!absl::ConsumePrefix(&digits, kHexPrefix)) {
      return StoreString<kPadded>(cursor, text, length);
    }
    const absl::StatusOr<std::string> bytes = ParseByteText(ByteFormat::kHex, digits);
    return bytes.ok() && StoreString<false>(cursor, bytes->data(), bytes->size());
  }
  bool StoreNothing(const Field& field, Cursor& cursor) {
    if (IsByteString(field.type)) {
      cursor.offsets[row + 1] = static_cast<uint32_t>(cursor.bytes);
    } else {
      std::memset(cursor.values + row * field.width, 0, field.width);
    }
    return true;
  }

  // Takes back what has been stored of row `row`.
  void Undo() {
    for (Cursor& cursor : cursors) {
      if (cursor.offsets != nullptr) cursor.bytes = cursor.offsets[row];
    }
  }

  uint64_t row;  // the next one
  const uint64_t string_bytes_max;
  const bool& text_is_utf8;  // RowFile::text_is_utf8_
  const std::vector<std::string>& null_texts;
  const FieldForms& forms;
  uint64_t null_lengths = 0;  // of null_texts
  bool in_quotes = false;     // the field that is stored was
  std::vector<Cursor> cursors;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_ROW_CURSORS_H_
