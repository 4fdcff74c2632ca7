#include "engine/query/open_query.h"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "aeu/state/load_board.h"
#include "base/status_macros.h"
#include "engine/core/closing.h"
#include "engine/core/snapshot.h"
#include "engine/query/explain_steps.h"
#include "engine/query/plan_steps.h"
#include "engine/query/query_state.h"
#include "engine/reads/reader_handle.h"

namespace eris::engine {

namespace {

// A plan that is ready to run.
struct PlannedQuery {
  QueryObjects objects{};  // each name is one object for the whole query, even if it is dropped
  storage::QuerySteps steps{};
};

absl::StatusOr<PlannedQuery> PlanQuery(Core& core, const QueryPlan& plan) {
  PlannedQuery planned;
  QueryObjects& objects = planned.objects;
  const auto find = [&](absl::string_view name) -> absl::StatusOr<ObjectRef> {
    if (const auto known = objects.find(name); known != objects.end()) return known->second;
    ERIS_ASSIGN_OR_RETURN(ObjectRef found, core.catalogue.Find(name));
    objects.emplace(std::string(name), found);
    return found;
  };
  const auto schema_of = [&](absl::string_view name) -> absl::StatusOr<Schema> {
    ERIS_ASSIGN_OR_RETURN(const ObjectRef object, find(name));
    return object->schema;
  };
  const auto is_table = [&](absl::string_view name) {
    return objects.find(name)->second->is_table();
  };
  // Asked once, so that all guesses begin with the same number.
  std::map<std::string, uint64_t, std::less<>> known_rows;
  const auto rows_of = [&](absl::string_view name) {
    const auto [known, is_new] = known_rows.try_emplace(std::string(name), 0);
    if (!is_new) return known->second;
    const ObjectId object = objects.find(name)->second->route.object();
    for (const aeu::LoadBoard* const board : core.load_boards) {
      known->second += board->RowsOf(object);
    }
    return known->second;
  };
  ERIS_ASSIGN_OR_RETURN(planned.steps, PlanSteps(plan, {schema_of, is_table, rows_of}));
  return planned;
}

// The text of its steps, by `text_of`.
template <class TextOf>
auto TextOfSteps(const PlannedQuery& planned, TextOf text_of) {
  return text_of(planned.steps, [&](absl::string_view name) -> absl::StatusOr<Schema> {
    return planned.objects.find(name)->second->schema;
  });
}

absl::StatusOr<std::unique_ptr<Scan>> Open(Core& core, SessionNode& node, PlannedQuery planned,
                                           const QueryOptions& options,
                                           std::vector<std::string> lines) {
  if (core.in_flight.closed()) return EngineClosing();
  ERIS_ASSIGN_OR_RETURN(std::shared_ptr<Snapshot> snapshot, SnapshotFor(core, options.snapshot));
  ERIS_ASSIGN_OR_RETURN(
      QueryState * state,
      QueryState::Create(core, node, std::move(planned.steps), std::move(planned.objects),
                         std::move(snapshot), std::move(lines)));
  return std::make_unique<ScanImpl>(Reader<ReaderState>(state));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Scan>> OpenQuery(Core& core, SessionNode& node,
                                                const QueryPlan& plan,
                                                const QueryOptions& options) {
  ERIS_ASSIGN_OR_RETURN(PlannedQuery planned, PlanQuery(core, plan));
  return Open(core, node, std::move(planned), options, {});
}

absl::StatusOr<std::unique_ptr<Scan>> OpenAnalysis(Core& core, SessionNode& node,
                                                   const QueryPlan& plan,
                                                   const QueryOptions& options) {
  ERIS_ASSIGN_OR_RETURN(PlannedQuery planned, PlanQuery(core, plan));
  ERIS_ASSIGN_OR_RETURN(std::vector<std::string> lines, TextOfSteps(planned, StepLines));
  return Open(core, node, std::move(planned), options, std::move(lines));
}

absl::StatusOr<std::string> ExplainQuery(Core& core, const QueryPlan& plan) {
  ERIS_ASSIGN_OR_RETURN(const PlannedQuery planned, PlanQuery(core, plan));
  return TextOfSteps(planned, ExplainSteps);
}

}  // namespace eris::engine
