// Files that are no text in UTF-8, told from their first bytes. Read as text they would become a
// table of nonsense. Any thread, no state.
#ifndef ERIS_CLIENTS_CLI_LOADING_FOREIGN_FILE_H_
#define ERIS_CLIENTS_CLI_LOADING_FOREIGN_FILE_H_

#include "absl/status/status.h"
#include "clients/cli/loading/input_file.h"

namespace eris::cli {

// OK for text, and for what cannot be read twice. Blocks while some hundred bytes are read.
// Errors: InvalidArgument (Parquet, Arrow, Avro, ORC, SQLite, DuckDB, archives, other compression,
// old Excel, text in UTF-16 or UTF-32: the message says what it is, and which way leads from there
// into a table).
absl::Status CheckIsText(const InputFile& input);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_LOADING_FOREIGN_FILE_H_
