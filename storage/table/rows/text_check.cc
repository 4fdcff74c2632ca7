#include "storage/table/rows/text_check.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"

namespace eris::storage {
namespace {

// Whether no string begins within a character of the text that they are together.
bool BeginWithCharacters(const char* text, const uint32_t* offsets, uint64_t rows) {
  // Empty strings at the end have no first byte.
  while (rows > 0 && offsets[rows - 1] == offsets[rows]) --rows;
  bool within = false;
  for (uint64_t row = 0; row < rows; ++row) {
    within |= (static_cast<uint8_t>(text[offsets[row]]) & 0xc0) == 0x80;
  }
  return !within;
}

}  // namespace

absl::Status CheckText(const ColumnSchema& column, const ColumnView& view, uint64_t rows) {
  if (column.type != ColumnType::kString) return absl::OkStatus();
  const auto* const text = static_cast<const char*>(view.values);
  const uint32_t* const offsets = view.offsets;
  const auto of = [&](uint64_t from, uint64_t to) {
    return std::string_view(text + offsets[from], offsets[to] - offsets[from]);
  };
  if (offsets[0] == offsets[rows]) return absl::OkStatus();
  // All at once: a call for each of many short strings would take longer than their bytes.
  if (base::IsUtf8(of(0, rows)) && BeginWithCharacters(text, offsets, rows)) {
    return absl::OkStatus();
  }
  for (uint64_t row = 0; row < rows; ++row) {
    const bool null = view.validity != nullptr && (view.validity[row >> 3] >> (row & 7) & 1) == 0;
    if (null || base::IsUtf8(of(row, row + 1))) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("column ", column.name, ", row ", row, ": not UTF-8 from byte ",
                     base::Utf8Bytes(of(row, row + 1)),
                     " on, and a string is text: a column of type bytes takes any bytes"));
  }
  return absl::OkStatus();
}

}  // namespace eris::storage
