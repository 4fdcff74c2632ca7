// Values of table columns as the eris program shows and reads them. Any thread, no state.
#ifndef ERIS_CLIENTS_CLI_CELL_TEXT_H_
#define ERIS_CLIENTS_CLI_CELL_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/output.h"
#include "clients/table_client.h"
#include "clients/table_rows.h"
#include "eris/expression.h"
#include "eris/table.h"
#include "eris/types.h"

namespace eris::cli {

// Appends the text of a value that is not null; strings as they are.
void AppendCell(const ColumnSchema& column, const client::OwnedRows& rows, size_t index,
                uint64_t row, std::string* text);

// Rows as a table, whose columns are as wide as the first chunk needs, or as a JSON array of
// objects: numbers of 32 bits and doubles as numbers, others as text, so that no digit is lost.
class CellPrinter {
 public:
  CellPrinter(Output& output, bool json) : output_(output), json_(json) {}
  // `rows` has the columns of `schema`, the same each time.
  void Add(const TableSchema& schema, const client::OwnedRows& rows);
  // Without any rows: the head alone.
  void End(const TableSchema& schema);

 private:
  void Head(const TableSchema& schema, const client::OwnedRows& rows);
  void AddJson(const TableSchema& schema, const client::OwnedRows& rows, uint64_t row);

  Output& output_;
  const bool json_;
  bool begun_ = false;
  bool first_ = true;  // of JSON
  std::vector<size_t> widths_;
  std::string text_;
};

// How a sample of the key column is read and ordered; of decimals there is none. Errors:
// InvalidArgument.
absl::StatusOr<KeyType> SampleTypeOf(const ColumnSchema& column);
// A key of SampleTypeOf as a bound of a table.
Value BoundOf(KeyType type, uint64_t key);
// "LO:HI" or "LO:", and "10,20,30", of a table's first key column. Errors: InvalidArgument.
absl::StatusOr<client::TableBounds> ParseTableBounds(const TableSchema& schema,
                                                     absl::string_view expect,
                                                     absl::string_view split);

// "7/1994-01-01" as a row of the key's columns, added to `keys`. Errors: InvalidArgument.
absl::Status AddKeyRow(const TableSchema& schema, absl::string_view text, client::OwnedRows& keys);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_CELL_TEXT_H_
