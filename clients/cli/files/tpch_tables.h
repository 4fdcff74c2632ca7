// Column names, types and keys of the TPC-H tables: .tbl files carry none. Any thread.
#ifndef ERIS_CLIENTS_CLI_FILES_TPCH_TABLES_H_
#define ERIS_CLIENTS_CLI_FILES_TPCH_TABLES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "eris/schema.h"

namespace eris::cli {

// Empty for a name that is no TPC-H table.
std::vector<std::string> TpchColumns(absl::string_view table);

// With the primary key. No columns for a name that is no TPC-H table.
Schema TpchSchema(absl::string_view table);

// "dir/orders.tbl.3" -> "orders"; any other name up to its first point.
absl::string_view TableOfPath(absl::string_view path);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_TPCH_TABLES_H_
