// Names of columns, from a header or from the keys of NDJSON. Pure functions; any thread.
#ifndef ERIS_CLIENTS_CLI_INFERENCE_COLUMN_NAMES_H_
#define ERIS_CLIENTS_CLI_INFERENCE_COLUMN_NAMES_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "eris/schema.h"

namespace eris::cli {

// A column's name: the one that the file gives, changed so that the command line can write it, or
// else `other`. Not one of `used`, to which it is added.
std::string ColumnName(const std::string& given, const std::string& other,
                       std::set<std::string>& used);

// The names of a file's columns: those given, or c1, c2, ... Each is there once. A name that needs
// no change is that of its column, whatever comes before it.
std::vector<std::string> ColumnNames(const std::vector<std::string>& given);

// Which of the keys of NDJSON is which column of a table that exists: by column, a key that is its
// name, or else the one that ColumnNames changes to it. There is none if several keys become that
// name, or if the table has NAME_2, too: the order of keys would decide. Then it is the column's
// name.
std::vector<std::string> KeysOfColumns(const std::vector<std::string>& keys, const Schema& schema);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_INFERENCE_COLUMN_NAMES_H_
