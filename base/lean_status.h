// Statuses for places that must not throw: AEU turns, and callers that have just run out of memory.
// A status keeps its text on the general heap; if that has no memory, the status has only its code.
#ifndef ERIS_BASE_LEAN_STATUS_H_
#define ERIS_BASE_LEAN_STATUS_H_

#include <new>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "eris/errors.h"

namespace eris::base {

inline absl::Status LeanStatus(absl::StatusCode code, absl::string_view text) noexcept {
  try {
    return absl::Status(code, text);
  } catch (const std::bad_alloc&) {
    return absl::Status(code, absl::string_view());  // needs no memory
  }
}

// With the reason's code; without memory only that.
inline absl::Status LeanError(ErrorReason reason, absl::string_view text) noexcept {
  try {
    return Error(reason, text);
  } catch (const std::bad_alloc&) {
    return absl::Status(KindOf(reason).code, absl::string_view());
  }
}

// SYSTEM_MEMORY: the general heap gave nothing. What the engine's own limit refuses is
// MEMORY_LIMIT.
inline absl::Status NoMemory(
    absl::string_view text = "the system has no memory for the call") noexcept {
  return LeanError(ErrorReason::kSystemMemory, text);
}

// Returns what `call` returns (an absl::Status or StatusOr), or NoMemory if `call` throws
// std::bad_alloc.
template <class Call>
auto OrNoMemory(absl::string_view text, Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return NoMemory(text);
  }
}

}  // namespace eris::base

#endif  // ERIS_BASE_LEAN_STATUS_H_
