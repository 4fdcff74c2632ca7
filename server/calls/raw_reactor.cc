#include "server/calls/raw_reactor.h"

#include <algorithm>
#include <new>

#include "absl/status/status.h"

namespace eris::server {
namespace {

uint64_t Ns(RawReactor::Clock::duration time) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  return ns > 0 ? static_cast<uint64_t>(ns) : 0;
}

std::string CodeName(int code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

}  // namespace

CallOrigin OriginOf(const grpc::CallbackServerContext& context) {
  // A valid one has 55 bytes. Longer ones are cut: they come from the client.
  constexpr size_t kTraceBytesMax = 64;
  CallOrigin origin{context.peer(), {}};
  const auto found = context.client_metadata().find("traceparent");
  if (found != context.client_metadata().end()) {
    origin.traceparent.assign(found->second.data(), std::min(found->second.size(), kTraceBytesMax));
  }
  return origin;
}

void StreamRequest::End(int code) const {
  if (watch_ == nullptr) return;
  const uint64_t ns = Ns(Clock::now() - begun_);
  watch_->metrics.EndRequest(method_, code, ns);
  if (words_ == nullptr || !watch_->slow.IsSlow(ns)) return;
  try {
    watch_->slow.Write({.method = watch_->metrics.name(method_),
                        .code = CodeName(code),
                        .client = words_->origin->client,
                        .object = words_->object,
                        .rows = words_->rows,
                        .traceparent = words_->origin->traceparent,
                        .total_ns = ns});
  } catch (const std::bad_alloc&) {
    // The line is lost.
  }
}

RawReactor::~RawReactor() {
  if (watch_ == nullptr) return;
  const Clock::time_point now = Clock::now();
  const auto or_else = [](Clock::time_point time, Clock::time_point other) {
    return time == Clock::time_point() ? other : time;
  };
  const Clock::time_point answered = or_else(answered_, now);
  const Clock::time_point arrived = std::min(or_else(arrived_, begun_), answered);
  const CallMetrics::Ended ended{
      .code = code_,
      .total_ns = Ns(now - begun_),
      .stage_ns = {Ns(arrived - begun_), Ns(answered - arrived), Ns(now - answered)}};
  watch_->metrics.End(method_, ended);
  if (!watch_->metrics.has_latencies(method_) || !watch_->slow.IsSlow(ended.total_ns)) return;
  try {
    CallOrigin origin = OriginOf(*context_);
    watch_->slow.Write({.method = watch_->metrics.name(method_),
                        .code = CodeName(code_),
                        .client = std::move(origin.client),
                        .object = std::move(object_),
                        .rows = rows_,
                        .traceparent = std::move(origin.traceparent),
                        .total_ns = ended.total_ns,
                        .stage_ns = ended.stage_ns});
  } catch (const std::bad_alloc&) {
    // The line is lost.
  }
}

}  // namespace eris::server
