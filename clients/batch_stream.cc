#include "clients/batch_stream.h"

#include <utility>

#include "clients/answered_stream.h"
#include "clients/client_stubs.h"

namespace eris::client {

struct LookupStream::Calls {
  v1::LookupRequest request;  // its memory is used again
  AnsweredStream<v1::LookupRequest, v1::LookupStreamResponse> stream;
};

LookupStream::LookupStream(Client& client, const StreamOptions& options, OnAnswer on_answer)
    : calls_([&] {
        auto context = std::make_unique<grpc::ClientContext>();
        auto stream = client.stubs().data->LookupStream(context.get());
        return new Calls{
            {},
            {std::move(context), std::move(stream), options,
             [on_answer = std::move(on_answer)](uint64_t index, size_t keys, absl::Status status,
                                                v1::LookupStreamResponse* response) {
               LookupResult result;
               if (status.ok()) {
                 status = TakeLookupResult(std::move(*response->mutable_response()), keys, result);
               }
               on_answer(index, std::move(status), std::move(result));
             }}};
      }()) {}

LookupStream::~LookupStream() = default;

absl::Status LookupStream::Send(const std::string& object, const KeyColumns& keys,
                                const KeyTypes& key_type) {
  calls_->request.set_object(object);
  if (absl::Status status = SetKeys(key_type, keys, calls_->request); !status.ok()) return status;
  return calls_->stream.Send(calls_->request, keys.size());
}

absl::Status LookupStream::AwaitRoom() { return calls_->stream.AwaitRoom(); }
absl::Status LookupStream::Finish() { return calls_->stream.Finish(); }

struct UpsertStream::Calls {
  v1::UpsertRequest request;  // its memory is used again
  AnsweredStream<v1::UpsertRequest, v1::UpsertStreamResponse> stream;
};

UpsertStream::UpsertStream(Client& client, const StreamOptions& options, OnAnswer on_answer)
    : calls_([&] {
        auto context = std::make_unique<grpc::ClientContext>();
        auto stream = client.stubs().data->UpsertStream(context.get());
        return new Calls{
            {},
            {std::move(context), std::move(stream), options,
             [on_answer = std::move(on_answer)](uint64_t index, size_t keys, absl::Status status,
                                                v1::UpsertStreamResponse* response) {
               RowBits existed;
               if (status.ok()) {
                 std::string bits = std::move(*response->mutable_response()->mutable_existed());
                 status = ToRowBits(std::move(bits), keys, false, existed);
               }
               on_answer(index, std::move(status), std::move(existed));
             }}};
      }()) {}

UpsertStream::~UpsertStream() = default;

absl::Status UpsertStream::Send(const std::string& object, const KeyColumns& keys,
                                absl::Span<const uint64_t> values, const KeyTypes& key_type) {
  calls_->request.set_object(object);
  if (absl::Status status = SetKeys(key_type, keys, calls_->request); !status.ok()) return status;
  ToColumn(values, *calls_->request.mutable_values());
  return calls_->stream.Send(calls_->request, keys.size());
}

absl::Status UpsertStream::AwaitRoom() { return calls_->stream.AwaitRoom(); }
absl::Status UpsertStream::Finish() { return calls_->stream.Finish(); }

struct WriteStream::Calls {
  v1::WriteRequest request;  // its memory is used again
  AnsweredStream<v1::WriteRequest, v1::WriteStreamResponse> stream;
};

WriteStream::WriteStream(Client& client, const StreamOptions& options, OnAnswer on_answer)
    : calls_([&] {
        auto context = std::make_unique<grpc::ClientContext>();
        auto stream = client.stubs().data->WriteStream(context.get());
        return new Calls{
            {},
            {std::move(context), std::move(stream), options,
             [on_answer = std::move(on_answer)](uint64_t index, size_t keys, absl::Status status,
                                                v1::WriteStreamResponse* response) {
               WriteResult result;
               if (status.ok()) {
                 status = TakeWriteResult(std::move(*response->mutable_response()), keys, result);
               }
               on_answer(index, std::move(status), std::move(result));
             }}};
      }()) {}

WriteStream::~WriteStream() = default;

absl::Status WriteStream::Send(const std::string& object, WriteMode mode, const KeyColumns& keys,
                               absl::Span<const uint64_t> values,
                               absl::Span<const uint64_t> expected, const KeyTypes& key_type) {
  absl::Status status =
      ToWriteRequest(object, mode, keys, values, expected, calls_->request, key_type);
  if (!status.ok()) return status;
  return calls_->stream.Send(calls_->request, keys.size());
}

absl::Status WriteStream::AwaitRoom() { return calls_->stream.AwaitRoom(); }
absl::Status WriteStream::Finish() { return calls_->stream.Finish(); }

}  // namespace eris::client
