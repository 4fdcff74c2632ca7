#include "clients/cli/inference/value_types.h"

#include "clients/cli/text/byte_text.h"

namespace eris::cli {

ColumnType WidenedType(ColumnType type, absl::string_view text, const FieldForms& forms) {
  if (type == ColumnType::kBytes || !IsUtf8(text)) return ColumnType::kBytes;
  // Dates in another form are no timestamps.
  if (type == ColumnType::kDate && forms.date.empty() && IsOf(ColumnType::kTimestamp, text)) {
    return ColumnType::kTimestamp;
  }
  const bool integer = type == ColumnType::kInt64 || type == ColumnType::kUint64;
  return integer && IsOf(ColumnType::kFloat64, text, forms) && !IsOf(ColumnType::kInt64, text) &&
                 !IsOf(ColumnType::kUint64, text)
             ? ColumnType::kFloat64
             : ColumnType::kString;
}

}  // namespace eris::cli
