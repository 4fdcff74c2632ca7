// Answers to batches, for C.
#ifndef ERIS_CAPI_RESULT_H_
#define ERIS_CAPI_RESULT_H_

#include <memory>
#include <vector>

#include "capi/handles.h"
#include "eris/batch.h"
#include "eris/schema.h"

namespace eris::capi {

// A result for an answer to come: `types` are those of its columns.
std::unique_ptr<eris_result> NewResult(std::vector<ColumnSchema> types, bool lookup);
// Puts the engine's answer into a result that was made before the call. Without memory the result
// has no message.
void FillResult(BatchResult&& from, eris_result& result) noexcept;

}  // namespace eris::capi

#endif  // ERIS_CAPI_RESULT_H_
