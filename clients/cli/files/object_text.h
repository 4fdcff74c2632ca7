// Data objects as `eris list`, `eris describe` and `eris stats` show them. Pure functions; any
// thread.
#ifndef ERIS_CLIENTS_CLI_FILES_OBJECT_TEXT_H_
#define ERIS_CLIENTS_CLI_FILES_OBJECT_TEXT_H_

#include <string>
#include <vector>

#include "clients/json.h"
#include "eris/types.h"

namespace eris::cli {

// Bounds are values of the first key column; a heap table has none.
Json ToJson(const ObjectInfo& object);
std::string ToText(const std::vector<ObjectInfo>& objects);
// One object by itself: a line each for its columns and its partitions.
std::string DescribeText(const ObjectInfo& object);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_OBJECT_TEXT_H_
