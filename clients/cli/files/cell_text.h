// Values of columns, and keys, as the eris program shows and reads them. Any thread, no state.
//
// The text of a key of several columns is FIRST/SECOND, each as its type has it: no number and no
// date has a slash in it, where minus, point and colon would do for none or one of them.
#ifndef ERIS_CLIENTS_CLI_FILES_CELL_TEXT_H_
#define ERIS_CLIENTS_CLI_FILES_CELL_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clients/rows.h"
#include "eris/schema.h"

namespace eris::cli {

inline constexpr char kKeyPartSeparator = '/';

// Appends the text of a value that is not null; strings as they are.
void AppendCell(const ColumnSchema& column, const client::OwnedRows& rows, size_t index,
                uint64_t row, std::string* text);

// Stores the value of a column of fixed width at `cell`, of eight bytes. False: the text is none.
bool ParseCell(const ColumnSchema& column, absl::string_view text, char* cell);
// Appends it to `to`. Errors: InvalidArgument, naming the text and what was expected.
absl::Status AddCell(const ColumnSchema& column, absl::string_view text, ColumnBuffers& to);
// Appends a string.
void AddString(absl::string_view bytes, ColumnBuffers& to);

// "7/1994-01-01" as a row of the key's columns, which are the first ones of `rows`. Errors:
// InvalidArgument (no value of a column's type, NaN; another number of parts).
absl::Status AddKey(const Schema& schema, absl::string_view text, client::OwnedRows& rows);
// The text of a row whose first columns are those of the key, in the key's order.
std::string KeyTextOf(const Schema& schema, const client::OwnedRows& keys, uint64_t row);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_CELL_TEXT_H_
