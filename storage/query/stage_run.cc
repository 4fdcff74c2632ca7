#include "storage/query/stage_run.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "storage/query/divided_run.h"
#include "storage/query/envelope_step.h"
#include "storage/query/part_tasks.h"

namespace eris::storage {
namespace {

// Envelopes of others that are looked at, or taken, in one piece.
constexpr uint32_t kEnvelopesAtOnce = 64;

}  // namespace

absl::StatusOr<bool> StageRun::Advance() {
  if (error_.ok() && !ending_) {
    absl::StatusOr<bool> more = base::OrNoMemory("no memory for a query", [&] { return Work(); });
    if (!more.ok()) {
      Stop(std::move(more).status());
    } else if (*more) {
      return true;
    }
  }
  if (!error_.ok() && Waits()) return true;
  if (EndTasks()) return true;
  if (error_.ok()) return false;
  // That it is to stop may be the consequence of an error here.
  const bool has_tasks = part_.all().stage_tasks != nullptr;
  return has_tasks && !part_.tasks().error().ok() ? part_.tasks().error() : error_;
}

absl::StatusOr<bool> StageRun::Work() {
  if (task_ == stage_.tasks.size()) return false;
  if (run_ != nullptr) run_->SetPieceRows(piece_rows_.rows());
  ERIS_ASSIGN_OR_RETURN(const bool more,
                        run_ != nullptr ? run_->Advance()
                                        : std::visit([&](const auto& task) { return Do(task); },
                                                     stage_.tasks[task_]));
  if (more) return true;
  BeginNext();
  return task_ < stage_.tasks.size();
}

void StageRun::BeginNext() {
  run_.reset();
  at_ = 0;
  envelope_ = 0;
  count_ = 0;
  copies_ = false;
  far_.clear();
  far_at_ = 0;
  ++task_;
}

void StageRun::Stop(absl::Status reason) {
  if (!error_.ok()) return;
  error_ = std::move(reason);
  // relaxed: advice, so that other AEUs need not go on.
  part_.all().stop.store(true, std::memory_order_relaxed);
  for (size_t task = 0; task < stage_.tasks.size(); ++task) {
    if (StageTasks* const all = Divided(task)) part_.tasks().Arrive(*all, task);
  }
}

bool StageRun::Waits() const {
  if (ending_) return false;
  if (error_.ok()) return run_ != nullptr && run_->Waits();
  for (size_t task = 0; task < stage_.tasks.size(); ++task) {
    const StageTasks* const all = Divided(task);
    if (all != nullptr && !all->HasEnded(task)) return true;
  }
  return false;
}

bool StageRun::EndTasks() {
  StageTasks* const all = part_.all().stage_tasks.get();
  if (!std::exchange(ending_, true)) {
    run_.reset();
    if (all == nullptr) return false;
    for (size_t task = 0; task < stage_.tasks.size(); ++task) {
      if (Divided(task) != nullptr) part_.tasks().EndStep(task);
    }
  }
  return all != nullptr && part_.tasks().FreeSome(part_.memory());
}

StageTasks* StageRun::Divided(size_t task) const {
  StageTasks* const all = part_.all().stage_tasks.get();
  return all != nullptr && DivisionOf(stage_.tasks[task]) != Division::kNone ? all : nullptr;
}

absl::StatusOr<bool> StageRun::Do(const FreeTask& task) {
  while (at_ < task.sets.size()) {
    if (part_.FreeSome(task.sets[at_])) return true;
    ++at_;
  }
  for (const FilterNumber filter : task.filters) part_.FreeFilter(filter);
  return false;
}

absl::StatusOr<bool> StageRun::Do(const FilterTask& task) try {
  if (part_.all().filter_makers[part_.self()] != part_.self()) return false;
  KeyFilterMaker& filter = at_++ == 0 ? part_.NewFilter(task) : part_.filter_under_way(task.filter);
  const StepResult made = filter.Make();
  if (made == StepResult::kNoMemory) {
    part_.FreeFilter(task.filter);
    if (task.required) return part_.memory().Refusal("key filter");
  }
  if (made == StepResult::kDone) part_.CountKeys(task);
  return made == StepResult::kMore;
} catch (const std::bad_alloc&) {
  part_.FreeFilter(task.filter);
  if (task.required) throw;
  return false;
}

absl::StatusOr<bool> StageRun::Do(const CopyTask& task) {
  if (CollectToCopy(task)) return true;
  run_ = NewCopyRun(world(), std::move(far_), part_.Output(task.to));
  return true;
}

bool StageRun::CollectToCopy(const CopyTask& task) {
  const QueryParts& all = part_.all();
  // Its place among the AEUs of its NumaNode, and their number.
  uint32_t place = 0, near = 0;
  for (uint32_t aeu = 0; aeu < all.aeus(); ++aeu) {
    if (all.AreFar(aeu, part_.self())) continue;
    place += aeu < part_.self();
    ++near;
  }
  if (!task.divided) place = 0, near = 1;
  for (uint32_t looked = 0; at_ < all.aeus(); ++at_, envelope_ = 0) {
    if (!all.AreFar(at_, part_.self())) continue;
    const EnvelopeList* const rows = all.parts[at_]->list(task.from);
    for (; rows != nullptr && envelope_ < rows->size(); ++envelope_, ++count_) {
      if (looked++ == kEnvelopesAtOnce) return true;
      if (count_ % near == place) far_.push_back(rows->at(envelope_));
    }
    if (looked++ >= kEnvelopesAtOnce) return true;
  }
  return false;
}

absl::StatusOr<bool> StageRun::Do(const ShareTask& task) {
  if (!task.copies) return Refer(task.from, task.to, 0, 1);
  // First their rows, then what they have copied.
  ERIS_ASSIGN_OR_RETURN(const bool more,
                        ReferToNear(copies_ ? *task.copies : task.from, task.to, copies_));
  if (more || std::exchange(copies_, !copies_)) return more;
  at_ = 0;
  envelope_ = 0;
  return true;
}

absl::StatusOr<bool> StageRun::ReferToNear(RowSet from, RowSet to, bool copies) {
  if (part_.list(to) == nullptr) part_.Output(to, EnvelopeList::Owns::kNo);
  EnvelopeList& list = *part_.list(to);
  const QueryParts& all = part_.all();
  for (uint32_t looked = 0; at_ < all.parts.size(); ++at_, envelope_ = 0) {
    // Far ones may be making their lists of copies in this very stage.
    if (all.AreFar(at_, part_.self())) continue;
    const EnvelopeList* const rows = all.parts[at_]->list(from);
    if (rows == nullptr) continue;
    for (; envelope_ < rows->size(); ++envelope_) {
      if (looked++ == kEnvelopesAtOnce) return true;
      ERIS_RETURN_IF_ERROR(Add(list, rows->at(envelope_)));
      // Copies are rows of others, also its own ones.
      if (copies || at_ != part_.self()) part_.CountCrossed((*rows)[envelope_]);
    }
  }
  return false;
}

absl::StatusOr<bool> StageRun::Do(const SpreadTask& task) {
  return Refer(task.from, task.to, part_.self(), part_.all().aeus());
}

absl::StatusOr<bool> StageRun::Refer(RowSet from, RowSet to, uint32_t share, uint32_t of) {
#ifdef ERIS_PLANTED_ENVELOPE_FREED_BY_TWO
  if (part_.list(to) == nullptr) part_.Output(to, EnvelopeList::Owns::kYes);
#endif
  if (part_.list(to) == nullptr) part_.Output(to, EnvelopeList::Owns::kNo);
  EnvelopeList& list = *part_.list(to);
  const auto& parts = part_.all().parts;
  for (uint32_t looked = 0; at_ < parts.size(); ++at_, envelope_ = 0) {
    const EnvelopeList* const rows = parts[at_]->list(from);
    for (; rows != nullptr && envelope_ < rows->size(); ++envelope_, ++count_) {
      if (looked++ == kEnvelopesAtOnce) return true;
      if (count_ % of != share) continue;
      ERIS_RETURN_IF_ERROR(Add(list, rows->at(envelope_)));
      if (at_ != part_.self()) part_.CountCrossed((*rows)[envelope_]);
    }
    if (looked++ >= kEnvelopesAtOnce) return true;
  }
  return false;
}

absl::Status StageRun::Add(EnvelopeList& list, Envelope* envelope) const {
  switch (list.Add(envelope)) {
    case EnvelopeList::Added::kYes:
      return absl::OkStatus();
    case EnvelopeList::Added::kNoMemory:
      return part_.memory().Refusal("exchange");
    case EnvelopeList::Added::kFull:
      break;
  }
  return absl::ResourceExhaustedError(absl::StrCat("an AEU gets more than ", kEnvelopesMax,
                                                   " envelopes of rows for one step of a query"));
}

absl::StatusOr<bool> StageRun::Do(const SendTask& task) {
  if (StageTasks* const all = Divided(task_)) {
    run_ = NewDividedRun(part_, *all, task_, &part_.Input(task.from), nullptr);
    return true;
  }
  ERIS_ASSIGN_OR_RETURN(auto step, NewEnvelopeStep(part_, task));
  run_ = NewListRun(std::move(step), &part_.Input(task.from));
  return true;
}

absl::StatusOr<bool> StageRun::Do(const ReceiveTask& task) {
  if (part_.list(task.set) == nullptr) part_.Output(task.set);
  EnvelopeList& list = *part_.list(task.set);
  const auto& parts = part_.all().parts;
  for (uint32_t looked = 0; at_ < parts.size(); ++at_) {
    OutgoingEnvelopes* const sent = parts[at_]->outgoing(task.set);
    while (sent != nullptr && !part_.all().AreFar(at_, part_.self())) {
      if (looked++ == kEnvelopesAtOnce) return true;
      Envelope* const first = sent->First(part_.self());
      if (first == nullptr) break;
      // Only once it is here is it no longer there.
      Envelope* const next = first->next();
      ERIS_RETURN_IF_ERROR(Add(list, first));
      sent->Taken(part_.self(), next);
      if (at_ != part_.self()) part_.CountCrossed(*first);
    }
    if (looked++ >= kEnvelopesAtOnce) return true;
  }
  if (CollectSent(task.set)) return true;
  if (far_.empty()) return false;
  run_ = NewCopyRun(world(), std::move(far_), list);
  return true;
}

// They stay their filler's, which frees them with the set.
bool StageRun::CollectSent(RowSet set) {
  const QueryParts& all = part_.all();
  for (uint32_t looked = 0; far_at_ < all.aeus(); ++far_at_) {
    if (!all.AreFar(far_at_, part_.self())) continue;
    const OutgoingEnvelopes* const sent = all.parts[far_at_]->outgoing(set);
    if (sent == nullptr) continue;
    if (chain_ == nullptr) chain_ = sent->First(part_.self());
    for (; chain_ != nullptr; chain_ = chain_->next()) {
      if (looked++ == kEnvelopesAtOnce) return true;
      far_.push_back(chain_);
      part_.CountCrossed(*chain_);
    }
  }
  return false;
}

absl::StatusOr<bool> StageRun::Do(const MapTask& task) {
  if (StageTasks* const all = Divided(task_)) {
    const EnvelopeList* const input = task.follows ? nullptr : &part_.Input(task.from);
    run_ = NewDividedRun(part_, *all, task_, input, nullptr);
    return true;
  }
  ERIS_ASSIGN_OR_RETURN(auto step, NewEnvelopeStep(world(), task, part_.Output(task.to)));
  run_ = NewListRun(std::move(step), &part_.Input(task.from));
  return true;
}

absl::StatusOr<bool> StageRun::Do(const GroupsTask& task) {
  EnvelopeList& groups = part_.Output(task.to);
  std::unique_ptr<TableRun> run = part_.TakeGroups();
  if (run == nullptr) return false;  // the AEU has nothing of the object
  run_ = NewGroupsRun(world(), std::move(run), groups);
  return true;
}

absl::StatusOr<bool> StageRun::Do(const JoinTask& task) {
  const EnvelopeList& left = part_.Input(task.left);
  const EnvelopeList& right = part_.Input(task.right);
  if (StageTasks* const all = Divided(task_)) {
    const EnvelopeList& probed = task.builds_left ? right : left;
    ERIS_ASSIGN_OR_RETURN(
        auto build,
        JoinBuild::Create(part_.memory(), task, task.builds_left ? left : right, probed.columns()));
    run_ = NewDividedRun(part_, *all, task_, &probed, std::move(build));
    return true;
  }
  ERIS_ASSIGN_OR_RETURN(run_, NewJoinRun(world(), task, left, right, part_.Output(task.to)));
  return true;
}

absl::StatusOr<bool> StageRun::Do(const SortTask& task) {
  const EnvelopeList& input = part_.Input(task.from);
  ERIS_ASSIGN_OR_RETURN(run_, NewSortRun(world(), task.step, input, part_.Output(task.to)));
  return true;
}

absl::StatusOr<bool> StageRun::Do(const UnionTask& task) {
  std::vector<const EnvelopeList*> inputs;
  for (const RowSet set : task.from) inputs.push_back(&part_.Input(set));
  ERIS_ASSIGN_OR_RETURN(run_,
                        NewUnionRun(world(), task.step, std::move(inputs), part_.Output(task.to)));
  return true;
}

absl::StatusOr<bool> StageRun::Do(const ValuesTask& task) {
  run_ = NewValuesRun(world(), task, part_.Output(task.to));
  return true;
}

absl::StatusOr<bool> StageRun::Do(const LeaveTask&) { return part_.FreeSome(); }

}  // namespace eris::storage
