#include "clients/batch_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/rpc_status.h"

namespace eris::client {
namespace internal {

template <class Request, class Response>
BatchStream<Request, Response>::BatchStream(std::unique_ptr<grpc::ClientContext> context,
                                            std::unique_ptr<Stream> stream,
                                            const StreamOptions& options, OnAnswer on_answer)
    : options_(options),
      on_answer_(std::move(on_answer)),
      context_(std::move(context)),
      stream_(std::move(stream)),
      reader_([this] { ReadAnswers(); }) {}

template <class Request, class Response>
BatchStream<Request, Response>::~BatchStream() {
  if (finished_) return;
  context_->TryCancel();
  (void)Finish();
}

template <class Request, class Response>
bool BatchStream<Request, Response>::AwaitInFlightBelow(size_t limit) {
  struct Wait {
    BatchStream* stream;
    size_t limit;
    uint64_t answered;
  };
  while (!ended_ && unanswered_keys_.size() >= limit) {
    // Any answer is progress and starts the wait anew.
    Wait wait{this, limit, answered_};
    const bool moved =
        mu_.AwaitWithTimeout(absl::Condition(
                                 +[](Wait* w) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                   return w->stream->ended_ || w->stream->answered_ != w->answered;
                                 },
                                 &wait),
                             options_.stall_timeout);
    if (!moved) {
      stalled_ = true;
      return false;
    }
  }
  return true;
}

template <class Request, class Response>
absl::Status BatchStream<Request, Response>::AwaitRoom() {
  absl::MutexLock lock(&mu_);
  if (!AwaitInFlightBelow(options_.in_flight_max)) {
    context_->TryCancel();
    return absl::DeadlineExceededError(absl::StrCat(
        "no answer for ", absl::FormatDuration(options_.stall_timeout), " on the stream"));
  }
  return ended_ ? end_status_ : absl::OkStatus();
}

template <class Request, class Response>
absl::Status BatchStream<Request, Response>::Send(const Request& request, size_t keys) {
  const absl::Status status = AwaitRoom();
  if (!status.ok()) return status;
  {
    absl::MutexLock lock(&mu_);
    if (ended_) return end_status_;
    // Entered before the write: the answer may be faster than Write's return.
    unanswered_keys_.push_back(keys);
  }
  // A write that fails means that the stream has ended; the reader then answers this request too.
  (void)stream_->Write(request);
  return absl::OkStatus();
}

template <class Request, class Response>
absl::Status BatchStream<Request, Response>::Finish() {
  if (!finished_) {
    finished_ = true;
    (void)stream_->WritesDone();
    bool moved;
    {
      absl::MutexLock lock(&mu_);
      moved = AwaitInFlightBelow(1);
    }
    if (!moved) context_->TryCancel();
    reader_.join();
  }
  absl::MutexLock lock(&mu_);
  return end_status_;
}

template <class Request, class Response>
void BatchStream<Request, Response>::ReadAnswers() {
  Response response;
  uint64_t index = 0;
  while (stream_->Read(&response)) {
    size_t keys;
    {
      absl::MutexLock lock(&mu_);
      if (unanswered_keys_.empty()) {
        context_->TryCancel();  // an answer that nobody asked for
        break;
      }
      keys = unanswered_keys_.front();
    }
    on_answer_(index++, keys, ToAbslStatus(response.status().code(), response.status().message()),
               &response);
    absl::MutexLock lock(&mu_);
    unanswered_keys_.pop_front();
    ++answered_;
  }
  absl::Status status = ToAbslStatus(stream_->Finish());
  std::deque<size_t> rest;
  {
    absl::MutexLock lock(&mu_);
    if (stalled_) {
      status = absl::DeadlineExceededError(absl::StrCat(
          "no answer for ", absl::FormatDuration(options_.stall_timeout), " on the stream"));
    } else if (status.ok() && !unanswered_keys_.empty()) {
      status = absl::UnavailableError(absl::StrCat("the server ended the stream with ",
                                                   unanswered_keys_.size(), " batches unanswered"));
    }
    ended_ = true;  // from here Send enters nothing more
    end_status_ = status;
    rest.swap(unanswered_keys_);
  }
  for (const size_t keys : rest) on_answer_(index++, keys, status, nullptr);
}

template class BatchStream<v1::LookupRequest, v1::LookupStreamResponse>;
template class BatchStream<v1::UpsertRequest, v1::UpsertStreamResponse>;
template class BatchStream<v1::WriteRequest, v1::WriteStreamResponse>;
template class BatchStream<v1::WriteRowsRequest, v1::WriteRowsStreamResponse>;

}  // namespace internal

