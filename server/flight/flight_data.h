// Messages of DoGet, as bytes: a column goes from the engine's chunk to where gRPC sends it from in
// one copy. Any thread, no state.
#ifndef ERIS_SERVER_FLIGHT_FLIGHT_DATA_H_
#define ERIS_SERVER_FLIGHT_FLIGHT_DATA_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "wire/arrow_ipc.h"

namespace eris::server {

// Errors: ResourceExhausted (no memory).
absl::StatusOr<grpc::ByteBuffer> FlightDataOf(absl::string_view schema_message);
absl::StatusOr<grpc::ByteBuffer> FlightDataOf(const wire::ArrowBatch& batch);

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_FLIGHT_DATA_H_
