// An engine in this process, through its own session: no wire, no server. One thread; a
// completion thread of the engine passes answers to it.
#ifndef ERIS_CLIENTS_LOAD_EMBEDDED_TARGET_H_
#define ERIS_CLIENTS_LOAD_EMBEDDED_TARGET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "clients/load/target.h"
#include "eris/engine.h"

namespace eris::load {

class EmbeddedTarget final : public Target {
 public:
  // `engine` and `sink` must outlive the target. `slots`: maximum number of concurrent requests. If
  // the object does not exist, all requests are answered with that error.
  EmbeddedTarget(Engine& engine, const std::string& object, uint32_t slots, AnswerSink& sink);
  // REQUIRES: no request in flight.
  ~EmbeddedTarget() override;

  // May block up to Options::send_wait_ms_max while AEUs accept nothing.
  void Send(Request& request) override;
  void Await(int64_t deadline_ns) override;
  void Cancel() override;
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  // An answer that the completion thread passes on.
  struct Event {
    Request* request = nullptr;
    absl::Status status{};
    BatchResult batch{};
    std::shared_ptr<const Chunk> chunk{};  // for a scan
  };

  void Post(Event event);
  void Handle(Event& event);
  void OpenScan(Request& request);
  void NextChunk(Request& request);
  void Track(Request& request, Session::StartedCall pending);
  Session::Callback Done(Request& request);

  // Immutable after construction.
  AnswerSink& sink_;
  const std::unique_ptr<Session> session_;
  const absl::StatusOr<Object> object_;

  // Owned by the generator's thread.
  std::vector<Event> handling_;
  size_t handled_ = 0;
  std::vector<std::shared_ptr<Pending>> pending_;  // by slot
  std::vector<std::unique_ptr<Scan>> scans_;       // by slot

  // Guarded by mu_: the completion thread fills it, the generator's thread empties it.
  absl::Mutex mu_;
  std::vector<Event> done_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_EMBEDDED_TARGET_H_
