// Which steps are divided into free tasks, and which follow another one within its stage.
#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "engine/query/key_spans.h"
#include "engine/query/query_flow.h"

namespace eris::engine {

using storage::Division;
using storage::JoinTask;
using storage::MapStep;
using storage::MapTask;
using storage::QueryStep;
using storage::RowSet;

absl::Status QueryFlow::PlanFollower(Describe describe) {
  if (!last_ || !limits_.follows || planned_.empty() || next_ + 1 == order_.steps.size()) {
    return absl::OkStatus();
  }
  auto* const work = std::get_if<StageWork>(&planned_.back());
  if (work == nullptr) return absl::OkStatus();
  const auto* const join = std::get_if<JoinTask>(&work->stage.tasks.back());
  const QueryStep& next = steps_[order_.steps[next_ + 1]];
  const auto* const map = std::get_if<MapStep>(&next.what);
  if (join == nullptr || join->division == Division::kNone || map == nullptr ||
      map->input != current_ || steps_[current_].uses != 1) {
    return absl::OkStatus();
  }
  EndStep();
  SetColumns(Own(kRows), SchemaOfStep(current_));
  ERIS_RETURN_IF_ERROR(PutValues());
  // What the join has read goes in the stage after this one.
  std::vector<RowSet> to_free = std::exchange(to_free_, {});
  std::vector<storage::FilterNumber> filters = std::exchange(filters_to_free_, {});
  const size_t before = planned_.size();
  ERIS_ASSIGN_OR_RETURN(last_, Plan(std::get<MapStep>(steps_[current_].what), describe));
  ++phase_;
  to_free_ = std::move(to_free);
  filters_to_free_ = std::move(filters);
  auto& follower = std::get<MapTask>(std::get<StageWork>(planned_.back()).stage.tasks.back());
  follower.division = Division::kEnvelopes;
  follower.follows = true;
  std::get<StageWork>(planned_[before - 1]).stage.tasks.emplace_back(std::move(follower));
  planned_.pop_back();
  return absl::OkStatus();
}

Division QueryFlow::DivisionFor(RowSet set) const {
  if (aeus_ == 1 || parts_.RowsOf(set) < limits_.divided_rows) return Division::kNone;
  // A grouping is no exception: what one AEU has as a task of its own would be a second table of
  // groups at the AEU that runs it, and GroupsApart compares AEUs.
  return IsUneven(set) || !HasApartKeys(set) ? Division::kEnvelopes : Division::kNone;
}

bool QueryFlow::IsUneven(RowSet set) const {
  uint64_t most = 0;
  for (const auto& part : parts_.parts) {
    const storage::EnvelopeList* const list = part->list(set);
    if (list != nullptr) most = std::max(most, list->rows());
  }
  return most * 4 * aeus_ > parts_.RowsOf(set) * limits_.uneven_quarters;
}

bool QueryFlow::HasApartKeys(RowSet set) const {
  const auto& columns = parts_.columns[set];
  for (uint32_t column = 0; column < columns.size(); ++column) {
    if (!storage::HasKeyFilter(columns[column].type)) continue;
    if (KeySpans(parts_, set, column).Apart()) return true;
  }
  return false;
}

}  // namespace eris::engine
