// Lookups and writes that do not wait for their answers.
#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "capi/batches.h"
#include "capi/columns.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/result.h"
#include "eris/c/session.h"

namespace eris::capi {
namespace {

// The engine whose callbacks this thread has deferred.
thread_local const eris_engine* deferring = nullptr;

// Where an answer goes: to a callback, or to the state of an eris_call.
struct Destination {
  eris_result_callback done = nullptr;
  void* user = nullptr;
  std::shared_ptr<eris_call::State> state{};
  std::unique_ptr<eris_result> result{};  // made before: the answer's end must not take memory

  void Deliver(BatchResult&& answer) {
    FillResult(std::move(answer), *result);
    if (done != nullptr) {
      const CallbackScope scope;
      done(user, result.release());
      return;
    }
    const std::lock_guard lock(state->mu);
    state->result = std::move(result);
    state->ended = true;
    state->changed.notify_all();
  }
};

// Starts a call and hands out its handle. `start` gets the callback.
template <class Start>
absl::Status StartCall(eris_session& session, std::vector<ColumnSchema> types, bool lookup,
                       eris_result_callback done, void* user, eris_call** out, Start start) {
  if (done == nullptr && out == nullptr) {
    return absl::InvalidArgumentError("`done` and `out` are both NULL: the answer would be lost");
  }
  auto destination = std::make_unique<Destination>();
  destination->done = done;
  destination->user = user;
  destination->result = NewResult(std::move(types), lookup);
  std::unique_ptr<eris_call> call;
  if (out != nullptr) {
    call = std::make_unique<eris_call>(session.engine);
    if (done == nullptr) call->state = std::make_shared<eris_call::State>();
    destination->state = call->state;
  }
  const OneCaller caller(session.busy);
  ERIS_RETURN_IF_ERROR(caller.status());
  ERIS_ASSIGN_OR_RETURN(std::shared_ptr<Pending> pending,
                        start([destination = std::move(destination)](BatchResult&& answer) {
                          destination->Deliver(std::move(answer));
                        }));
  if (call != nullptr) {
    call->pending = std::move(pending);
    *out = call.release();
  }
  return absl::OkStatus();
}

// Takes the answer, if there is one. Errors: FailedPrecondition. REQUIRES: state.mu is held.
absl::Status TakeAnswer(eris_call::State& state, eris_result** out) {
  if (state.taken) return absl::FailedPreconditionError("the call's answer has been taken");
  if (!state.ended) return absl::OkStatus();
  state.taken = true;
  *out = state.result.release();
  return absl::OkStatus();
}

absl::Status CheckCall(const eris_call* call, eris_result** out) {
  ERIS_RETURN_IF_ERROR(Need({{"call", call}, {"out", out}}));
  if (call->state != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("the call's answer goes to its callback");
}

absl::Status Defer(eris_engine& engine) {
  ERIS_RETURN_IF_ERROR(CheckNotDeferring());
  engine.engine->DeferCallbacks();
  deferring = &engine;
  return absl::OkStatus();
}

absl::Status RunDeferred(eris_engine& engine) {
  if (deferring != &engine) {
    return absl::FailedPreconditionError(
        "this thread has not called eris_defer_callbacks for the engine");
  }
  deferring = nullptr;
  engine.engine->RunCallbacks();
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckNotDeferring() {
  if (deferring == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "this thread has called eris_defer_callbacks: call eris_run_callbacks first");
}

}  // namespace eris::capi

using eris::capi::Guard;
using eris::capi::Need;

eris_code eris_lookup_async(eris_session* session, const eris_object* object, const eris_rows* keys,
                            const eris_lookup_options* options, eris_result_callback done,
                            void* user, eris_call** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"object", object}, {"keys", keys}}));
    ERIS_ASSIGN_OR_RETURN(
        const eris::capi::RowsIn rows,
        eris::capi::RowsIn::Create(*keys, eris::capi::KeyOf(object->object.schema())));
    ERIS_ASSIGN_OR_RETURN(const std::unique_ptr<eris::capi::LookupIn> in,
                          eris::capi::LookupIn::Create(object->object, options));
    return eris::capi::StartCall(
        *session, in->types, true, done, user, out, [&](eris::Session::Callback callback) {
          return session->session->LookupAsync(object->object, in->batch(rows.batch()),
                                               std::move(callback));
        });
  });
}

eris_code eris_write_async(eris_session* session, const eris_object* object, int32_t mode,
                           const eris_rows* rows, const eris_rows* expected,
                           eris_result_callback done, void* user, eris_call** out,
                           eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"object", object}, {"rows", rows}}));
    ERIS_ASSIGN_OR_RETURN(const std::unique_ptr<eris::capi::WriteIn> in,
                          eris::capi::WriteIn::Create(object->object, mode, *rows, expected));
    return eris::capi::StartCall(
        *session, in->types, false, done, user, out, [&](eris::Session::Callback callback) {
          return session->session->WriteAsync(object->object, in->batch(), std::move(callback));
        });
  });
}

eris_code eris_call_poll(eris_call* call, eris_result** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(eris::capi::CheckCall(call, out));
    const std::lock_guard lock(call->state->mu);
    return eris::capi::TakeAnswer(*call->state, out);
  });
}

eris_code eris_call_wait(eris_call* call, int64_t timeout_us, eris_result** out,
                         eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(eris::capi::CheckCall(call, out));
    // The answer may be among the callbacks that this thread defers: it would wait for ever.
    ERIS_RETURN_IF_ERROR(eris::capi::CheckNotDeferring());
    ERIS_RETURN_IF_ERROR(eris::capi::DeadlineOf(timeout_us).status());
    eris_call::State& state = *call->state;
    std::unique_lock lock(state.mu);
    const auto ended = [&state] { return state.ended; };
    // Longer waits would overflow the clock. This one takes 142 years.
    constexpr int64_t kWaitUsMax = int64_t{1} << 52;
    if (timeout_us == 0) {
      state.changed.wait(lock, ended);
    } else if (!state.changed.wait_for(
                   lock, std::chrono::microseconds(std::min(timeout_us, kWaitUsMax)), ended)) {
      return absl::DeadlineExceededError(
          absl::StrCat("the call has not ended within ", timeout_us, " us; it goes on"));
    }
    return eris::capi::TakeAnswer(state, out);
  });
}

void eris_call_cancel(eris_call* call) {
  if (call == nullptr) return;
  Guard(nullptr, [&] {
    call->pending->Cancel(absl::CancelledError("cancelled by the caller"));
    return absl::OkStatus();
  });
}
void eris_call_free(eris_call* call) { delete call; }

eris_code eris_defer_callbacks(eris_engine* engine, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}}));
    return eris::capi::Defer(*engine);
  });
}

eris_code eris_run_callbacks(eris_engine* engine, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}}));
    return eris::capi::RunDeferred(*engine);
  });
}
