#include "clients/batch_stream.h"

#include <utility>

#include "clients/answered_stream.h"
#include "clients/client_stubs.h"
#include "clients/data_messages.h"

namespace eris::client {
namespace {

// Makes the stream that `open` opens; `take` converts a response to a Result.
template <class Result, class Calls, class Open, class Take, class OnAnswer>
Calls* NewCalls(const StreamOptions& options, const Open& open, Take take, OnAnswer on_answer) {
  auto context = std::make_unique<grpc::ClientContext>();
  auto stream = open(context.get());
  return new Calls{
      {},
      {std::move(context), std::move(stream), options,
       [take, on_answer = std::move(on_answer)](uint64_t index, const AnswerShape& shape,
                                                absl::Status status, auto* response) {
         absl::StatusOr<Result> result = Result();
         if (status.ok()) result = take(shape, *response->mutable_response());
         if (!result.ok()) status = result.status();
         on_answer(index, std::move(status), result.ok() ? *std::move(result) : Result());
       }}};
}

template <class Calls>
absl::Status SendFilled(Calls& calls, absl::StatusOr<AnswerShape> shape) {
  if (!shape.ok()) return shape.status();
  return calls.stream.Send(calls.request, *std::move(shape));
}

}  // namespace

struct LookupStream::Calls {
  v1::LookupRequest request;  // reused for all requests
  AnsweredStream<v1::LookupRequest, v1::LookupStreamResponse> stream;
};

LookupStream::LookupStream(Client& client, const StreamOptions& options, OnAnswer on_answer)
    : calls_(NewCalls<LookupResult, Calls>(
          options,
          [&](grpc::ClientContext* context) { return client.stubs().data->LookupStream(context); },
          TakeLookup, std::move(on_answer))) {}
LookupStream::~LookupStream() = default;

absl::Status LookupStream::Send(const ObjectInfo& object, const RowView& keys,
                                const std::vector<std::string>& columns,
                                uint64_t answer_bytes_max) {
  return SendFilled(*calls_,
                    FillLookup(object, keys.batch(), columns, answer_bytes_max, calls_->request));
}
absl::Status LookupStream::Send(const ObjectInfo& object, const KeyColumns& keys) {
  return SendFilled(*calls_, FillLookup(object, keys, calls_->request));
}

absl::Status LookupStream::AwaitRoom() { return calls_->stream.AwaitRoom(); }
absl::Status LookupStream::Finish() { return calls_->stream.Finish(); }

struct WriteStream::Calls {
  v1::WriteRequest request;  // reused for all requests
  AnsweredStream<v1::WriteRequest, v1::WriteStreamResponse> stream;
};

WriteStream::WriteStream(Client& client, const StreamOptions& options, OnAnswer on_answer)
    : calls_(NewCalls<WriteResult, Calls>(
          options,
          [&](grpc::ClientContext* context) { return client.stubs().data->WriteStream(context); },
          TakeWrite, std::move(on_answer))) {}
WriteStream::~WriteStream() = default;

absl::Status WriteStream::Send(const ObjectInfo& object, WriteMode mode, const RowView& rows,
                               const RowView& expected) {
  return SendFilled(*calls_,
                    FillWrite(object, mode, rows.batch(), expected.batch(), calls_->request));
}
absl::Status WriteStream::Send(const ObjectInfo& object, WriteMode mode, const KeyColumns& keys,
                               absl::Span<const uint64_t> values,
                               absl::Span<const uint64_t> expected) {
  return SendFilled(*calls_, FillWrite(object, mode, keys, values, expected, calls_->request));
}

absl::Status WriteStream::AwaitRoom() { return calls_->stream.AwaitRoom(); }
absl::Status WriteStream::Finish() { return calls_->stream.Finish(); }

}  // namespace eris::client
