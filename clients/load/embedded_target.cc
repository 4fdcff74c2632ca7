#include "clients/load/embedded_target.h"

#include <utility>

#include "absl/time/time.h"
#include "clients/load/clock.h"

namespace eris::load {

EmbeddedTarget::EmbeddedTarget(Engine& engine, std::string object, uint32_t slots, AnswerSink& sink)
    : object_(std::move(object)),
      sink_(sink),
      session_(engine.NewSession()),
      pending_(slots),
      scans_(slots) {}

EmbeddedTarget::~EmbeddedTarget() = default;

void EmbeddedTarget::Post(Event event) {
  absl::MutexLock lock(&mu_);
  done_.push_back(std::move(event));
}

Session::Callback EmbeddedTarget::Done(Request& request) {
  return [this, &request](BatchResult result) {
    Event event{.request = &request, .status = result.status, .batch = {}, .chunk = {}};
    event.batch = std::move(result);
    Post(std::move(event));
  };
}

void EmbeddedTarget::Track(Request& request, absl::StatusOr<std::shared_ptr<Pending>> pending) {
  if (pending.ok()) {
    pending_[request.slot] = *std::move(pending);
  } else {
    Post({.request = &request, .status = pending.status(), .batch = {}, .chunk = {}});
  }
}

void EmbeddedTarget::Send(Request& request) {
  request.sent_ns = MonotonicNs();
  switch (request.operation) {
    case Operation::kLookup:
      return Track(request, session_->LookupAsync(object_, request.keys, Done(request)));
    case Operation::kUpsert:
    case Operation::kInsert:
      return Track(request,
                   session_->UpsertAsync(object_, request.keys, request.values, Done(request)));
    case Operation::kReadModifyWrite:
      if (!request.writing) {
        return Track(request, session_->LookupAsync(object_, request.keys, Done(request)));
      }
      return Track(request, session_->WriteAsync(object_,
                                                 {.mode = WriteMode::kCompareAndSet,
                                                  .keys = request.keys,
                                                  .values = request.values,
                                                  .expected = request.values},
                                                 Done(request)));
    case Operation::kScan:
      return OpenScan(request);
  }
}

void EmbeddedTarget::OpenScan(Request& request) {
  const KeyRange range{.lo = request.keys[0]};
  auto scan = session_->OpenScan(object_, {.range = range, .limit = request.rows_max});
  if (!scan.ok()) {
    Post({.request = &request, .status = scan.status(), .batch = {}, .chunk = {}});
    return;
  }
  scans_[request.slot] = *std::move(scan);
  NextChunk(request);
}

void EmbeddedTarget::NextChunk(Request& request) {
  scans_[request.slot]->NextAsync([this, &request](absl::StatusOr<std::optional<ScanChunk>> chunk) {
    Event event{.request = &request, .status = chunk.status(), .batch = {}, .chunk = {}};
    if (chunk.ok() && *chunk) event.chunk.emplace(**std::move(chunk));
    Post(std::move(event));
  });
}

void EmbeddedTarget::Await(int64_t deadline_ns) {
  if (handled_ == handling_.size()) {
    handling_.clear();
    handled_ = 0;
    absl::MutexLock lock(&mu_);
    if (done_.empty()) {
      const absl::Duration wait = absl::Nanoseconds(deadline_ns - MonotonicNs());
      mu_.AwaitWithTimeout(absl::Condition(
                               +[](std::vector<Event>* done) { return !done->empty(); }, &done_),
                           wait);
    }
    std::swap(handling_, done_);
  }
  if (handled_ < handling_.size()) Handle(handling_[handled_++]);
}

void EmbeddedTarget::Handle(Event& event) {
  Request& request = *event.request;
  if (event.chunk) {
    sink_.OnRows(request, reinterpret_cast<const char*>(event.chunk->keys().data()),
                 reinterpret_cast<const char*>(event.chunk->values().data()),
                 event.chunk->keys().size());
    event.chunk.reset();  // back to the pool, before another one is asked for
    NextChunk(request);
    return;
  }
  scans_[request.slot].reset();
  pending_[request.slot].reset();
  const BatchResult result = std::move(event.batch);
  sink_.OnAnswer(request, {.status = event.status,
                           .values = result.values,
                           .present = result.present,
                           .all_present = false,
                           .applied = result.applied});
}

void EmbeddedTarget::Cancel() {
  for (const auto& pending : pending_) {
    if (pending) pending->Cancel(absl::CancelledError("cancelled"));
  }
  for (const auto& scan : scans_) {
    if (scan) scan->Cancel();
  }
}

}  // namespace eris::load
