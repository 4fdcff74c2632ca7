// Requests of one session for one object take effect, key by key, in the order in which they were
// sent, also while ranges move. All running requests use one version of the range table. AEUs
// execute the first commands of a key and version, and refuse all later ones
// (docs/internals/ROUTING.md has the protocol and the argument). Once a request comes back with
// refused keys, later requests are held. When all are answered, they are sent again by the newest
// version, in their order. Paper: ERIS 3.2, 3.3.2.
#ifndef ERIS_ENGINE_CORE_SEND_ORDER_H_
#define ERIS_ENGINE_CORE_SEND_ORDER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "engine/completion/answer_point.h"
#include "engine/completion/completion_queue.h"
#include "engine/completion/resends.h"
#include "engine/objects/object_entry.h"
#include "routing/port.h"
#include "routing/ranges/range_table.h"

namespace eris::engine {

class Request;

// A session's Port. It outlives the session while requests are running. The last reference may be
// released with an answer, on any thread, so it is destroyed on the thread of `resends`.
struct SessionPort final : public CompletionTask {
  // `options` has a collector; `points` are those of the session's NumaNode.
  static std::shared_ptr<SessionPort> Create(const routing::EndpointDirectory& directory,
                                             const routing::PortOptions& options, Resends& resends,
                                             AnswerPoints& points) {
    return {new SessionPort(directory, options, points),
            [&resends](SessionPort* port) { resends.Push(port); }};
  }
  void Complete() override { delete this; }

  // Where its blocks come home.
  AnswerPoint& answers() const { return home_.point; }
  // Takes home what all sessions have out: there was no room.
  void CollectAll() { collector_.CollectAll(); }

 private:
  struct Home {
    explicit Home(AnswerPoints& all) : points(all), point(all.Take()) {}
    ~Home() { points.Put(point); }
    Home(const Home&) = delete;
    Home& operator=(const Home&) = delete;

    AnswerPoints& points;
    AnswerPoint& point;
  };
  const Home home_;

 public:
  base::Mutex mu;
  routing::Port port ABSL_GUARDED_BY(mu);

 private:
  SessionPort(const routing::EndpointDirectory& directory, routing::PortOptions options,
              AnswerPoints& points)
      : home_(points), port(directory, WithHome(options, home_)), collector_(*options.collector) {}
  static routing::PortOptions WithHome(routing::PortOptions options, const Home& home) {
    options.home = &home.point.blocks();
    return options;
  }
  routing::AnswerCollector& collector_;
};

class SendOrder final : public CompletionTask, public std::enable_shared_from_this<SendOrder> {
 public:
  // `resends` outlives it.
  SendOrder(Resends& resends, std::shared_ptr<SessionPort> port, ObjectRef object);

  // Sends all keys of the request, which has been put in this order (Request::PutIn). From here on
  // its last answer is owed. For the session's thread; may block for the Port's time limit. Throws
  // std::bad_alloc; then nothing has happened.
  void Send(Request& request);
  // Cancels the request and releases its columns. If it is held, that is its last answer.
  void Abandon(Request& request);
  // No request is running or held: a new order could replace it. For the session's thread.
  bool Idle() const;

  // A request has all its answers. Any thread; never blocks. The order may end together with the
  // request.
  void OneIn();
  // Instead of OneIn for a request with moved keys, or a cancelled one: it is sent again or
  // finished. On the thread of `resends`.
  void Collect(Request& request);
  // Called as soon as a request's keys have moved, before its Collect: the session sends nothing
  // new until all its requests are answered.
  void Drain() { draining_.store(true, std::memory_order_relaxed); }
  Resends& resends() const { return resends_; }

  // All are answered, or more must be sent again. On the thread of `resends`.
  void Complete() override;

  // A request refused for this long, with no key executed, is returned to its caller as moved.
  static constexpr uint64_t kRefusedNsMax = 10'000'000'000;

 private:
  // Sent again while the Port is held: at most this many requests, and about this many keys.
  static constexpr size_t kPiece = 16;
  static constexpr uint64_t kPieceKeys = 64 << 10;
  // Without a newer table they are sent again by the old one after this time: the object may have
  // been dropped.
  static constexpr uint64_t kNewerTableNs = 1'000'000;

  // `held`: does not wait for room, and keys without room count as moved. False: there are such
  // keys.
  bool SendNow(Request& request, bool held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu());
  enum class Next : uint8_t { kNothing, kMore, kLater };
  // Puts requests that need no more sending into `finished`, which has room for a piece; the caller
  // must give their last answer, without the lock.
  Next GoOn(std::span<Request*> finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu());
  // Whether the current table is newer than the one that all requests use.
  bool NewerTable() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu());
  void WakeUp();
  base::Mutex& mu() const ABSL_LOCK_RETURNED(port_->mu) { return port_->mu; }

  // Immutable after construction.
  Resends& resends_;
  const std::shared_ptr<SessionPort> port_;
  const ObjectRef object_;

  // Guarded by the Port's mutex, which no AEU takes.
  std::shared_ptr<const routing::RangeTable> table_ ABSL_GUARDED_BY(mu());  // all requests use it
  uint64_t next_sequence_ ABSL_GUARDED_BY(mu()) = 0;
  // To be sent, again or for the first time, when all running requests are answered. Always has
  // room for the running ones.
  std::vector<Request*> held_ ABSL_GUARDED_BY(mu());
  // time when all were answered; 0 until GoOn finds them so
  uint64_t all_in_ns_ ABSL_GUARDED_BY(mu()) = 0;

  // Shared: the number of running requests, which those who give last answers count down. acq_rel:
  // the thread that counts down to 0 sees what the others did before, and Drain's draining_.
  std::atomic<uint32_t> out_{0};
  // Some must be sent again when out_ is 0. Set by a thread that counts in out_, and reset with the
  // Port's mutex held when out_ is 0. relaxed: published by out_, and by the commands that are sent
  // after it.
  std::atomic<bool> draining_{false};
  // This task is in the queue of resends_, or will be soon. acq_rel: see WakeUp.
  std::atomic<bool> queued_{false};
  std::shared_ptr<SendOrder> self_;  // while queued_
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_SEND_ORDER_H_
