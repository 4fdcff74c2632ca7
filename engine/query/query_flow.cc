#include "engine/query/query_flow.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/query/key_spans.h"
#include "storage/query/plans/expression_tools.h"
#include "storage/query/plans/subquery_values.h"

namespace eris::engine {

using storage::CopyTask;
using storage::Division;
using storage::FilterTask;
using storage::FreeTask;
using storage::GroupsTask;
using storage::JoinStep;
using storage::JoinTask;
using storage::MapStep;
using storage::MapTask;
using storage::QueryStep;
using storage::ReceiveTask;
using storage::RowSet;
using storage::ScanStep;
using storage::SendTask;
using storage::ShareTask;
using storage::SortStep;
using storage::SortTask;
using storage::SpreadTask;
using storage::StageTask;
using storage::TablePlan;
using storage::UnionStep;
using storage::UnionTask;
using storage::ValuesStep;
using storage::ValuesTask;

QueryFlow::QueryFlow(storage::QuerySteps steps, storage::QueryParts& parts, QueryFlowLimits limits)
    : steps_(std::move(steps.steps)),
      parts_(parts),
      aeus_(parts.aeus()),
      limits_(limits),
      order_(OrderSteps(steps_)),
      at_home_(steps_.size(), false) {
  for (uint32_t step = 0; step < steps_.size(); ++step) rows_.push_back(SetOf(step, kRows));
  current_ = order_.steps[0];
}

absl::StatusOr<Expression> QueryFlow::ValueOf(uint32_t step) const {
  const RowSet set = RowsOfStep(step);
  const uint64_t rows = parts_.RowsOf(set);
  if (rows > 1) {
    return absl::InvalidArgumentError(absl::StrCat("a subquery whose value is asked for has ", rows,
                                                   " rows, must have one at most"));
  }
  const ColumnSchema& schema = SchemaOfStep(step).columns[0];
  for (const auto& part : parts_.parts) {
    const storage::EnvelopeList* const list = part->list(set);
    for (uint32_t e = 0; list != nullptr && e < list->size(); ++e) {
      if ((*list)[e].rows() > 0) return storage::ValueOf((*list)[e], schema);
    }
  }
  return storage::NullOf(schema);
}

absl::Status QueryFlow::PutValues() {
  std::vector<uint32_t> read;  // each as often as it is named, which is how its uses are counted
  const auto value_of = [&](uint32_t step) {
    read.push_back(step);
    return ValueOf(step);
  };
  ERIS_RETURN_IF_ERROR(storage::SubqueryValues(value_of).Put(steps_[current_]));
  for (const uint32_t step : read) Release(step);
  return absl::OkStatus();
}

absl::StatusOr<QueryFlow::Work> QueryFlow::Next(Describe describe) {
  while (planned_.empty()) {
    if (last_) EndStep();
    if (next_ == order_.steps.size()) return NoWork();
    if (phase_ == 0) {
      SetColumns(Own(kRows), SchemaOfStep(current_));
      ERIS_RETURN_IF_ERROR(PutValues());
    }
    ERIS_ASSIGN_OR_RETURN(last_, std::visit([&](const auto& step) { return Plan(step, describe); },
                                            steps_[current_].what));
    ++phase_;
    ERIS_RETURN_IF_ERROR(PlanFollower(describe));
  }
  Work next = std::move(planned_.front());
  planned_.pop_front();
  return next;
}

absl::StatusOr<bool> QueryFlow::Plan(const ScanStep& step, Describe describe) {
  const ScannedTable table = describe(step.object);
  const std::vector<ColumnSchema>& columns = table.columns;
  if (columns.empty()) {
    SetColumns(Own(1), SchemaOfStep(current_));
    planned_.emplace_back(ReadWork{step.object, Own(1)});
    Everywhere({SpreadTask{.from = Own(1), .to = Own(kRows)}});
    refers_ = true;
    return true;
  }
  const bool groups = MakesGroups(step.query);
  if (phase_ > 0) {
    ERIS_RETURN_IF_ERROR(whole_ ? PlanWhole() : PlanMerge());
    return true;
  }
  if (aeus_ > 1 && NeedsWholeGroups(step.query)) {
    whole_ = WholeGroupsOf(step.query, step.carried);
    ERIS_ASSIGN_OR_RETURN(auto rows, TablePlan::Create(columns, whole_->rows));
    partial_ = rows->result();
    SetColumns(Own(1), partial_);
    auto filters = PlanFilters(step, table);
    planned_.emplace_back(ScanWork{step.object, std::move(rows), Own(1), std::move(filters)});
    return false;
  }
  if (groups && aeus_ > 1) phases_ = TwoPhases(step.query, step.carried);
  ERIS_ASSIGN_OR_RETURN(
      auto plan,
      TablePlan::Create(columns, phases_ ? phases_->partial : step.query, {}, step.carried));
  if (phases_) partial_ = plan->result();
  std::vector<storage::ScanFilter> filters = PlanFilters(step, table);
  planned_.emplace_back(ScanWork{step.object, std::move(plan), Own(kRows), std::move(filters)});
  if (!groups) return true;
  const RowSet to = phases_ ? Own(1) : Own(kRows);
  if (phases_) SetColumns(to, partial_);
  Everywhere({GroupsTask{.to = to}});
  return !phases_;
}

std::vector<storage::ScanFilter> QueryFlow::PlanFilters(const ScanStep& step,
                                                        const ScannedTable& table) {
  std::vector<storage::ScanFilter> filters;
  std::vector<StageTask> tasks;
  for (uint32_t number = 0; number < order_.filters.size(); ++number) {
    const KeyFilterPlan& filter = order_.filters[number];
    if (filter.scan != current_) continue;
    const std::optional<uint32_t> column = TableColumnOf(step, filter.scan_column, table.columns);
    const uint64_t keys = parts_.RowsOf(RowsOfStep(filter.made));
    if (!column || keys > limits_.filter_keys || IsTooMuch(keys)) continue;
    filters.push_back({*column, number, filter.whole_groups});
    filters_.push_back(number);
    FilterTask make{RowsOfStep(filter.made), filter.made_column, number, filter.whole_groups, {}};
    // Rows may move until they are scanned: then some pass that have no partner.
    if (*column == table.key && !filter.whole_groups) make.met = table.met;
    tasks.emplace_back(std::move(make));
  }
  if (!tasks.empty()) Everywhere(std::move(tasks));
  return filters;
}

bool QueryFlow::IsTooMuch(uint64_t keys) const {
  constexpr uint64_t kKeysPerRow = 4;
  const QueryStep& step = steps_[current_];
  const bool groups = MakesGroups(std::get<ScanStep>(step.what).query);  // of more rows
  return !groups && step.rows_about && keys / kKeysPerRow > *step.rows_about;
}

absl::StatusOr<bool> QueryFlow::Plan(const MapStep& step, Describe) {
  if (phase_ > 0) {
    ERIS_RETURN_IF_ERROR(whole_ ? PlanWhole() : PlanMerge());
    return true;
  }
  const bool groups = MakesGroups(step.query);
  const RowSet from = RowsOfStep(step.input);
  const std::vector<ColumnSchema> columns = storage::NamedByField(SchemaOfStep(step.input).columns);
  if (!IsAtHome(step.input) && NeedsWholeGroups(step.query)) {
    whole_ = WholeGroupsOf(step.query, step.carried);
    ERIS_ASSIGN_OR_RETURN(MapTask map, MapOf(columns, whole_->rows, from, Own(1)));
    map.division = DivisionFor(from);
    partial_ = map.plan->result();
    Everywhere({std::move(map)});
    return false;
  }
  if (groups && !IsAtHome(step.input)) {
    phases_ = TwoPhases(step.query, step.carried);
    ERIS_ASSIGN_OR_RETURN(MapTask map,
                          MapOf(columns, phases_->partial, from, Own(1), step.carried));
    map.division = DivisionFor(from);
    partial_ = map.plan->result();
    Everywhere({std::move(map)});
    return false;
  }
  ERIS_ASSIGN_OR_RETURN(MapTask map, MapOf(columns, step.query, from, Own(kRows), step.carried));
  if (IsAtHome(step.input)) {
    at_home_[current_] = true;
    AtHome({std::move(map)});
  } else {
    map.division = DivisionFor(from);
    Everywhere({std::move(map)});
  }
  return true;
}

absl::Status QueryFlow::PlanMerge() {
  const TwoPhaseGroups phases = *std::move(phases_);
  phases_.reset();
  if (GroupsApart(phases.keys)) return PlanUnmerged(phases);
  SetColumns(Own(2), partial_);
  const RowSet merged = phases.finish ? Own(3) : Own(kRows);
  ERIS_ASSIGN_OR_RETURN(MapTask merge, MapOf(storage::NamedByField(partial_.columns), phases.merge,
                                             Own(2), merged, phases.carried));
  std::vector<StageTask> tasks;
  const bool at_home = phases.keys == 0 || parts_.RowsOf(Own(1)) <= limits_.merged_at_home;
  if (at_home) {
    PlanShare(Own(1), Own(2), true, tasks);
  } else {
    Everywhere({SendTask{.from = Own(1),
                         .to = Own(2),
                         .keys = ComparedKeys(phases.keys, phases.carried),
                         .division = DivisionFor(Own(1))}});
    if (parts_.RowsOf(Own(1)) >= limits_.divided_rows) merge.division = Division::kParts;
    tasks.emplace_back(ReceiveTask{.set = Own(2)});
  }
  const std::vector<ColumnSchema> columns = storage::NamedByField(merge.plan->result().columns);
  tasks.emplace_back(std::move(merge));
  if (phases.finish) {
    ERIS_ASSIGN_OR_RETURN(MapTask finish, MapOf(columns, *phases.finish, merged, Own(kRows)));
    tasks.emplace_back(std::move(finish));
  }
  at_home_[current_] = at_home;
  at_home ? AtHome(std::move(tasks)) : Everywhere(std::move(tasks));
  return absl::OkStatus();
}

absl::Status QueryFlow::PlanWhole() {
  const WholeGroups whole = *std::move(whole_);
  whole_.reset();
  const bool apart = GroupsApart(whole.keys);
  if (!apart) SetColumns(Own(2), partial_);
  ERIS_ASSIGN_OR_RETURN(MapTask groups, MapOf(storage::NamedByField(partial_.columns), whole.groups,
                                              apart ? Own(1) : Own(2), Own(kRows), whole.carried));
  std::vector<StageTask> tasks;
  const bool at_home =
      !apart && (whole.keys == 0 || parts_.RowsOf(Own(1)) <= limits_.merged_at_home);
  if (at_home) {
    PlanShare(Own(1), Own(2), true, tasks);
  } else if (!apart) {
    Everywhere({SendTask{.from = Own(1),
                         .to = Own(2),
                         .keys = ComparedKeys(whole.keys, whole.carried),
                         .division = DivisionFor(Own(1))}});
    tasks.emplace_back(ReceiveTask{.set = Own(2)});
  }
  if (!at_home && parts_.RowsOf(Own(1)) >= limits_.divided_rows) {
    groups.division = Division::kParts;
  }
  tasks.emplace_back(std::move(groups));
  at_home_[current_] = at_home;
  at_home ? AtHome(std::move(tasks)) : Everywhere(std::move(tasks));
  return absl::OkStatus();
}

bool QueryFlow::GroupsApart(uint32_t keys) const {
  for (uint32_t key = 0; key < keys; ++key) {
    if (!storage::HasKeyFilter(partial_.columns[key].type)) continue;
    const KeySpans spans(parts_, Own(1), key);
    if (spans.with_nulls() <= 1 && spans.Apart()) return true;
  }
  return false;
}

absl::Status QueryFlow::PlanUnmerged(const TwoPhaseGroups& phases) {
  if (!phases.finish) {
    rows_[current_] = Own(1);
    return absl::OkStatus();
  }
  ERIS_ASSIGN_OR_RETURN(MapTask finish, MapOf(storage::NamedByField(partial_.columns),
                                              *phases.finish, Own(1), Own(kRows)));
  Everywhere({std::move(finish)});
  return absl::OkStatus();
}

absl::StatusOr<MapTask> QueryFlow::MapOf(const std::vector<ColumnSchema>& columns,
                                         const Query& query, RowSet from, RowSet to,
                                         uint16_t carried) {
  ERIS_ASSIGN_OR_RETURN(auto plan, TablePlan::Create(columns, query, {}, carried));
  SetColumns(to, plan->result());
  return MapTask{.plan = std::move(plan), .from = from, .to = to};
}

absl::StatusOr<bool> QueryFlow::Plan(const JoinStep& step, Describe) {
  JoinTask join{.step = step,
                .left_schema = SchemaOfStep(step.left),
                .right_schema = SchemaOfStep(step.right),
                .left = RowsOfStep(step.left),
                .right = RowsOfStep(step.right),
                .to = Own(kRows)};
  const uint64_t left = parts_.RowsOf(join.left);
  const uint64_t right = parts_.RowsOf(join.right);
  // The smaller side makes the smaller table; but the table's rows cannot be those that count
  // without a partner.
  join.builds_left = step.type == JoinType::kInner && !step.keys.empty() && left < right;
  const uint64_t built = join.builds_left ? left : right;
  if (IsAtHome(step.left) && IsAtHome(step.right) && left + right <= limits_.stay_at_home) {
    at_home_[current_] = true;
    AtHome({std::move(join)});
  } else if (aeus_ == 1 || KeysApart(step)) {
    if (aeus_ > 1) join.division = DivisionFor(join.builds_left ? join.right : join.left);
    Everywhere({std::move(join)});
  } else if (step.keys.empty() || built * (aeus_ - 1) <= (left + right) * limits_.built_per_row) {
    const uint32_t build = join.builds_left ? step.left : step.right;
    const uint32_t probe = join.builds_left ? step.right : step.left;
    PlanShared(std::move(join), build, probe);
  } else {
    PlanExchanged(std::move(join));
  }
  return true;
}

bool QueryFlow::KeysApart(const JoinStep& step) const {
  // Rows at home would all be worked on there.
  if (IsAtHome(step.left) || IsAtHome(step.right)) return false;
  for (const JoinNode::Key& key : step.keys) {
    if (!storage::HasKeyFilter(SchemaOfStep(step.left).columns[key.left].type)) continue;
    KeySpans spans(parts_, RowsOfStep(step.left), key.left);
    spans.Add(KeySpans(parts_, RowsOfStep(step.right), key.right));
    if (spans.Apart()) return true;
  }
  return false;
}

void QueryFlow::PlanShare(RowSet from, RowSet to, bool at_home, std::vector<StageTask>& tasks) {
  bool far = false, near = false;  // some AEUs are on different NumaNodes, some on the same one
  for (uint32_t aeu = 1; aeu < aeus_; ++aeu) {
    far = far || parts_.AreFar(aeu, 0);
    near = near || parts_.filter_makers[aeu] != aeu;
  }
  ShareTask share{.from = from, .to = to};
  if (far && parts_.RowsOf(from) >= limits_.copied_rows) {
    share.copies = Own(kCopies);
    parts_.columns[Own(kCopies)] = parts_.columns[from];
    CopyTask copy{.from = from, .to = Own(kCopies), .divided = !at_home};
    // What is copied for other AEUs, too, they read one stage later.
    if (at_home || !near) {
      tasks.emplace_back(std::move(copy));
    } else {
      Everywhere({std::move(copy)});
    }
  }
  tasks.emplace_back(std::move(share));
}

void QueryFlow::PlanShared(JoinTask join, uint32_t build, uint32_t probe) {
  const RowSet probe_rows = RowsOfStep(probe);
  (join.builds_left ? join.left : join.right) = Own(1);
  SetColumns(Own(1), SchemaOfStep(build));
  const bool at_home = IsAtHome(probe) && parts_.RowsOf(probe_rows) <= limits_.stay_at_home;
  std::vector<StageTask> tasks;
  PlanShare(RowsOfStep(build), Own(1), at_home, tasks);
  if (IsAtHome(probe) && !at_home) {
    (join.builds_left ? join.right : join.left) = Own(2);
    SetColumns(Own(2), SchemaOfStep(probe));
    tasks.emplace_back(SpreadTask{.from = probe_rows, .to = Own(2)});
  }
  join.shared = true;
  if (!at_home) {
    join.division = DivisionFor(probe_rows);
    // They are spread.
    if (IsAtHome(probe) && aeus_ > 1 && parts_.RowsOf(probe_rows) >= limits_.divided_rows) {
      join.division = Division::kEnvelopes;
    }
  }
  tasks.emplace_back(std::move(join));
  at_home_[current_] = at_home;
  at_home ? AtHome(std::move(tasks)) : Everywhere(std::move(tasks));
}

void QueryFlow::PlanExchanged(JoinTask join) {
  SendTask left{.from = join.left, .to = Own(1), .nulls_stay = true};
  SendTask right{.from = join.right, .to = Own(2), .nulls_stay = true};
  for (const JoinNode::Key& key : join.step.keys) {
    left.keys.push_back(key.left);
    right.keys.push_back(key.right);
  }
  left.division = DivisionFor(left.from);
  right.division = DivisionFor(right.from);
  // Nobody knows so far who gets how many.
  const uint64_t probed = parts_.RowsOf(join.builds_left ? join.right : join.left);
  if (probed >= limits_.divided_rows) join.division = Division::kEnvelopes;
  SetColumns(Own(1), join.left_schema);
  SetColumns(Own(2), join.right_schema);
  join.left = Own(1);
  join.right = Own(2);
  Everywhere({std::move(left), std::move(right)});
  Everywhere({ReceiveTask{.set = Own(1)}, ReceiveTask{.set = Own(2)}, std::move(join)});
}

absl::StatusOr<bool> QueryFlow::Plan(const SortStep& step, Describe) {
  SortTask sort{.step = step, .from = RowsOfStep(step.input), .to = Own(kRows)};
  at_home_[current_] = true;
  if (IsAtHome(step.input)) {
    AtHome({std::move(sort)});
    return true;
  }
  const uint64_t all = step.offset + step.count;
  const bool limited = step.count != storage::kAllRows && all >= step.count;
  if (limited && phase_ == 0) {
    SetColumns(Own(1), SchemaOfStep(step.input));
    sort.step.offset = 0;
    sort.step.count = all;
    sort.to = Own(1);
    Everywhere({std::move(sort)});
    return false;
  }
  if (limited) sort.from = Own(1);
  SetColumns(Own(2), SchemaOfStep(step.input));
  const RowSet from = std::exchange(sort.from, Own(2));
  std::vector<StageTask> tasks;
  PlanShare(from, Own(2), true, tasks);
  tasks.emplace_back(std::move(sort));
  AtHome(std::move(tasks));
  return true;
}

absl::StatusOr<bool> QueryFlow::Plan(const UnionStep& step, Describe) {
  UnionTask all{.step = step, .from = {}, .to = Own(kRows)};
  bool at_home = true;
  for (const UnionStep::Input& input : step.inputs) {
    all.from.push_back(RowsOfStep(input.step));
    at_home &= IsAtHome(input.step);
  }
  // Rows at home are there alone: the other AEUs find none.
  at_home_[current_] = at_home;
  at_home ? AtHome({std::move(all)}) : Everywhere({std::move(all)});
  return true;
}

absl::StatusOr<bool> QueryFlow::Plan(const ValuesStep& step, Describe) {
  at_home_[current_] = true;
  AtHome({ValuesTask{.step = step, .schema = SchemaOfStep(current_), .to = Own(kRows)}});
  return true;
}

void QueryFlow::SetColumns(RowSet set, const Schema& schema) {
  parts_.columns[set] = storage::EnvelopeColumnsOf(schema);
}

void QueryFlow::Everywhere(std::vector<StageTask> tasks) {
  // The engine's part is in no stage.
  for (const RowSet set : to_free_) {
    while (parts_.parts.back()->FreeSome(set)) {
    }
  }
  if (!to_free_.empty() || !filters_to_free_.empty()) {
    tasks.insert(tasks.begin(), FreeTask{.sets = std::exchange(to_free_, {}),
                                         .filters = std::exchange(filters_to_free_, {})});
  }
  planned_.emplace_back(StageWork{.stage = {std::move(tasks)}, .everywhere = true});
}

void QueryFlow::AtHome(std::vector<StageTask> tasks) {
  if (aeus_ == 1) return Everywhere(std::move(tasks));
  planned_.emplace_back(StageWork{.stage = {std::move(tasks)}, .everywhere = false});
}

void QueryFlow::EndStep() {
  const QueryStep& step = steps_[current_];
  if (const auto* map = std::get_if<MapStep>(&step.what)) {
    Release(map->input);
  } else if (const auto* join = std::get_if<JoinStep>(&step.what)) {
    Release(join->left);
    Release(join->right);
  } else if (const auto* sort = std::get_if<SortStep>(&step.what)) {
    Release(sort->input);
  } else if (const auto* all = std::get_if<UnionStep>(&step.what)) {
    for (const UnionStep::Input& input : all->inputs) Release(input.step);
  }
  filters_to_free_.insert(filters_to_free_.end(), filters_.begin(), filters_.end());
  filters_.clear();
  for (uint32_t which = 1; which < kSetsPerStep && !refers_; ++which) {
    if (Own(which) != RowsOfStep(current_)) FreeLater(Own(which));
  }
  if (++next_ < order_.steps.size()) current_ = order_.steps[next_];
  refers_ = false;
  phase_ = 0;
  last_ = false;
}

void QueryFlow::Release(uint32_t step) {
  if (--steps_[step].uses > 0) return;
  for (uint32_t which = 0; which < kSetsPerStep; ++which) FreeLater(SetOf(step, which));
}

void QueryFlow::FreeLater(RowSet set) {
  if (parts_.columns[set].empty()) return;
  to_free_.push_back(set);
}

}  // namespace eris::engine
