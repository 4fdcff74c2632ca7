// DoPut: writes the rows that a client streams into an object: into a heap table they are appended,
// elsewhere they replace rows with their keys. Results are running totals (put_totals.h): one is
// written when batches have been written and the client has taken the result before. A client that
// reads none until it has sent all is not held up. After an error nothing more is read; the batches
// that are under way are awaited, so the last result and the status tell how many rows were
// written.
#ifndef ERIS_SERVER_FLIGHT_PUT_CALL_H_
#define ERIS_SERVER_FLIGHT_PUT_CALL_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "server/flight/flight_stream.h"
#include "server/flight/put_totals.h"
#include "server/state/server_state.h"

namespace eris::server {

class PutCall final : public FlightStream<PutTotals> {
 public:
  // gRPC owns the result.
  static PutCall* Begin(ServerState& server, grpc::CallbackServerContext& context);

 private:
  PutCall(ServerState& server, grpc::CallbackServerContext& context)
      : FlightStream(server, context, /*is_write=*/true) {}

  absl::Status OnObject(const FlightQuery& query) override;
  absl::Span<const uint32_t> ColumnsSent() const override;
  uint64_t AnswerBytesMax(uint64_t rows) const override;
  void Start(Place place, std::shared_ptr<FlightBatch> batch) override;
  const grpc::ByteBuffer* MessageOf(const PutTotals* totals) override;
  absl::Status LastStatus(const absl::Status& status) override;

  // Rows of batches that have been started. Written by the running read, read at the end.
  std::atomic<uint64_t> rows_started_{0};
  grpc::ByteBuffer out_;  // of the running write
};

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_PUT_CALL_H_
