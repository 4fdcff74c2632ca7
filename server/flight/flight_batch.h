// A batch of rows that a client has sent. The rows are not copied: they lie in the message's body.
#ifndef ERIS_SERVER_FLIGHT_FLIGHT_BATCH_H_
#define ERIS_SERVER_FLIGHT_FLIGHT_BATCH_H_

#include <string>

#include "wire/columns.h"

namespace eris::server {

struct FlightBatch {
  FlightBatch() = default;
  FlightBatch(const FlightBatch&) = delete;
  FlightBatch& operator=(const FlightBatch&) = delete;

  std::string body{};
  wire::ViewedColumns rows{};
};

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_FLIGHT_BATCH_H_
