// Opens queries over several objects, explains and analyses them.
#ifndef ERIS_ENGINE_QUERY_OPEN_QUERY_H_
#define ERIS_ENGINE_QUERY_OPEN_QUERY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "engine/core/core.h"
#include "eris/query.h"
#include "eris/query_plan.h"

namespace eris::engine {

// See Session::OpenQuery.
absl::StatusOr<std::unique_ptr<Scan>> OpenQuery(Core& core, SessionNode& node,
                                                const QueryPlan& plan, const QueryOptions& options);

// See Session::OpenAnalysis.
absl::StatusOr<std::unique_ptr<Scan>> OpenAnalysis(Core& core, SessionNode& node,
                                                   const QueryPlan& plan,
                                                   const QueryOptions& options);

// See Session::ExplainQuery.
absl::StatusOr<std::string> ExplainQuery(Core& core, const QueryPlan& plan);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_OPEN_QUERY_H_
