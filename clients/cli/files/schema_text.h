// Schemas as text: "a:int64,b:decimal(2),c:string?" of the command line, and back. A question mark
// makes a column nullable. Types may have the names of SQL, too (text/type_name.h). Pure functions;
// any thread.
#ifndef ERIS_CLIENTS_CLI_FILES_SCHEMA_TEXT_H_
#define ERIS_CLIENTS_CLI_FILES_SCHEMA_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/batch.h"
#include "eris/schema.h"

namespace eris::cli {

// `schema`: columns as above, or "tpch:lineitem" for a table of TPC-H, which brings its key.
// `key`: names of key columns, "a,b"; empty: none, or the one that TPC-H has; "none": a heap table.
// Errors: InvalidArgument, naming the text and what was expected.
absl::StatusOr<Schema> ParseSchema(absl::string_view schema, absl::string_view key);

// The same of columns that are known, for a `key` that is not empty.
absl::Status SetKey(absl::string_view key, Schema& schema);

// What an index's or a hash's key is made of: "uint64", "int64", "float64", "date" or "timestamp",
// or two of them as in "uint64,date". Errors: InvalidArgument.
absl::StatusOr<KeyTypes> ParseKeyTypes(absl::string_view text);
// For Flag::Check: what is wrong with the text, or nothing.
std::string CheckKeyTypes(const std::string& text);

// "int32", "decimal(2)", "string?". Sums are "decimal128(2)".
std::string ColumnTypeText(const ColumnSchema& column);
std::string SchemaText(const Schema& schema);
// "a,b", and "int64,date"; empty, and "-", of a heap table.
std::string KeyNamesText(const Schema& schema);
std::string KeyTypesText(const Schema& schema);
// "2: a/b (int64,date)", for messages about the text of a key.
std::string KeyForm(const Schema& schema);
// The columns that are not of the key: the type of one, or "15 columns".
std::string ValuesText(const Schema& schema);

// What a field of the column must be: "number from -2147483648 to 2147483647". `key`: of a key.
std::string ColumnRangeText(const ColumnSchema& column, bool key,
                            uint64_t string_bytes_max = kTableStringBytesMax);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_SCHEMA_TEXT_H_
