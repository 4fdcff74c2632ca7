// Arguments of put, add and erase as rows: "7=42", "7 42", "7/2024-01-01=42", "7", and of tables
// "7,2024-01-01,a text". Pure functions, but for values that are read from a file; any thread.
#ifndef ERIS_CLIENTS_CLI_FILES_WRITE_TEXT_H_
#define ERIS_CLIENTS_CLI_FILES_WRITE_TEXT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clients/cli/text/byte_text.h"
#include "clients/rows.h"
#include "eris/batch.h"
#include "eris/schema.h"

namespace eris::cli {

// What one request writes.
struct RowsToWrite {
  client::OwnedRows rows;
  client::OwnedRows expected;  // of kCompareAndSet: the value column

  size_t value_bytes() const;
};

// How the arguments are read.
struct WriteSyntax {
  WriteMode mode = WriteMode::kUpsert;
  ByteFormat format = ByteFormat::kText;  // of values that are strings
};

// Adds the row that `text` says: a key, "=" or blanks, and a value of the last column (a timestamp
// as key may have blanks inside); of kCompareAndSet "expected:value" (or "expected value", unless
// they are strings), of kAdd a number from -2^63 to 2^64-1, which is added modulo 2^64; of kErase a
// key alone. A string is what stands behind the "=" or the blanks, in `syntax.format`; of an
// argument (no line of the input) "@path" is that file's content. Errors: InvalidArgument, naming
// the text and what was expected; `to` is then unspecified. REQUIRES: the schema of an index or a
// hash, but for kErase.
absl::Status AddWrite(const Schema& schema, const WriteSyntax& syntax, bool from_input,
                      absl::string_view text, RowsToWrite& to);

// Adds the row of a table that `text` says: a record of CSV with all columns, in their order. An
// empty field is null where the column may be; in quotes it is an empty string. Strings are read in
// `format`, but for nulls. Errors: InvalidArgument, naming the column and what was expected; `to`
// is then unspecified.
absl::Status AddTableRow(const Schema& schema, ByteFormat format, absl::string_view text,
                         client::OwnedRows& to);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_WRITE_TEXT_H_
