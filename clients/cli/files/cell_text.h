// Values of table columns as the eris program shows and reads them. Any thread, no state.
#ifndef ERIS_CLIENTS_CLI_FILES_CELL_TEXT_H_
#define ERIS_CLIENTS_CLI_FILES_CELL_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/row_sink.h"
#include "clients/columns.h"
#include "clients/table_client.h"
#include "clients/table_rows.h"
#include "eris/expression.h"
#include "eris/schema.h"
#include "eris/types.h"

namespace eris::cli {

// Appends the text of a value that is not null; strings as they are.
void AppendCell(const ColumnSchema& column, const client::OwnedRows& rows, size_t index,
                uint64_t row, std::string* text);

// Rows as a table, or as a JSON array of objects: numbers of 32 bits and doubles as numbers, others
// as text, so that no digit is lost.
//
// Columns of a table are as wide as the first rows need, which are kept until there are enough, and
// then as the chunks so far do, strings up to a limit; a longer one takes from the blanks behind
// it, so that its row is in line again as soon as can be.
class CellPrinter final : public RowSink {
 public:
  static constexpr size_t kRowsBeforeHead = 1000;

  CellPrinter(Output& output, bool json) : output_(output), json_(json) {}
  absl::Status Add(const Schema& schema, const client::OwnedRows& rows) override {
    Add(schema, rows, nullptr);
    return absl::OkStatus();
  }
  // Rows without their bit in `present` are missing: the table leaves them out, JSON has null
  // there.
  void Add(const Schema& schema, const client::OwnedRows& rows,
           const client::RowBits* present);
  void End(const Schema& schema) override;

 private:
  void Collect(const Schema& schema, const client::OwnedRows& rows,
               const client::RowBits* present);
  void WriteCells(const Schema& schema);
  void AddJson(const Schema& schema, const client::OwnedRows& rows, uint64_t row);
  void AppendAligned(const ColumnSchema& column, absl::string_view text, size_t i);
  void WriteLine();

  Output& output_;
  const bool json_;
  bool begun_ = false;
  bool first_ = true;               // of JSON
  std::vector<size_t> widths_;      // in characters
  std::vector<std::string> cells_;  // of rows that are not written yet
  std::string line_;
  size_t line_width_ = 0;    // what line_ has
  size_t line_planned_ = 0;  // what it would have if all were as wide as their column
};

// How a sample of the key column is read and ordered; of decimals there is none. Errors:
// InvalidArgument.
absl::StatusOr<ColumnType> SampleTypeOf(const ColumnSchema& column);
// A key of SampleTypeOf as a bound of a table.
Value BoundOf(ColumnType type, uint64_t key);
// Inner bounds of `partitions` equal shares of a sample of the column. What is no value of it is
// left out: the lines it comes from are bad. `others`: as SplitPoints has them.
std::vector<Value> SampledBounds(const ColumnSchema& column, std::vector<uint64_t> sample,
                                 size_t partitions,
                                 const std::vector<std::vector<uint64_t>>& others = {});
// "LO:HI" or "LO:", and "10,20,30", of a table's first key column. Errors: InvalidArgument.
absl::StatusOr<client::TableBounds> ParseTableBounds(const Schema& schema,
                                                     absl::string_view expect,
                                                     absl::string_view split);

// "7/1994-01-01" as a row of the key's columns, added to `keys`. Errors: InvalidArgument.
absl::Status AddKeyRow(const Schema& schema, absl::string_view text, client::OwnedRows& keys);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_CELL_TEXT_H_
