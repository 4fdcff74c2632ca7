// A LoadedStream over one of the client's streams. Threads: one sending thread; answers come on the
// client stream's reader thread.
#ifndef ERIS_TESTS_LINEARIZABILITY_CARRIED_STREAM_H_
#define ERIS_TESTS_LINEARIZABILITY_CARRIED_STREAM_H_

#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "clients/batch_stream.h"
#include "tests/linearizability/loaded_object.h"

namespace eris {

// Calls: a stream of clients/; Result: what it answers a batch with.
template <class Calls, class Result>
class CarriedStream final : public LoadedStream {
 public:
  using SendBatch = std::function<absl::Status(Calls&, absl::Span<Operation>, const Rows&)>;
  using SetAnswers = std::function<void(absl::Span<Operation>, const Result&)>;

  CarriedStream(client::Client& client, SendBatch send, SetAnswers set,
                LoadedObject::OnError on_error)
      : send_(std::move(send)),
        set_(std::move(set)),
        on_error_(std::move(on_error)),
        calls_(client, {.in_flight_max = kBatchesInFlight},
               [this](uint64_t, const absl::Status& status, const Result& result) {
                 Answered(status, result);
               }) {}

  absl::Status Send(absl::Span<Operation> batch, const Rows& filler) override {
    absl::Status room = calls_.AwaitRoom();
    if (!room.ok()) return room;
    {
      std::lock_guard lock(mu_);
      sent_.push_back(batch);
    }
    return send_(calls_, batch, filler);
  }
  absl::Status Finish() override { return calls_.Finish(); }

 private:
  static constexpr uint32_t kBatchesInFlight = 8;

  // The oldest batch is answered.
  void Answered(const absl::Status& status, const Result& result) {
    absl::Span<Operation> batch;
    {
      std::lock_guard lock(mu_);
      batch = sent_.front();
      sent_.pop_front();
    }
    const int64_t now_ns = NowNs();
    for (Operation& one : batch) one.end_ns = now_ns;
    if (!status.ok()) return on_error_(status);
    set_(batch, result);
  }

  // Immutable after construction.
  const SendBatch send_;
  const SetAnswers set_;
  const LoadedObject::OnError on_error_;

  std::mutex mu_;
  std::deque<absl::Span<Operation>> sent_;  // guarded by mu_; unanswered, the oldest first

  Calls calls_;  // last: its reader uses the others until its end
};

}  // namespace eris

#endif  // ERIS_TESTS_LINEARIZABILITY_CARRIED_STREAM_H_
