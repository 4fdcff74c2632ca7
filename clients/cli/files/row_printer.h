// Rows as a table, or as a JSON array of objects, written as they come: numbers of 32 bits and
// floats as numbers, others as text, so that no digit is lost.
//
// Columns of a table are as wide as the first rows need, which are kept until there are enough, and
// then as the chunks so far do, strings up to a limit; a longer one takes from the blanks behind
// it, so that its row is in line again as soon as can be. One thread.
#ifndef ERIS_CLIENTS_CLI_FILES_ROW_PRINTER_H_
#define ERIS_CLIENTS_CLI_FILES_ROW_PRINTER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cli/text/byte_text.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/row_sink.h"
#include "clients/rows.h"
#include "eris/schema.h"

namespace eris::cli {

class RowPrinter final : public RowSink {
 public:
  static constexpr size_t kRowsBeforeHead = 1000;
  static constexpr size_t kNoColumn = ~size_t{0};

  // `format`: of strings. `truths`: the column of int32 that says yes or no, in JSON true or false.
  RowPrinter(Output& output, bool json, ByteFormat format = ByteFormat::kText,
             size_t truths = kNoColumn)
      : output_(output), json_(json), format_(format), truths_(truths) {}
  absl::Status Add(const Schema& schema, const client::OwnedRows& rows) override {
    Add(schema, rows, nullptr);
    return absl::OkStatus();
  }
  // Rows without their bit in `present` are missing: the table leaves them out, JSON has null
  // there.
  void Add(const Schema& schema, const client::OwnedRows& rows, const client::RowBits* present);
  void End(const Schema& schema) override;

 private:
  void Collect(const Schema& schema, const client::OwnedRows& rows, const client::RowBits* present);
  void WriteCells(const Schema& schema);
  void AddJson(const Schema& schema, const client::OwnedRows& rows, uint64_t row);
  void AppendAligned(const ColumnSchema& column, absl::string_view text, size_t i);
  void WriteLine();

  Output& output_;
  const bool json_;
  const ByteFormat format_;
  const size_t truths_;
  bool begun_ = false;
  bool first_ = true;               // of JSON
  std::vector<size_t> widths_;      // in characters
  std::vector<std::string> cells_;  // of rows that are still to be written
  std::string line_;
  size_t line_width_ = 0;    // what line_ has
  size_t line_planned_ = 0;  // what it would have if all were as wide as their column
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_ROW_PRINTER_H_
