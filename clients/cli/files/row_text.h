// Rows of tables as delimited text: CSV, or TPC-H's .tbl. `eris import` reads the same rows from it
// again: doubles to the last bit, and strings, nulls and empty strings each as what they are. One
// thread.
#ifndef ERIS_CLIENTS_CLI_FILES_ROW_TEXT_H_
#define ERIS_CLIENTS_CLI_FILES_ROW_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/row_sink.h"
#include "clients/rows.h"
#include "eris/schema.h"

namespace eris::cli {

class RowText final : public RowSink {
 public:
  // CSV has a header; a null is an empty field, an empty string stands in quotes. `tbl`: no header,
  // no quotes, '|' behind every field.
  RowText(Output& output, bool tbl) : output_(output), tbl_(tbl) {}

  // Errors: InvalidArgument, of .tbl alone: a string that it cannot hold (with '|' or a line end,
  // or an empty one where it would be read as a null), naming column and row.
  absl::Status Add(const Schema& schema, const client::OwnedRows& rows) override;
  void End(const Schema& schema) override { Head(schema); }

  uint64_t rows() const { return rows_; }

 private:
  void Head(const Schema& schema);
  absl::Status AddString(const ColumnSchema& column, absl::string_view text);

  Output& output_;
  const bool tbl_;
  bool begun_ = false;
  uint64_t rows_ = 0;
  std::string line_;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_ROW_TEXT_H_
