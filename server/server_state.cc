#include "server/server_state.h"

#include "absl/strings/str_cat.h"

namespace eris::server {

absl::Status OverBudgetStatus(const ByteBudget& budget, uint64_t bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat("calls under way hold ", budget.used(), " bytes, this one needs ", bytes,
                   " more, server.in_flight_bytes_max is ", budget.bytes_max(), "; try again"));
}

}  // namespace eris::server
