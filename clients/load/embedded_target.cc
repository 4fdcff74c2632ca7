#include "clients/load/embedded_target.h"

#include <utility>

#include "absl/time/time.h"
#include "clients/load/clock.h"

namespace eris::load {

EmbeddedTarget::EmbeddedTarget(Engine& engine, const std::string& object, uint32_t slots,
                               AnswerSink& sink)
    : sink_(sink),
      session_(engine.NewSession()),
      object_(session_->Open(object)),
      pending_(slots),
      scans_(slots) {}

EmbeddedTarget::~EmbeddedTarget() = default;

void EmbeddedTarget::Post(Event event) {
  absl::MutexLock lock(&mu_);
  done_.push_back(std::move(event));
}

Session::Callback EmbeddedTarget::Done(Request& request) {
  return [this, &request](BatchResult result) {
    Event event{.request = &request, .status = result.status};
    event.batch = std::move(result);
    Post(std::move(event));
  };
}

void EmbeddedTarget::Track(Request& request, Session::StartedCall pending) {
  if (pending.ok()) {
    pending_[request.slot] = *std::move(pending);
  } else {
    Post({.request = &request, .status = pending.status()});
  }
}

void EmbeddedTarget::Send(Request& request) {
  request.sent_ns = MonotonicNs();
  if (!object_.ok()) return Post({.request = &request, .status = object_.status()});
  switch (request.operation) {
    case Operation::kLookup:
      return Track(request, session_->LookupAsync(*object_, request.keys, Done(request)));
    case Operation::kUpsert:
    case Operation::kInsert:
      return Track(request,
                   session_->UpsertAsync(*object_, request.keys, request.values, Done(request)));
    case Operation::kReadModifyWrite:
      if (!request.writing) {
        return Track(request, session_->LookupAsync(*object_, request.keys, Done(request)));
      }
      return Track(request, session_->WriteAsync(*object_, WriteMode::kCompareAndSet, request.keys,
                                                 request.values, request.values, Done(request)));
    case Operation::kScan:
      return OpenScan(request);
  }
}

void EmbeddedTarget::OpenScan(Request& request) {
  auto scan =
      session_->OpenScan(*object_, {.range = {.lo = request.keys[0]}, .limit = request.rows_max});
  if (!scan.ok()) return Post({.request = &request, .status = scan.status()});
  scans_[request.slot] = *std::move(scan);
  NextChunk(request);
}

void EmbeddedTarget::NextChunk(Request& request) {
  scans_[request.slot]->NextAsync([this, &request](Scan::NextResult chunk) {
    Event event{.request = &request, .status = chunk.status()};
    if (chunk.ok()) event.chunk = *std::move(chunk);
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
    const absl::Span<const uint64_t> keys = event.chunk->Uint64s(0);
    sink_.OnRows(request, reinterpret_cast<const char*>(keys.data()),
                 reinterpret_cast<const char*>(event.chunk->Uint64s(1).data()), keys.size());
    event.chunk.reset();  // returned to the pool before the next one is requested
    NextChunk(request);
    return;
  }
  scans_[request.slot].reset();
  pending_[request.slot].reset();
  const BatchResult& result = event.batch;
  Answer answer{.status = event.status, .present = result.existed, .applied = result.applied};
  if (!result.columns.empty()) answer.values = result.columns[0].values;
  sink_.OnAnswer(request, answer);
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
