// Answers to batches, for C.
#ifndef ERIS_CAPI_RESULT_H_
#define ERIS_CAPI_RESULT_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "capi/handles.h"
#include "eris/batch.h"

namespace eris::capi {

// Puts the engine's answer into a result that was made before the call. Without memory the result
// has no message.
void FillResult(BatchResult&& from, eris_result& result) noexcept;

}  // namespace eris::capi

#endif  // ERIS_CAPI_RESULT_H_
