// The bytes that one session may still have in flight. Shared with its requests and aggregates,
// which outlive it; each adds its bytes again at its end. Any thread.
#ifndef ERIS_ENGINE_CORE_SESSION_CREDIT_H_
#define ERIS_ENGINE_CORE_SESSION_CREDIT_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/cache_line.h"
#include "engine/core/core.h"
#include "eris/errors.h"

namespace eris::engine {

using SessionCredit = std::shared_ptr<std::atomic<int64_t>>;

// In a cache line of its own: requests that end on other threads write to it. Throws
// std::bad_alloc.
inline SessionCredit MakeSessionCredit(int64_t bytes) {
  struct alignas(base::kNoSharingBytes) Line {
    explicit Line(int64_t all) : left(all) {}
    std::atomic<int64_t> left;
  };
  const auto line = std::make_shared<Line>(bytes);
  return {line, &line->left};
}

// `what`: for the text, e.g. a "batch". Errors: ResourceExhausted, with nothing taken.
inline absl::Status TakeCredit(const Core& core, std::atomic<int64_t>& credit, int64_t bytes,
                               absl::string_view what) {
  // relaxed: a count, no data.
  const int64_t left = credit.fetch_sub(bytes, std::memory_order_relaxed);
  if (left >= bytes) return absl::OkStatus();
  credit.fetch_add(bytes, std::memory_order_relaxed);
  return Error(ErrorReason::kSessionBytes,
               absl::StrCat("this session may have ", core.options.session_in_flight_bytes_max,
                            " bytes in flight; ", left, " are left, the ", what, " needs ", bytes));
}

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_SESSION_CREDIT_H_
