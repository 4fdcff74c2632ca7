// What one session sends of one object takes effect, key by key, in the order in which it was sent,
// also while ranges move. All that is under way goes by one version of the range table; AEUs
// execute of a key's commands of one version the first ones and refuse the rest
// (docs/internals/ROUTING.md has the protocol and the argument). Once one comes back with refused
// keys, what the session sends after it is held; when all are in, they are sent again by the newest
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
#include "engine/core/completion_queue.h"
#include "engine/core/resends.h"
#include "engine/objects/object_entry.h"
#include "routing/port.h"
#include "routing/ranges/range_table.h"

namespace eris::engine {

class Request;

// A session's Port. It outlives the session where requests are under way. Who lets go of it last
// may be an AEU: it ends on the thread of `resends`.
struct SessionPort final : public CompletionTask {
  static std::shared_ptr<SessionPort> Create(const routing::EndpointDirectory& directory,
                                             const routing::PortOptions& options,
                                             Resends& resends) {
    return {new SessionPort(directory, options),
            [&resends](SessionPort* port) { resends.Push(port); }};
  }
  void Complete() override { delete this; }

  base::Mutex mu;
  routing::Port port ABSL_GUARDED_BY(mu);

 private:
  SessionPort(const routing::EndpointDirectory& directory, const routing::PortOptions& options)
      : port(directory, options) {}
};

class SendOrder final : public CompletionTask, public std::enable_shared_from_this<SendOrder> {
 public:
  // `resends` outlives it.
  SendOrder(Resends& resends, std::shared_ptr<SessionPort> port, ObjectRef object);

  // All keys of the request, which has been put in this order (Request::PutIn). From here on its
  // last answer is owed. The session's thread; may block for the Port's bound. Throws
  // std::bad_alloc; nothing has happened then.
  void Send(Request& request);
  // Cancels the request and lets go of its columns. Where it is held, that is its last answer.
  void Abandon(Request& request);
  // Nothing is under way or held: a new order could take its place. The session's thread.
  bool Idle() const;

  // A request has all its answers. Any thread; never blocks. The order may be gone when the request
  // is.
  void OneIn();
  // In place of OneIn for a request with moved keys, or one that is cancelled: it is sent again or
  // finished. On the thread of `resends`.
  void Collect(Request& request);
  // As soon as a request's keys have moved, before its Collect: the session sends nothing new until
  // all its requests are in.
  void Drain() { draining_.store(true, std::memory_order_relaxed); }
  Resends& resends() const { return resends_; }

  // All are in, or more is to be sent again. On the thread of `resends`.
  void Complete() override;

  // Refused for so long, with no key executed, a request goes back to its caller as moved.
  static constexpr uint64_t kRefusedNsMax = 10'000'000'000;

 private:
  // Sent again while the Port is held: so many requests, and about so many keys.
  static constexpr size_t kPiece = 16;
  static constexpr uint64_t kPieceKeys = 64 << 10;
  // Without a newer table they are sent again by the old one: perhaps the object is gone.
  static constexpr uint64_t kNewerTableNs = 1'000'000;

  // `held`: without waiting for room, and what finds none counts as moved. False: there is such.
  bool SendNow(Request& request, bool held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu());
  enum class Next : uint8_t { kNothing, kMore, kLater };
  // Puts what needs no more sending into `finished`, which has room for a piece; its last answer is
  // still to be given, without the lock.
  Next GoOn(std::span<Request*> finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu());
  // A newer table is in force than the one that all requests go by.
  bool NewerTable() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu());
  void WakeUp();
  base::Mutex& mu() const ABSL_LOCK_RETURNED(port_->mu) { return port_->mu; }

  // Immutable after construction.
  Resends& resends_;
  const std::shared_ptr<SessionPort> port_;
  const ObjectRef object_;

  // Guarded by the Port's mutex, which no AEU takes.
  std::shared_ptr<const routing::RangeTable> table_ ABSL_GUARDED_BY(mu());  // all go by it
  uint64_t next_sequence_ ABSL_GUARDED_BY(mu()) = 0;
  // To be sent, again or for the first time, once all are in. Always has room for those under way.
  std::vector<Request*> held_ ABSL_GUARDED_BY(mu());
  uint64_t all_in_ns_ ABSL_GUARDED_BY(mu()) = 0;  // since then; 0 until GoOn finds them all in

  // Shared: the number of requests under way, which AEUs count down. acq_rel: the thread that
  // counts down to 0 sees what the others did before, and Drain's draining_.
  std::atomic<uint32_t> out_{0};
  // Some are to be sent again when out_ is 0. Set by who counts in out_, and taken back with the
  // Port's mutex held when out_ is 0. relaxed: published by out_, and by the commands that are sent
  // after.
  std::atomic<bool> draining_{false};
  // This task is in the queue of resends_, or about to be. acq_rel: see WakeUp.
  std::atomic<bool> queued_{false};
  std::shared_ptr<SendOrder> self_;  // while queued_
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_SEND_ORDER_H_
