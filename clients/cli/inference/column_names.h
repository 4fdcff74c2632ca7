// Names of columns, from a header or from the keys of NDJSON. Pure functions; any thread.
#ifndef ERIS_CLIENTS_CLI_INFERENCE_COLUMN_NAMES_H_
#define ERIS_CLIENTS_CLI_INFERENCE_COLUMN_NAMES_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace eris::cli {

// A column's name: the one that the file gives, changed so that the command line can write it, or
// else `other`. Not one of `used`, to which it is added.
std::string ColumnName(const std::string& given, const std::string& other,
                       std::set<std::string>& used);

// The names of a file's columns: those given, or c1, c2, ... Each is there once.
std::vector<std::string> ColumnNames(const std::vector<std::string>& given);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_INFERENCE_COLUMN_NAMES_H_