LookupStream::LookupStream(Client& client, const StreamOptions& options, OnAnswer on_answer)
    : stream_([&] {
        auto context = std::make_unique<grpc::ClientContext>();
        auto stream = client.data_stub().LookupStream(context.get());
        return internal::BatchStream<v1::LookupRequest, v1::LookupStreamResponse>(
            std::move(context), std::move(stream), options,
            [on_answer = std::move(on_answer)](uint64_t index, size_t keys, absl::Status status,
                                               v1::LookupStreamResponse* response) {
              LookupResult result;
              if (status.ok()) {
                status = TakeLookupResult(std::move(*response->mutable_response()), keys, result);
              }
              on_answer(index, std::move(status), std::move(result));
            });
      }()) {}

absl::Status LookupStream::Send(const std::string& object, const KeyColumns& keys,
                                const KeyTypes& key_type) {
  request_.set_object(object);
  if (absl::Status status = SetKeys(key_type, keys, request_); !status.ok()) return status;
  return stream_.Send(request_, keys.size());
}

UpsertStream::UpsertStream(Client& client, const StreamOptions& options, OnAnswer on_answer)
    : stream_([&] {
        auto context = std::make_unique<grpc::ClientContext>();
        auto stream = client.data_stub().UpsertStream(context.get());
        return internal::BatchStream<v1::UpsertRequest, v1::UpsertStreamResponse>(
            std::move(context), std::move(stream), options,
            [on_answer = std::move(on_answer)](uint64_t index, size_t keys, absl::Status status,
                                               v1::UpsertStreamResponse* response) {
              RowBits existed;
              if (status.ok()) {
                std::string bits = std::move(*response->mutable_response()->mutable_existed());
                status = ToRowBits(std::move(bits), keys, false, existed);
              }
              on_answer(index, std::move(status), std::move(existed));
            });
      }()) {}

absl::Status UpsertStream::Send(const std::string& object, const KeyColumns& keys,
                                absl::Span<const uint64_t> values, const KeyTypes& key_type) {
  request_.set_object(object);
  if (absl::Status status = SetKeys(key_type, keys, request_); !status.ok()) return status;
  ToColumn(values, *request_.mutable_values());
  return stream_.Send(request_, keys.size());
}

WriteStream::WriteStream(Client& client, const StreamOptions& options, OnAnswer on_answer)
    : stream_([&] {
        auto context = std::make_unique<grpc::ClientContext>();
        auto stream = client.data_stub().WriteStream(context.get());
        return internal::BatchStream<v1::WriteRequest, v1::WriteStreamResponse>(
            std::move(context), std::move(stream), options,
            [on_answer = std::move(on_answer)](uint64_t index, size_t keys, absl::Status status,
                                               v1::WriteStreamResponse* response) {
              WriteResult result;
              if (status.ok()) {
                status = TakeWriteResult(std::move(*response->mutable_response()), keys, result);
              }
              on_answer(index, std::move(status), std::move(result));
            });
      }()) {}

absl::Status WriteStream::Send(const std::string& object, WriteMode mode, const KeyColumns& keys,
                               absl::Span<const uint64_t> values,
                               absl::Span<const uint64_t> expected, const KeyTypes& key_type) {
  absl::Status status = ToWriteRequest(object, mode, keys, values, expected, request_, key_type);
  if (!status.ok()) return status;
  return stream_.Send(request_, keys.size());
}

}  // namespace eris::client
