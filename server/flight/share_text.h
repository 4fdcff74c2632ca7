// What an endpoint's app_metadata says of its share, as JSON (docs/guide/doors.md). Any thread, no
// state.
#ifndef ERIS_SERVER_FLIGHT_SHARE_TEXT_H_
#define ERIS_SERVER_FLIGHT_SHARE_TEXT_H_

#include <cstdint>
#include <string>

#include "eris/query.h"
#include "eris/session.h"

namespace eris::server {

// One of `parts` parts of the share. Of an index the range has its keys, and its rows are exact. Of
// a table the range has values of the first key column.
std::string ShareText(const Object& object, const ObjectShare& share, uint32_t parts);

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_SHARE_TEXT_H_
