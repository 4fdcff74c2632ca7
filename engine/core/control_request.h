// Sends control commands and waits for their answers: a request without an object, with one state
// per command.
#ifndef ERIS_ENGINE_CORE_CONTROL_REQUEST_H_
#define ERIS_ENGINE_CORE_CONTROL_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/time/time.h"
#include "engine/core/core.h"
#include "engine/core/request.h"
#include "routing/data_command.h"
#include "routing/ranges/object_route.h"

namespace eris::engine {

class ControlRequest {
 public:
  // REQUIRES: core.administration has been entered. Throws std::bad_alloc; the other functions do
  // not.
  ControlRequest(Core& core, routing::CommandType type, uint32_t commands)
      : core_(core), request_(Make(core, type, commands)) {
    request_->Expect(commands);
  }
  ~ControlRequest() { request_->Unref(); }
  ControlRequest(const ControlRequest&) = delete;
  ControlRequest& operator=(const ControlRequest&) = delete;

  // May block for the control Port's time limit. False: no room within it; the answer is kRefused.
  template <class Segment>
  bool Send(AeuId aeu, const routing::ObjectRoute& route, const Segment& segment) {
    static_assert(sizeof(Segment) % 8 == 0);
    const routing::CommandHeader header{.type = request_->type(),
                                        .slot = route.slot(),
                                        .object = route.object(),
                                        .table_version = route.Pin()->version(),
                                        .complete = &Request::Answered,
                                        .context = request_,
                                        .count = 1};
    if (core_.control->SendTo(aeu, header, std::as_bytes(std::span(&segment, 1)))) return true;
    request_->states[segment.position] = storage::KeyState::kRefused;
    Request::Answered(request_, 1);
    return false;
  }
  // Commands that take many turns end early, as kCancelled.
  void Cancel() { request_->SetCancelled(); }
  // Blocks until every command has its answer: AEUs always execute their commands.
  void Await() { request_->Await(absl::InfiniteFuture()); }
  // False: `deadline` has passed. The caller must then call it again.
  [[nodiscard]] bool AwaitUntil(absl::Time deadline) { return request_->Await(deadline); }
  // REQUIRES: awaited.
  storage::KeyState state(uint32_t position) const { return request_->states[position]; }

 private:
  static Request* Make(Core& core, routing::CommandType type, uint32_t commands) {
    Request* const request = Request::Create(type, commands, nullptr, core.administration);
    core.administration.EnterAgain();  // for the request
    return request;
  }

  Core& core_;
  Request* const request_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_CONTROL_REQUEST_H_
