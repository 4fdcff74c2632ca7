#include "clients/row_messages.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "wire/tables.h"

namespace eris::client {
namespace {

// Whether `rows` strings lie where the offsets say, one behind the other.
bool AreStrings(const v1::Column& column, uint64_t rows) {
  if (column.offsets().size() != (rows + 1) * sizeof(uint32_t)) return false;
  uint32_t last = 0;
  bool ascend = true;
  for (uint64_t i = 0; i <= rows; ++i) {
    uint32_t offset;
    std::memcpy(&offset, column.offsets().data() + i * sizeof(offset), sizeof(offset));
    ascend &= i == 0 ? offset == 0 : offset >= last;
    last = offset;
  }
  return ascend && last == column.data().size();
}

}  // namespace

void SwapRows(absl::Span<const ColumnType> types, OwnedRows& rows, v1::Rows& message) {
  message.set_rows(rows.rows);
  while (static_cast<size_t>(message.columns_size()) < types.size()) message.add_columns();
  rows.columns.resize(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    v1::Column& column = *message.mutable_columns(static_cast<int>(i));
    column.set_type(wire::ToProto(types[i]));
    column.mutable_data()->swap(rows.columns[i].values);
    column.mutable_validity()->swap(rows.columns[i].validity);
    column.mutable_offsets()->swap(rows.columns[i].offsets);
  }
}

absl::Status TakeRows(absl::Span<const ColumnType> types, v1::Rows& message, OwnedRows& rows) {
  rows.rows = message.rows();
  const bool nothing = rows.rows == 0 && message.columns_size() == 0;
  if (!nothing && static_cast<size_t>(message.columns_size()) != types.size()) {
    return absl::InternalError(absl::StrCat("the server sent ", message.columns_size(),
                                            " columns, expected ", types.size()));
  }
  for (int i = 0; i < message.columns_size(); ++i) {
    const v1::Column& column = message.columns(i);
    const ColumnType type = types[static_cast<size_t>(i)];
    const bool whole = type == ColumnType::kString
                           ? AreStrings(column, rows.rows)
                           : column.data().size() == rows.rows * ColumnValueBytes(type);
    if (column.type() != wire::ToProto(type) || !whole ||
        (!column.validity().empty() && column.validity().size() < (rows.rows + 7) / 8)) {
      return absl::InternalError(
          absl::StrCat("the server sent column ", i, " of type ", static_cast<int>(column.type()),
                       " with ", column.data().size(), " bytes for ", rows.rows, " rows"));
    }
  }
  rows.columns.resize(types.size());
  for (int i = 0; i < message.columns_size(); ++i) {
    v1::Column& column = *message.mutable_columns(i);
    ColumnBuffers& to = rows.columns[static_cast<size_t>(i)];
    to.values.swap(*column.mutable_data());
    to.validity.swap(*column.mutable_validity());
    to.offsets.swap(*column.mutable_offsets());
  }
  return absl::OkStatus();
}

}  // namespace eris::client
