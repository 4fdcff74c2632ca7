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

// Texts are read when the object is known.
struct FlightQuery {
  std::string object{};
  std::vector<std::string> columns{};  // empty: all
  std::string filter{};                // empty: none
  std::vector<std::string> group_by{};
  std::vector<std::string> aggregates{};  // each of one or several
  // The parts of the bounds of a range of keys, [lo, hi). Empty: no such bound.
  std::vector<std::string> lo{};
  std::vector<std::string> hi{};
  uint64_t limit = 0;  // 0: all rows
  // The endpoints that are wanted, all of one snapshot. 0: one endpoint, without a snapshot.
  uint32_t shares = 0;
  friend bool operator==(const FlightQuery&, const FlightQuery&) = default;
};

// A path has one part, the object's name. A command is JSON (docs/guide/doors.md), with the object
// at least. Errors: InvalidArgument, naming the field.
absl::StatusOr<FlightQuery> FlightQueryFrom(const flight::FlightDescriptor& descriptor);

// The query for an object, without snapshot and share. Columns and types are the engine's to check.
// Errors: InvalidArgument (a text, naming its field and place; a range), FailedPrecondition (a
// hash).
absl::StatusOr<Query> QueryOf(const FlightQuery& asked, const Object& object);

// Whether its rows can be divided among several endpoints.
inline bool HasShares(const Query& query) { return query.limit == 0 && query.aggregates.empty(); }

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_FLIGHT_QUERY_H_
