// The status of calls that arrive while the engine closes, or that its end cuts off. Any thread,
// throws nothing.
#ifndef ERIS_ENGINE_CORE_CLOSING_H_
#define ERIS_ENGINE_CORE_CLOSING_H_

#include "absl/status/status.h"
#include "base/lean_status.h"
#include "eris/errors.h"

namespace eris::engine {

inline absl::Status EngineClosing() noexcept {
  return base::LeanError(ErrorReason::kEngineClosing, "the engine is closing");
}

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_CLOSING_H_
