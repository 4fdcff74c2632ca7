#include "clients/load/remote_target.h"

#include <grpcpp/completion_queue.h>
#include <time.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/client_stubs.h"
#include "clients/load/clock.h"
#include "clients/load/remote_call.h"
#include "clients/rpc_status.h"
#include "eris/v1/data.grpc.pb.h"
#include "wire/columns.h"

namespace eris::load {
namespace {

// gRPC's own waits end at whole milliseconds: the last two before a deadline are spent in short
// sleeps, with a check of the queue in between.
constexpr int64_t kCoarseNs = 2'000'000;
constexpr int64_t kNapNs = 50'000;

gpr_timespec ToTimespec(int64_t ns) {
  return {.tv_sec = ns / 1'000'000'000,
          .tv_nsec = static_cast<int32_t>(ns % 1'000'000'000),
          .clock_type = GPR_CLOCK_MONOTONIC};
}

// Sets a column of the message, whose memory is reused, to u64 numbers.
void SetColumn(int column, const std::vector<uint64_t>& numbers, wire::Columns& message) {
  while (message.size() <= column) message.Add();
  wire::FillColumn(ColumnType::kUint64, numbers.size(), {.values = numbers.data()},
                   message.Mutable(column));
}

class RemoteTarget final : public Target {
 public:
  RemoteTarget(client::Client& client, const RemoteOptions& options, AnswerSink& sink)
      : stub_(*client.stubs().data),
        options_(options),
        sink_(sink),
        streams_(options.streams),
        calls_(size_t{options.streams} * options.in_flight) {}

  // Cancels the rest.
  ~RemoteTarget() override {
    Cancel();
    while (steps_ > 0) TakeStep(Next(nullptr));
    queue_.Shutdown();
    while (queue_.Next(&tag_, &ok_)) {
    }
  }

  void Send(Request& request) override {
    const bool reads = request.operation == Operation::kLookup ||
                       (request.operation == Operation::kReadModifyWrite && !request.writing);
    if (request.operation == Operation::kScan) return SendScan(request);
    if (options_.unary) return SendUnary(request, reads);
    SlotStreams& streams = streams_[request.slot / options_.in_flight];
    if (reads) {
      if (!streams.lookups) {
        streams.lookups = std::make_unique<LookupStream>(
            LookupCodec<v1::LookupStreamResponse>(), steps_,
            [this](auto* context) { return stub_.PrepareAsyncLookupStream(context, &queue_); });
      }
      streams.lookups->Send(request);
    } else {
      if (!streams.writes) {
        streams.writes = std::make_unique<WriteStream>(
            WriteCodec<v1::WriteStreamResponse>(), steps_,
            [this](auto* context) { return stub_.PrepareAsyncWriteStream(context, &queue_); });
      }
      streams.writes->Send(request);
    }
  }

  void Await(int64_t deadline_ns) override {
    for (;;) {
      const int64_t left_ns = deadline_ns - MonotonicNs();
      const bool coarse = left_ns > kCoarseNs;
      const gpr_timespec until = ToTimespec(coarse ? deadline_ns - kCoarseNs : 0);
      if (TakeStep(Next(&until)) || left_ns <= 0) return;
      if (coarse) continue;
      const timespec nap{.tv_sec = 0, .tv_nsec = std::min(kNapNs, left_ns)};
      clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);
    }
  }

  void Cancel() override {
    ForEachStream([](auto& stream) { stream.Cancel(); });
    for (SlotCalls& calls : calls_) {
      if (calls.lookup) calls.lookup->Cancel();
      if (calls.write) calls.write->Cancel();
      if (calls.scan) calls.scan->Cancel();
    }
  }

  absl::Status Close() override {
    ForEachStream([](auto& stream) { stream.Close(); });
    const int64_t limit_ns = MonotonicNs() + kCloseNs;
    while (steps_ > 0) {
      const gpr_timespec until = ToTimespec(limit_ns);
      if (TakeStep(Next(&until))) continue;
      Cancel();
      while (steps_ > 0) TakeStep(Next(nullptr));
    }
    absl::Status status;
    ForEachStream([&](auto& stream) {
      if (stream.end()) status.Update(*stream.end());
    });
    return status;
  }

 private:
  static constexpr int64_t kCloseNs = 5'000'000'000;

  using LookupStream = BatchCall<v1::LookupRequest, v1::LookupStreamResponse>;
  using WriteStream = BatchCall<v1::WriteRequest, v1::WriteStreamResponse>;
  using Scan = ScanCall<v1::ScanRequest, v1::ScanResponse>;
  struct SlotStreams {
    std::unique_ptr<LookupStream> lookups;
    std::unique_ptr<WriteStream> writes;
  };
  struct SlotCalls {
    std::unique_ptr<UnaryCall<v1::LookupRequest, v1::LookupResponse>> lookup;
    std::unique_ptr<UnaryCall<v1::WriteRequest, v1::WriteResponse>> write;
    std::unique_ptr<Scan> scan;
  };

  template <class Function>
  void ForEachStream(const Function& function) {
    for (SlotStreams& streams : streams_) {
      if (streams.lookups) function(*streams.lookups);
      if (streams.writes) function(*streams.writes);
    }
  }

  // The next step; nullptr at `until`. Without `until`: blocks until there is one.
  Step* Next(const gpr_timespec* until) {
    tag_ = nullptr;
    if (until == nullptr) {
      if (!queue_.Next(&tag_, &ok_)) return nullptr;
    } else if (queue_.AsyncNext(&tag_, &ok_, *until) != grpc::CompletionQueue::GOT_EVENT) {
      return nullptr;
    }
    return static_cast<Step*>(tag_);
  }
  bool TakeStep(Step* step) {
    if (step == nullptr) return false;
    --steps_;
    step->Done(ok_);
    return true;
  }

  void Fail(Request& request, const absl::Status& status) {
    sink_.OnAnswer(request, {.status = status});
  }

  void Take(Request& request, const v1::LookupResponse& response) {
    Answer answer{.present = response.found()};
    if (response.columns_size() > 0) answer.values = response.columns(0).data();
    sink_.OnAnswer(request, answer);
  }
  void Take(Request& request, const v1::WriteResponse& response) {
    if (response.has_refusal() && response.refusal().code() != 0) {
      return Fail(request, client::ToAbslStatus(response.refusal()));
    }
    sink_.OnAnswer(request, {.present = response.existed(), .applied = response.applied()});
  }
  template <class Response>
  requires requires(const Response& response) { response.response(); }
  void Take(Request& request, const Response& response) {
    if (response.status().code() != 0) {
      return Fail(request, client::ToAbslStatus(response.status()));
    }
    Take(request, response.response());
  }

  template <class RequestMessage, class Response, class Encode>
  Codec<RequestMessage, Response> CodecOf(Encode encode) {
    return {
        .encode =
            [this, encode](const Request& request, RequestMessage& message) {
              if (message.object().empty()) message.set_object(options_.object);
              encode(request, message);
            },
        .answer = [this](Request& request, const Response& response) { Take(request, response); },
        .fail = [this](Request& request, const absl::Status& status) { Fail(request, status); }};
  }
  template <class Response>
  Codec<v1::LookupRequest, Response> LookupCodec() {
    return CodecOf<v1::LookupRequest, Response>(
        [](const Request& request, v1::LookupRequest& message) {
          SetColumn(0, request.keys, *message.mutable_keys());
        });
  }
  template <class Response>
  Codec<v1::WriteRequest, Response> WriteCodec() {
    return CodecOf<v1::WriteRequest, Response>([](const Request& request,
                                                  v1::WriteRequest& message) {
      SetColumn(0, request.keys, *message.mutable_columns());
      SetColumn(1, request.values, *message.mutable_columns());
      message.set_mode(request.writing ? v1::WRITE_MODE_COMPARE_AND_SET : v1::WRITE_MODE_UPSERT);
      if (request.writing) {
        SetColumn(0, request.values, *message.mutable_expected());
      } else {
        message.clear_expected();
      }
    });
  }

  void SendUnary(Request& request, bool reads) {
    SlotCalls& calls = calls_[request.slot];
    if (reads) {
      if (!calls.lookup) {
        calls.lookup = std::make_unique<UnaryCall<v1::LookupRequest, v1::LookupResponse>>(
            LookupCodec<v1::LookupResponse>(), steps_, [this](auto* context, const auto& message) {
              return stub_.PrepareAsyncLookup(context, message, &queue_);
            });
      }
      calls.lookup->Send(request);
    } else {
      if (!calls.write) {
        calls.write = std::make_unique<UnaryCall<v1::WriteRequest, v1::WriteResponse>>(
            WriteCodec<v1::WriteResponse>(), steps_, [this](auto* context, const auto& message) {
              return stub_.PrepareAsyncWrite(context, message, &queue_);
            });
      }
      calls.write->Send(request);
    }
  }

  void SendScan(Request& request) {
    SlotCalls& calls = calls_[request.slot];
    if (!calls.scan) {
      Codec<v1::ScanRequest, v1::ScanResponse> codec = {
          .encode =
              [this](const Request& of, v1::ScanRequest& message) {
                message.set_object(options_.object);
                message.mutable_query()->mutable_range()->set_lo(of.keys[0]);
                message.mutable_query()->set_limit(of.rows_max);
              },
          .answer = [this](Request& of,
                           const v1::ScanResponse& response) { TakeRows(of, response); },
          .fail = {}};
      calls.scan = std::make_unique<Scan>(
          std::move(codec), [this](Request& of, const absl::Status& status) { Fail(of, status); },
          steps_,
          [this](auto* context, const auto& message) {
            return stub_.PrepareAsyncScan(context, message, &queue_);
          });
    }
    calls.scan->Send(request);
  }

  void TakeRows(Request& request, const v1::ScanResponse& response) {
    if (response.columns_size() != 2) {
      if (response.rows() > 0) ++request.wrong;
      return;
    }
    const std::string& keys = response.columns(0).data();
    const std::string& values = response.columns(1).data();
    // If the columns have different lengths the common part is used: the rest is missing or
    // surplus.
    const size_t rows = std::min(keys.size(), values.size()) / sizeof(uint64_t);
    if (keys.size() != values.size()) ++request.wrong;
    sink_.OnRows(request, keys.data(), values.data(), rows);
  }

  v1::Data::Stub& stub_;
  const RemoteOptions options_;
  AnswerSink& sink_;
  grpc::CompletionQueue queue_;
  uint64_t steps_ = 0;  // running steps
  void* tag_ = nullptr;
  bool ok_ = false;
  std::vector<SlotStreams> streams_;
  std::vector<SlotCalls> calls_;  // by slot
};

}  // namespace

std::unique_ptr<Target> NewRemoteTarget(client::Client& client, const RemoteOptions& options,
                                        AnswerSink& sink) {
  return std::make_unique<RemoteTarget>(client, options, sink);
}

}  // namespace eris::load
