// What the verbs create, list, get, erase, scan, export and import do with tables. One thread;
// import has one more.
#ifndef ERIS_CLIENTS_CLI_TABLE_VERBS_H_
#define ERIS_CLIENTS_CLI_TABLE_VERBS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "clients/cli/files/table_file.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/flags.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/row_sink.h"
#include "clients/table_client.h"

namespace eris::cli {

// The flags of `scan` that are for tables.
struct TableScanFlags {
  std::string filter{};
  std::string columns{};
  std::string aggregates{};
  std::string group_by{};
  std::string into{};
  std::string format{};  // empty: as the program's --output says
  bool any() const {
    return !filter.empty() || !columns.empty() || !aggregates.empty() || !group_by.empty() ||
           !into.empty() || !format.empty();
  }
};
void AddTableScanFlags(Flags& verb, TableScanFlags& flags);
// Errors: InvalidArgument, naming the flag and the place in its text.
absl::StatusOr<Query> QueryOf(const TableScanFlags& flags, uint64_t limit);

inline bool IsTable(const ObjectInfo& info) {
  return info.kind == ObjectKind::kTable || info.kind == ObjectKind::kHeapTable;
}

// For verbs that are for keys and values. Errors: InvalidArgument, saying what to do `instead`.
absl::Status CheckNoTable(const ObjectInfo& info, absl::string_view instead);

// Writes the rows to the sink, up to the end or until nobody reads `output`, which the sink writes
// to, any more. Errors: those of both.
absl::Status WriteScan(client::TableScanReader& reader, const Output& output, RowSink& sink);

// All return the exit code. Arguments are keys, or "-".
int RunScanOfTable(const Cli& cli, client::Client& client, const std::string& table,
                   const TableScanFlags& flags, uint64_t limit);
int RunGetOfTable(const Cli& cli, client::Client& client, const std::string& table,
                  const std::vector<std::string>& arguments);
int RunEraseOfTable(const Cli& cli, client::Client& client, const std::string& table,
                    const std::vector<std::string>& arguments);

// What is read from where, and how it is sent.
struct TableImport {
  std::string table;
  // The limits of one batch.
  uint64_t rows_max = 16384;
  uint64_t text_bytes_max = 8 << 20;
  uint32_t in_flight = 8;
  bool skip_bad_lines = false;
  bool progress = true;
  uint64_t file_bytes = 0;  // 0: unknown
};
struct ImportedRows {
  uint64_t sent = 0;
  uint64_t rows = 0;
  uint64_t replaced = 0;
  uint64_t skipped = 0;
  uint64_t bytes = 0;  // of text
};
// Sends the rows of an opened file in one stream; a thread of its own reads them. `imported` is set
// in any case. Errors: InvalidArgument (a bad line, all rows before which have been sent); those of
// the stream.
absl::Status ImportRows(client::Client& client, const Schema& schema,
                        const TableImport& options, TableFile& file, ImportedRows& imported);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TABLE_VERBS_H_
