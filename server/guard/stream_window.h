// The requests in flight of one bidirectional stream. They are started in the order of their
// arrival, completed by the engine in any order, and answered in the order of their arrival.
// Bounded by number and bytes: when full, the stream stops reading, and gRPC's flow control stops
// the client.
//
// If answers are totals (RunningTotal), they are added up in the order of the requests, and what is
// written is the newest total when the previous write has ended. A request then ends with its
// answer: a client that does not read its answers does not hold up its own requests.
//
// Any thread. One thread at a time issues operations on the stream, outside the lock (Pump): a
// thread that changes the state becomes that thread, or leaves the work to the current one. So
// Finish is the last operation, and nothing uses the sink after it. The stream and each running
// request hold it by shared_ptr, since the engine may complete a request after the stream has
// ended. Independent of gRPC.
#ifndef ERIS_SERVER_GUARD_STREAM_WINDOW_H_
#define ERIS_SERVER_GUARD_STREAM_WINDOW_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/check.h"
#include "base/mutex.h"
#include "eris/engine.h"
#include "eris/errors.h"
#include "server/guard/byte_budget.h"
#include "server/guard/expiry_queue.h"
#include "server/overload/queue_gate.h"

namespace eris::server {

// The operations of a stream that the window uses: each starts and returns at once.
template <class Response>
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  virtual void BeginRead() = 0;
  // `response` must stay valid until WriteDone.
  virtual void BeginWrite(const Response* response) = 0;
  // Once: no more requests will be read, so from now on the stream waits for its client, too.
  virtual void OnEnding() {}
  // The sink may no longer exist when this returns. A read may still be running.
  virtual void EndStream(const absl::Status& status) = 0;
};

// The answers of a stream that are added up.
template <class Response>
concept RunningTotal = requires(Response total, const Response& answer) {
  total.Add(answer);
};

