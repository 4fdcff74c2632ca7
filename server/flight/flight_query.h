// What a client of Arrow Flight asks for: the path or the command of a descriptor. Any thread, no
// state.
#ifndef ERIS_SERVER_FLIGHT_FLIGHT_QUERY_H_
#define ERIS_SERVER_FLIGHT_FLIGHT_QUERY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "arrow/flight.pb.h"
#include "eris/query.h"
#include "eris/schema.h"
#include "eris/session.h"

namespace eris::server {

namespace flight = ::arrow::flight::protocol;

inline constexpr size_t kFlightCommandBytesMax = 64 << 10;
inline constexpr uint32_t kFlightSharesMax = 4096;

struct FlightQuery {
  std::string object{};
  std::vector<std::string> columns{};  // empty: all
  uint64_t limit = 0;                  // 0: all rows
  // The endpoints that are wanted, all of one snapshot. 0: one endpoint, without a snapshot.
  uint32_t shares = 0;
  friend bool operator==(const FlightQuery&, const FlightQuery&) = default;
};

// A path has one part, the object's name. A command is JSON: {"object": "orders", "columns":
// ["key"], "limit": 10, "shares": 4}, with the object at least. Errors: InvalidArgument.
absl::StatusOr<FlightQuery> FlightQueryFrom(const flight::FlightDescriptor& descriptor);

// The query for an object, without snapshot and share. Errors: InvalidArgument (columns),
// FailedPrecondition (a hash).
absl::StatusOr<Query> QueryOf(const FlightQuery& query, const Object& object);
// The columns of its answer. REQUIRES: a result of QueryOf for this object.
Schema AnswerSchema(const Query& query, const Object& object);

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_FLIGHT_QUERY_H_
