#include "storage/query/rows/query_memory.h"

#include <new>

#include "absl/strings/str_cat.h"
#include "base/lean_status.h"
#include "eris/errors.h"

namespace eris::storage {

void* QueryMemory::Allocate(size_t bytes) {
  const size_t counted = cache_.ClassBytes(Rounded(bytes));
  over_budget_ = budget_ != nullptr && !budget_->Take(counted);
  void* const block = over_budget_ ? nullptr : cache_.Allocate(Rounded(bytes));
  if (block == nullptr) {
    if (!over_budget_ && budget_ != nullptr) budget_->Give(counted);
    refused_bytes_ = counted;
    return nullptr;
  }
  used_bytes_ += static_cast<int64_t>(counted);
  return block;
}

void QueryMemory::Free(void* block, size_t bytes) {
  const size_t counted = cache_.ClassBytes(Rounded(bytes));
  cache_.Free(block, Rounded(bytes));
  if (budget_ != nullptr) budget_->Give(counted);
  used_bytes_ -= static_cast<int64_t>(counted);
}

absl::Status QueryMemory::Refusal(absl::string_view operator_name) const {
  return base::OrNoMemory("no memory for a query", [&]() -> absl::Status {
    if (over_budget_) {
      return absl::ResourceExhaustedError(
          absl::StrCat(operator_name, ": ", refused_bytes_, " bytes more are above the limit of ",
                       budget_->bytes_max(), " bytes for all queries (query_bytes_max)"));
    }
    return Error(ErrorReason::kMemoryLimit,
                 absl::StrCat(operator_name, ": the engine's memory limit has no room for ",
                              refused_bytes_, " bytes more"));
  });
}

}  // namespace eris::storage
