// Tracks running calls: every call enters here before it does anything, and leaves when gRPC has
// released it. Closing the gate begins a drain: later calls are refused, those inside are notified,
// and a callback runs when the last one has left.
// Any thread; Close and CancelAll on the control thread. Independent of gRPC.
#ifndef ERIS_SERVER_GUARD_DRAIN_GATE_H_
#define ERIS_SERVER_GUARD_DRAIN_GATE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "base/mutex.h"

namespace eris::server {

// A call as the gate sees it. Both functions may be called after the call has been answered, and
// from any thread.
class Drainable {
 public:
  virtual ~Drainable() = default;
  // Stop accepting work: a stream stops reading and ends after its last answer.
  virtual void OnDrain() {}
  // Running work must end now, with `status`: the drain's or the call's time is over, or its client
  // has disconnected.
  virtual void EndNow(const absl::Status& status) = 0;
};

class DrainGate {
 private:
  struct Member {
    std::shared_ptr<Drainable> call;
    const void* origin;
  };
  using Members = std::list<Member>;

 public:
  // A call inside the gate; leaves in the destructor.
  class Stay {
   public:
    Stay() = default;
    Stay(Stay&& other) noexcept;
    Stay& operator=(Stay&& other) noexcept;
    ~Stay();
    explicit operator bool() const { return gate_ != nullptr; }

   private:
    friend class DrainGate;
    Stay(DrainGate* gate, Members::iterator where) : gate_(gate), where_(where) {}
    DrainGate* gate_ = nullptr;
    Members::iterator where_;
  };

  DrainGate() = default;
  DrainGate(const DrainGate&) = delete;
  DrainGate& operator=(const DrainGate&) = delete;
  ~DrainGate();  // REQUIRES: no call inside

  // An empty Stay if the gate is closed: refuse the call with RefusedStatus(). The gate outlives
  // the stay. `origin` identifies the source of the call, and must outlive the stay, too.
  [[nodiscard]] Stay TryEnter(std::shared_ptr<Drainable> call, const void* origin = nullptr);

  // Visits the origin of each call inside that has one. `visit` must not call the gate.
  void VisitOrigins(absl::FunctionRef<void(const void* origin)> visit) const;

  // Refuses further calls and notifies those inside. `on_empty` runs once, when the last has left:
  // here if there is none, else on the thread of the last one.
  void Close(absl::AnyInvocable<void() &&> on_empty);

  // Ends all calls inside with `status`.
  void CancelAll(const absl::Status& status);

  bool closed() const;
  size_t inside() const;
  uint64_t entered() const;  // calls so far
  static absl::Status RefusedStatus();

 private:
  void Leave(Members::iterator where);
  std::vector<std::shared_ptr<Drainable>> Snapshot() const;

  mutable base::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  Members members_ ABSL_GUARDED_BY(mu_);
  uint64_t entered_ ABSL_GUARDED_BY(mu_) = 0;
  absl::AnyInvocable<void() &&> on_empty_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_DRAIN_GATE_H_
