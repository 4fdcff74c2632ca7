// The engine's calls that tell of its memory and of where it is.
#include <new>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/core/closing.h"
#include "engine/engine_impl.h"
#include "engine/memory_report.h"
#include "engine/row_report.h"
#include "eris/errors.h"
#include "topology/placement.h"

namespace eris::engine {

MemoryStats EngineImpl::Memory(const MemoryStatsOptions& options) {
  return ReportMemory(resolved_, memory_, core_.catalogue.List(), options);
}

absl::StatusOr<MemoryVerification> EngineImpl::VerifyMemory(const VerifyMemoryOptions& options,
                                                            absl::Time deadline) try {
  // It may take minutes; Close does not wait for it but ends it.
  const auto interrupted = [this, deadline] {
    if (core_.in_flight.closed()) {
      return EngineClosing();
    }
    if (absl::Now() < deadline) return absl::OkStatus();
    return absl::DeadlineExceededError(
        "the deadline has passed before all pages and rows were looked at");
  };
  ERIS_ASSIGN_OR_RETURN(MemoryVerification verification,
                        engine::VerifyMemory(resolved_, memory_, options, interrupted));
  if (options.rows) {
    ERIS_ASSIGN_OR_RETURN(verification.rows,
                          MeasureRows(core_, resolved_, core_.catalogue.List(), interrupted));
  }
  return verification;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

std::string EngineImpl::ExplainTopology() const {
  topology::PlacementPlan plan = resolved_.plan;
  plan.notes = notes_;  // the notes of the plan, and what the system refused
  return absl::StrCat(topology::Explain(resolved_.topology, plan), ExplainMemory(resolved_));
}

}  // namespace eris::engine
