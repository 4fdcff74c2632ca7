// Aggregates and scans into other objects that do not wait for their answers.
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/queries.h"
#include "eris/c/scan.h"

namespace eris::capi {
namespace {

// Hands the handle of a call out, if one is wanted. Made before the call is started.
class CallOut {
 public:
  CallOut(eris_session& session, eris_call** out) : out_(out) {
    if (out != nullptr) call_ = std::make_unique<eris_call>(session.engine);
  }
  absl::Status Started(Session::StartedCall pending) {
    if (!pending.ok()) return std::move(pending).status();
    if (out_ == nullptr) return absl::OkStatus();
    call_->pending = *std::move(pending);
    *out_ = call_.release();
    return absl::OkStatus();
  }

 private:
  eris_call** const out_;
  std::unique_ptr<eris_call> call_{};
};

// The error of an answer, freed after its callback.
class ErrorFor {
 public:
  explicit ErrorFor(const absl::Status& status) : error_(status.ok() ? nullptr : ErrorOf(status)) {}
  ~ErrorFor() { eris_error_free(error_); }
  ErrorFor(const ErrorFor&) = delete;
  ErrorFor& operator=(const ErrorFor&) = delete;
  const eris_error* get() const { return error_; }

 private:
  eris_error* const error_;
};

absl::Status CheckDone(bool given) {
  return given ? absl::OkStatus() : absl::InvalidArgumentError("`done` is NULL");
}

}  // namespace
}  // namespace eris::capi

using eris::capi::Guard;
using eris::capi::Need;

eris_code eris_aggregate_async(eris_session* session, const eris_object* index,
                               const eris_aggregate_options* options, eris_aggregate_callback done,
                               void* user, eris_call** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"index", index}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckDone(done != nullptr));
    ERIS_ASSIGN_OR_RETURN(const eris::AggregateOptions its_options,
                          eris::capi::AggregateFrom(options));
    eris::capi::CallOut call(*session, out);
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    return call.Started(session->session->AggregateAsync(
        index->object, its_options, [done, user](absl::StatusOr<eris::RangeAggregate> got) {
          const eris::capi::ErrorFor failed(got.status());
          eris_aggregate_result result{};
          if (got.ok()) result = eris::capi::AggregateOut(*got);
          const eris::capi::CallbackScope scope;
          done(user, got.ok() ? &result : nullptr, failed.get());
        }));
  });
}

eris_code eris_scan_into_async(eris_session* session, const eris_object* table,
                               const eris_query* query, const eris_object* target,
                               eris_rows_callback done, void* user, eris_call** out,
                               eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"table", table}, {"target", target}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckDone(done != nullptr));
    ERIS_ASSIGN_OR_RETURN(const eris::Query its_query, eris::capi::QueryFrom(query));
    eris::capi::CallOut call(*session, out);
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    return call.Started(session->session->ScanIntoAsync(
        table->object, its_query, target->object, [done, user](absl::StatusOr<uint64_t> rows) {
          const eris::capi::ErrorFor failed(rows.status());
          const eris::capi::CallbackScope scope;
          done(user, rows.ok() ? *rows : 0, failed.get());
        }));
  });
}