template <class Response>
class StreamWindow final : public ExpiryQueue::Owner,
                           public std::enable_shared_from_this<StreamWindow<Response>> {
 public:
  struct Limits {
    uint32_t requests_max = 64;
    uint64_t bytes_max = 64u << 20;  // reading stops here; one more message may be in transit
    // While half of it is used, the stream has only one request in flight; nullptr: ignored.
    // Outlives the stream.
    const ByteBudget* budget = nullptr;
    // Counts the requests. While it is full, likewise.
    QueueGate* queued = nullptr;
    // A request that takes longer than the queue's limit, which may change, is cancelled with
    // `too_long` of it. nullptr: none. Must be held by shared_ptr otherwise; the queue outlives the
    // stream.
    ExpiryQueue* queue = nullptr;
    std::function<absl::Status(std::chrono::milliseconds)> too_long{};
  };
  using Place = uint64_t;  // position of a request in its stream, from 0

  StreamWindow(Limits limits, StreamSink<Response>* sink)
      : limits_(std::move(limits)), sink_(sink) {}
  StreamWindow(const StreamWindow&) = delete;
  StreamWindow& operator=(const StreamWindow&) = delete;

  // Begins the first read.
  void Start() { Pump(); }

  // A read has brought a request of `bytes`. nullopt: the stream is over, do nothing. Otherwise
  // answer it by Answer, exactly once, and call ReadTaken when the message can be reused.
  std::optional<Place> Arrived(uint64_t bytes, ByteBudget::Charge charge) {
    auto slot = std::make_unique<Slot>();
    slot->bytes = bytes;
    slot->charge = std::move(charge);
    if (limits_.queued != nullptr) slot->queued = limits_.queued->Enter();
    base::MutexLock lock(&mu_);
    if (finished_ || ended_ || failed_) return std::nullopt;
    const Place place = first_place_ + slots_.size();
    if (limits_.queue != nullptr) {
      slot->limit.Begin(*limits_.queue, this->shared_from_this(), place);
    }
    slots_.push_back(std::move(slot));
    bytes_ += bytes;
    return place;
  }

  void ReadTaken() {
    {
      base::MutexLock lock(&mu_);
      reading_ = false;
    }
    Pump();
  }

  // The client sends no more requests.
  void HalfClosed() {
    {
      base::MutexLock lock(&mu_);
      reading_ = false;
      half_closed_ = true;
    }
    Pump();
  }

  // The engine has accepted the request at `place`. It may have been answered already.
  void Attach(Place place, std::shared_ptr<Pending> pending) {
    absl::Status status;
    {
      base::MutexLock lock(&mu_);
      if (Slot* slot = Find(place); slot != nullptr && !slot->answered) {
        slot->pending = pending;
        if (!slot->too_long) return;
        status = TooLong();
      } else {
        if (!ended_) return;
        status = *ended_;
      }
    }
    pending->Cancel(std::move(status));
  }

  // The coming answer needs `more` bytes than the charge of the request at `place`. False: there is
  // no room; answer something smaller.
  [[nodiscard]] bool TryCharge(Place place, uint64_t more) {
    base::MutexLock lock(&mu_);
    Slot* slot = Find(place);
    // If the stream has ended, the answer is dropped.
    return slot == nullptr || !slot->charge || slot->charge.TryGrow(more);
  }

  // The answer to the request at `place`. Ignored if the stream has ended meanwhile.
  void Answer(Place place, Response response) {
    std::shared_ptr<Pending> dropped;            // destroyed outside the lock
    std::vector<std::unique_ptr<Slot>> counted;  // likewise
    {
      base::MutexLock lock(&mu_);
      Slot* slot = Find(place);
      if (slot == nullptr) return;
      ERIS_DCHECK(!slot->answered);
      slot->response = std::move(response);
      slot->answered = true;
      slot->queued.Done();
      slot->limit.End();
      dropped.swap(slot->pending);
      if constexpr (kTotals) counted = CountAnswers();
    }
    Pump();
  }

  // The sum of the answers so far. Others may follow until EndStream.
  Response total() const requires RunningTotal<Response> {
    base::MutexLock lock(&mu_);
    return total_;
  }

  // The last write has ended. Not ok: the client has disconnected.
  void WriteDone(bool ok) {
    std::unique_ptr<Slot> written;  // destroyed outside the lock
    {
      base::MutexLock lock(&mu_);
      writing_ = false;
      if constexpr (!kTotals) written = TakeFirst();
    }
    written.reset();
    if (!ok) End(Error(ErrorReason::kCallerGone, "the client has gone"));
    Pump();  // even if it had been ended before
  }

  // Stops reading; ends with `status` after the last answer, unless the client half-closes first.
  void Drain(const absl::Status& status) {
    {
      base::MutexLock lock(&mu_);
      if (!drain_) drain_ = status;
    }
    Pump();
  }

  // The request at `place` has failed: it and those behind it are cancelled and not answered, and
  // the stream ends with `status` after the answers before it. kEnd: no request is cancelled, but
  // no more are read. Unlike Drain, also if the client half-closes.
  static constexpr Place kEnd = ~Place{0};
  void Fail(Place place, const absl::Status& status) {
    std::vector<std::shared_ptr<Pending>> cancelled;
    std::vector<std::unique_ptr<Slot>> dropped;  // destroyed outside the lock
    {
      base::MutexLock lock(&mu_);
      if (ended_ || finished_) return;
      if (failed_ && Find(place) == nullptr) return;  // it has been dropped
      failed_ = status;
      const uint64_t kept = place < first_place_ ? 0 : place - first_place_;
      DropBehind(kept, cancelled, dropped);
    }
    dropped.clear();
    for (const auto& pending : cancelled) pending->Cancel(status);
    Pump();
  }

  // Ends as soon as no write is running; running requests are cancelled and not answered.
  void End(const absl::Status& status) {
    std::vector<std::shared_ptr<Pending>> cancelled;
    std::vector<std::unique_ptr<Slot>> dropped;  // destroyed outside the lock
    {
      base::MutexLock lock(&mu_);
      if (ended_ || finished_) return;
      ended_ = status;
      // The first one's response belongs to the running write.
      DropBehind(writing_ && !kTotals ? 1 : 0, cancelled, dropped);
    }
    dropped.clear();
    for (const auto& pending : cancelled) pending->Cancel(status);
    Pump();
  }

  // The request at `place` has taken too long: the engine answers it, and the stream continues.
  void OnExpired(Place place) override {
    std::shared_ptr<Pending> pending;
    {
      base::MutexLock lock(&mu_);
      Slot* slot = Find(place);
      if (slot == nullptr || slot->answered) return;
      slot->too_long = true;  // if it is being started, Attach cancels it
      pending = slot->pending;
    }
    if (pending != nullptr) pending->Cancel(TooLong());
  }

 private:
  static constexpr bool kTotals = RunningTotal<Response>;

  struct Slot {
    Response response;
    bool answered = false;
    bool too_long = false;
    uint64_t bytes = 0;
    ByteBudget::Charge charge;
    QueueGate::Stay queued;  // until it is answered
    std::shared_ptr<Pending> pending;
    ExpiryQueue::Watch limit;  // until it is answered
  };
  absl::Status TooLong() const { return limits_.too_long(limits_.queue->limit()); }

  enum class Step { kNone, kEnding, kRead, kWrite, kFinish };

  Slot* Find(Place place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (place < first_place_ || place - first_place_ >= slots_.size()) return nullptr;
    return slots_[place - first_place_].get();
  }

  std::unique_ptr<Slot> TakeFirst() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::unique_ptr<Slot> first = std::move(slots_.front());
    bytes_ -= first->bytes;
    slots_.pop_front();
    ++first_place_;
    return first;
  }

  // Adds up the answers that no request without an answer precedes.
  std::vector<std::unique_ptr<Slot>> CountAnswers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::vector<std::unique_ptr<Slot>> counted;
    while (!slots_.empty() && slots_.front()->answered) {
      counted.push_back(TakeFirst());
      total_.Add(counted.back()->response);
      unwritten_ = true;
    }
    return counted;
  }

  // Removes all slots but the first `kept`.
  void DropBehind(uint64_t kept, std::vector<std::shared_ptr<Pending>>& cancelled,
                  std::vector<std::unique_ptr<Slot>>& dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    while (slots_.size() > kept) {
      std::unique_ptr<Slot>& slot = slots_.back();
      if (slot->pending != nullptr) cancelled.push_back(std::move(slot->pending));
      bytes_ -= slot->bytes;
      dropped.push_back(std::move(slot));
      slots_.pop_back();
    }
  }

  bool AnswerWaits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return kTotals ? unwritten_ : !slots_.empty() && slots_.front()->answered;
  }
  // What is written next; it stays as it is until WriteDone.
  const Response* NextAnswer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if constexpr (kTotals) {
      written_ = total_;
      unwritten_ = false;
      return &written_;
    } else {
      return &slots_.front()->response;
    }
  }

  // The next operation to issue; marks it as running.
  Step NextStep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const bool last = half_closed_ || drain_ || failed_;
    if ((last || ended_) && !ending_) {
      ending_ = true;
      return Step::kEnding;
    }
    if (ended_) {
      if (writing_) return Step::kNone;
      finished_ = true;
      return Step::kFinish;
    }
    if (!writing_ && AnswerWaits()) {
      writing_ = true;
      return Step::kWrite;
    }
    if (slots_.empty() && !writing_ && last) {
      finished_ = true;
      return Step::kFinish;
    }
    if (!reading_ && !last && (slots_.empty() || HasRoom())) {
      reading_ = true;
      return Step::kRead;
    }
    return Step::kNone;
  }

  bool HasRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (slots_.size() >= limits_.requests_max || bytes_ >= limits_.bytes_max) return false;
    // There is no notification when there is room again: the answers of requests in flight check
    // again.
    if (limits_.queued != nullptr && limits_.queued->Full()) return false;
    return limits_.budget == nullptr || limits_.budget->used() <= limits_.budget->bytes_max() / 2;
  }

  absl::Status FinalStatus() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (ended_) return *ended_;
    if (failed_) return *failed_;
    return half_closed_ ? absl::OkStatus() : *drain_;
  }

  void Pump() {
    bool mine = false;  // this thread has taken pumping_
    for (;;) {
      Step step;
      const Response* response = nullptr;
      absl::Status status;
      {
        base::MutexLock lock(&mu_);
        if (finished_ || (pumping_ && !mine)) return;
        mine = pumping_ = true;
        step = NextStep();
        if (step == Step::kNone) {
          pumping_ = false;
          return;
        }
        if (step == Step::kWrite) response = NextAnswer();
        if (step == Step::kFinish) status = FinalStatus();
      }
      switch (step) {
        case Step::kEnding:
          sink_->OnEnding();
          break;
        case Step::kRead:
          sink_->BeginRead();
          break;
        case Step::kWrite:
          sink_->BeginWrite(response);
          break;
        default:
          sink_->EndStream(status);
          return;
      }
    }
  }

  // Immutable after construction.
  const Limits limits_;
  StreamSink<Response>* const sink_;  // used only by the pumping thread, until EndStream

  mutable base::Mutex mu_;
  std::deque<std::unique_ptr<Slot>> slots_ ABSL_GUARDED_BY(mu_);  // in the order of arrival
  Place first_place_ ABSL_GUARDED_BY(mu_) = 0;                    // of slots_.front()
  uint64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;                       // of all slots
  // If answers are totals: the sum of all, and the one of the last write.
  Response total_ ABSL_GUARDED_BY(mu_){};
  Response written_ ABSL_GUARDED_BY(mu_){};
  bool unwritten_ ABSL_GUARDED_BY(mu_) = false;  // total_ has grown since
  bool reading_ ABSL_GUARDED_BY(mu_) = false;    // a read is running, or its message is in use
  bool writing_ ABSL_GUARDED_BY(mu_) = false;    // slots_.front() is being written
  bool half_closed_ ABSL_GUARDED_BY(mu_) = false;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;    // OnEnding has been a step
  bool pumping_ ABSL_GUARDED_BY(mu_) = false;   // a thread is issuing operations
  bool finished_ ABSL_GUARDED_BY(mu_) = false;  // EndStream was the last step
  std::optional<absl::Status> drain_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> failed_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> ended_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_STREAM_WINDOW_H_
