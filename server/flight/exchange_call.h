// DoExchange: keys in, rows out. For each batch of keys there is a batch of answers, in the same
// order: first a column `found`, then the columns of the object that were asked for, null where no
// row has the key. They follow a schema, which is sent when that of the keys has come.
#ifndef ERIS_SERVER_FLIGHT_EXCHANGE_CALL_H_
#define ERIS_SERVER_FLIGHT_EXCHANGE_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "eris/schema.h"
#include "server/flight/flight_stream.h"
#include "server/state/server_state.h"

namespace eris::server {

class ExchangeCall final : public FlightStream<grpc::ByteBuffer> {
 public:
  // gRPC owns the result.
  static ExchangeCall* Begin(ServerState& server, grpc::CallbackServerContext& context);

 private:
  ExchangeCall(ServerState& server, grpc::CallbackServerContext& context)
      : FlightStream(server, context, /*is_write=*/false) {}

  absl::Status OnObject(const FlightQuery& query) override;
  absl::Span<const uint32_t> ColumnsSent() const override { return object_.schema().key; }
  absl::Status OnSchema() override;
  uint64_t AnswerBytesMax(uint64_t rows) const override;
  void Start(Place place, std::shared_ptr<FlightBatch> batch) override;
  const grpc::ByteBuffer* MessageOf(const grpc::ByteBuffer* answer) override { return answer; }

  // Owned by the running read.
  std::vector<std::string> columns_;        // that are asked for, by name
  std::shared_ptr<const Schema> answered_;  // of them
};

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_EXCHANGE_CALL_H_
