// A batch of rows that a client has sent. Neither copied nor moved: the rows lie in the message.
#ifndef ERIS_SERVER_FLIGHT_FLIGHT_BATCH_H_
#define ERIS_SERVER_FLIGHT_FLIGHT_BATCH_H_

#include "arrow/flight.pb.h"
#include "wire/columns.h"

namespace eris::server {

struct FlightBatch {
  FlightBatch() = default;
  FlightBatch(const FlightBatch&) = delete;
  FlightBatch& operator=(const FlightBatch&) = delete;

  arrow::flight::protocol::FlightData message{};
  wire::ViewedColumns rows{};
};

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_FLIGHT_BATCH_H_
