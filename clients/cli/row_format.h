// How the verbs that print rows print them: --format, --hex and --base64. One thread.
#ifndef ERIS_CLIENTS_CLI_ROW_FORMAT_H_
#define ERIS_CLIENTS_CLI_ROW_FORMAT_H_

#include <string>

#include "clients/cli/files/row_printer.h"
#include "clients/cli/files/row_text.h"
#include "clients/cli/text/byte_flags.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/flags.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/row_sink.h"

namespace eris::cli {

struct RowFormat {
  ByteFlags bytes{};
  std::string format{};  // empty: the program's --output

  void AddTo(Flags& verb) {
    bytes.AddTo(verb, /*with_raw=*/false);
    verb.Add("--format", format,
             "table, json, or as a file that import reads again: csv, tbl; default: as --output "
             "says")
        .Check(OneOf({"table", "json", "csv", "tbl"}));
  }
};

// The sink that a RowFormat asks for. `output` outlives it.
class FormattedRows {
 public:
  FormattedRows(const Cli& cli, const RowFormat& format, Output& output)
      : delimited_(format.format == "csv" || format.format == "tbl"),
        printer_(output, format.format.empty() ? cli.json() : format.format == "json",
                 format.bytes.format()),
        text_(output, format.format == "tbl") {}

  RowSink& sink() { return delimited_ ? static_cast<RowSink&>(text_) : printer_; }

 private:
  const bool delimited_;
  RowPrinter printer_;
  RowText text_;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_ROW_FORMAT_H_
