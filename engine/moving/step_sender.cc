#include "engine/moving/step_sender.h"

#include <new>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "engine/core/control_request.h"
#include "eris/errors.h"

namespace eris::engine {

using routing::CommandType;

namespace {

// How soon a step learns that it must be given up.
constexpr absl::Duration kLook = absl::Milliseconds(20);

}  // namespace

absl::Status AeuStepSender::Give(ObjectEntry& object, routing::TransferStep& step,
                                 absl::FunctionRef<bool()> goes_on) {
  ControlRequest request(core_, CommandType::kGive, 1);
  const AeuId source = step.source;
  const bool sent = request.Send(source, object.route, routing::TransferSegment{.step = &step});
  while (!request.AwaitUntil(absl::Now() + kLook)) {
    if (!goes_on()) step.give_up.store(true, std::memory_order_relaxed);
  }
  if (sent) return absl::OkStatus();
  return Error(ErrorReason::kBufferFull, absl::StrCat("AEU ", source.value, " took no command for ",
                                                      core_.limits.send_wait_ms_max, " ms"));
}

void AeuStepSender::Conclude(ObjectEntry& object, routing::TransferStep& step) {
  for (bool sent = false; !sent;) {
    try {
      ControlRequest request(core_, CommandType::kConclude, 1);
      sent = request.Send(step.source, object.route, routing::TransferSegment{.step = &step});
      request.Await();
    } catch (const std::bad_alloc&) {  // for the request: nothing has been sent
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
}

}  // namespace eris::engine
