#include "tests/sim/table_moves.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace eris::sim {

using storage::Key;
using storage::KeyState;
using storage::Partition;
using storage::Range;
using storage::TablePartition;

namespace {

constexpr size_t kOwners = 4;
constexpr size_t kFirstOwners = 2;  // the others become members as ranges come to them
constexpr uint64_t kHeads = 150;
constexpr int32_t kTails = 8;
constexpr size_t kSnapshotsMax = 4;
constexpr size_t kStepsMax = 2;

Schema Schema() {
  return {.columns = {{.name = "head", .type = ColumnType::kUint64},
                      {.name = "tail", .type = ColumnType::kInt32},
                      {.name = "amount", .type = ColumnType::kInt64},
                      {.name = "text", .type = ColumnType::kString, .nullable = true}},
          .key = {0, 1}};
}

// Keys at both ends of the key space and in the middle.
uint64_t HeadOf(uint64_t i) {
  if (i < kHeads / 3) return i;
  if (i < 2 * kHeads / 3) return (uint64_t{1} << 63) + 1000 * i;
  return storage::kKeyMax - (kHeads - 1 - i);
}

}  // namespace

TableMoves::TableMoves(uint64_t seed, TableMovesFault fault)
    : fault_(fault),
      random_(seed),
      layout_(*storage::TableLayout::Create(Schema())),
      registry_(std::make_unique<routing::SnapshotRegistry>()) {
  for (size_t i = 0; i < kOwners; ++i) {
    owners_.push_back(std::make_unique<Owner>());
    owners_.back()->number = i;
    owners_.back()->member = i < kFirstOwners;
  }
  // Some ranges at each of the first owners.
  std::vector<uint64_t> starts{0};
  for (uint64_t i = random_.Between(1, 5); i > 0; --i) {
    starts.push_back(HeadOf(random_.Below(kHeads)));
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  for (size_t i = 0; i < starts.size(); ++i) {
    Range range{Key::FromU64(starts[i]), std::nullopt};
    if (i + 1 < starts.size()) range.hi = Key::FromU64(starts[i + 1]);
    Owner& owner = *owners_[i % kFirstOwners];
    owner.parts.push_back(
        {next_id_++, *TablePartition::Create(range, owner.memory.cache, layout_)});
    owner.parts.back().table->SetSnapshots(&owner.view);
  }
  members_before_ = Members();
}

TableMoves::~TableMoves() = default;

std::string TableMoves::Run(int turns) {
  for (int i = 0; i < turns && error_.empty(); ++i) Turn(*owners_[random_.Below(kOwners)]);
  draining_ = true;
  for (size_t i = 0; i < 1000 && !steps_.empty() && error_.empty(); ++i) {
    Turn(*owners_[i % kOwners]);
  }
  if (!steps_.empty()) Fail("a step never ends");
  // What is there now, as a last snapshot tells it; then all scans come to their ends.
  TakeSnapshot();
  for (size_t i = 0; i < 20'000 && !snapshots_.empty() && error_.empty(); ++i) {
    Turn(*owners_[i % kOwners]);
  }
  if (error_.empty() && !snapshots_.empty()) Fail("scans never end");
  for (const auto& owner : owners_) {
    registry_->Read(registry_->Now(), owner->view);
    for (const Part& part : owner->parts) {
      while (error_.empty() && part.table->FreeVersions(owner->view, 1000)) {
      }
      if (error_.empty() && part.table->version_bytes() != 0) Fail("old rows are kept for nobody");
      if (error_.empty() && part.table->CanGo(owner->view) != part.table->range().Empty()) {
        Fail("a partition without a range never goes");
      }
    }
    owner->parts.clear();
    if (owner->memory.cache.used_bytes() != 0) Fail("memory is left");
  }
  return error_;
}

void TableMoves::Turn(Owner& owner) {
  const auto mark = registry_->Now();
  if (mark != owner.mark && !(fault_ == TableMovesFault::kStaleRegistry && random_.OneIn(8))) {
    registry_->Read(mark, owner.view);
  } else if (mark != owner.mark) {
    owner.view.epoch = mark.epoch;
  }
  owner.mark = mark;
  inside_turn_ = true;
  AdvanceSteps(owner);
  for (uint64_t acts = random_.Between(1, 4); acts > 0 && error_.empty(); --acts) {
    draining_ ? ReadSome(owner) : Act(owner);
  }
  inside_turn_ = false;
  // What the turn wrote under an epoch that a snapshot has taken belongs to it.
  for (const auto& snapshot : snapshots_) {
    if (snapshot->complete) continue;
    snapshot->rows = model_;
    snapshot->complete = true;
  }
  if (random_.OneIn(8)) members_before_ = Members();
  // Between turns: steps begin, and their sources' turns come after that.
  if (!draining_ && random_.OneIn(2)) BeginStep();
}

void TableMoves::Act(Owner& owner) {
  switch (random_.Below(20)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return Write(owner, false);
    case 4:
    case 5:
      return Write(owner, true);
    case 6:
    case 7:
      if (snapshots_.size() < kSnapshotsMax) TakeSnapshot();
      return;
    case 8:
      for (const Part& part : owner.parts) {
        part.table->FreeVersions(owner.view, static_cast<uint32_t>(random_.Between(1, 200)));
      }
      return;
    case 9:
    case 10:
      for (const Part& part : owner.parts) {
        part.table->Maintain(owner.view, static_cast<uint32_t>(random_.Between(1, 300)));
      }
      return;
    case 11:
      return DropParts(owner);
    default:
      return ReadSome(owner);
  }
}

// --- snapshots -----------------------------------------------------------------------------------

std::vector<size_t> TableMoves::Members() const {
  std::vector<size_t> members;
  for (const auto& owner : owners_) {
    if (owner->member) members.push_back(owner->number);
  }
  return members;
}

void TableMoves::TakeSnapshot() {
  auto snapshot = std::make_unique<Snapshot>();
  snapshot->held = *registry_->Begin();
  snapshot->complete = !inside_turn_;
  if (snapshot->complete) snapshot->rows = model_;
  coverage_.taken_inside_turns += inside_turn_;
  coverage_.taken_in_steps += !steps_.empty();
  snapshot->scans_left = random_.Between(1, 4);
  MayScan(*snapshot) ? OpenScan(*snapshot) : void(++coverage_.waited);
  snapshots_.push_back(std::move(snapshot));
  if (fault_ == TableMovesFault::kEndEarly) LetGo(*snapshots_.back());
}

bool TableMoves::MayScan(const Snapshot& snapshot) const {
  if (fault_ == TableMovesFault::kGateOpen) return true;
  return std::all_of(steps_.begin(), steps_.end(),
                     [&](const auto& step) { return snapshot.held.epoch < step->since; });
}

void TableMoves::OpenScan(Snapshot& snapshot) {
  --snapshot.scans_left;
  auto scan = std::make_unique<Scan>();
  scan->adds = random_.OneIn(2);
  std::vector<size_t> asked = Members();
  if (fault_ == TableMovesFault::kMembersEarly) asked = members_before_;
  if (fault_ == TableMovesFault::kOwnersOnly) {
    std::erase_if(asked, [&](size_t i) {
      const auto& parts = owners_[i]->parts;
      return std::all_of(parts.begin(), parts.end(),
                         [](const Part& part) { return part.table->range().Empty(); });
    });
  }
  if (snapshot.first_members.empty()) snapshot.first_members = asked;
  // With a token of the first scan.
  if (random_.OneIn(2) && asked != snapshot.first_members) {
    asked = snapshot.first_members;
    ++coverage_.tokens;
  }
  for (const size_t owner : asked) scan->parts.push_back({.owner = owner});
  snapshot.scans.push_back(std::move(scan));
}

void TableMoves::LetGo(Snapshot& snapshot) {
  if (!std::exchange(snapshot.let_go, true)) registry_->End(snapshot.held.slot);
}

// --- writes --------------------------------------------------------------------------------------

TablePartition* TableMoves::SomePart(Owner& owner) {
  std::vector<TablePartition*> with_range;
  for (const Part& part : owner.parts) {
    if (!part.table->range().Empty()) with_range.push_back(part.table.get());
  }
  return with_range.empty() ? nullptr : with_range[random_.Below(with_range.size())];
}

void TableMoves::Write(Owner& owner, bool erase) {
  TablePartition* const part = SomePart(owner);
  if (part == nullptr) return;
  std::vector<uint64_t> heads;
  for (uint64_t i = 0; i < kHeads; ++i) {
    if (part->range().ContainsU64(HeadOf(i))) heads.push_back(HeadOf(i));
  }
  if (heads.empty()) return;
  std::vector<storage::Row> rows;
  for (uint64_t i = random_.Between(1, erase ? 12 : 60); i > 0; --i) {
    const auto tail = static_cast<int32_t>(random_.Below(kTails));
    rows.push_back({storage::CellOf(heads[random_.Below(heads.size())]), storage::CellOf(tail),
                    storage::CellOf(next_amount_++),
                    random_.OneIn(6) ? storage::Cell() : std::to_string(next_amount_ % 50)});
  }
  const storage::RowColumns columns(*layout_, rows);
  std::vector<uint32_t> positions(rows.size());
  std::iota(positions.begin(), positions.end(), 0u);
  std::vector<KeyState> states(rows.size());
  const storage::BatchPart batch{.count = static_cast<uint32_t>(rows.size()),
                                 .keys = columns.heads(),
                                 .positions = positions.data(),
                                 .states_out = states.data(),
                                 .seconds = columns.tails(),
                                 .rows = erase ? nullptr : &columns.batch()};
  part->Execute({.operation = erase ? storage::Operation::kErase : storage::Operation::kPutRows,
                 .parts = {&batch, 1},
                 .snapshots = &owner.view});
  for (size_t i = 0; i < rows.size(); ++i) {
    const Key key = columns.key(i);
    const bool was = model_.contains(key);
    if (states[i] != (was ? KeyState::kPresent : KeyState::kAbsent)) Fail("a write's answer");
    if (erase) {
      model_.erase(key);
    } else {
      model_[key] = rows[i];
    }
  }
}

// --- ranges that change hands --------------------------------------------------------------------

void TableMoves::BeginStep() {
  if (steps_.size() == kStepsMax) return;
  const size_t from = random_.Below(kOwners);
  const size_t to = random_.Below(kOwners);
  const auto busy = [&](size_t owner) {
    return std::any_of(steps_.begin(), steps_.end(),
                       [&](const auto& step) { return step->from == owner || step->to == owner; });
  };
  if (from == to || busy(from) || busy(to) || SomePart(*owners_[from]) == nullptr) return;
  // The slot comes before the first rows.
  coverage_.new_members += !owners_[to]->member;
  owners_[to]->member = true;
  steps_.push_back(
      std::make_unique<Step>(Step{.from = from, .to = to, .since = registry_->Now().epoch}));
}

void TableMoves::AdvanceSteps(Owner& owner) {
  for (const auto& step : steps_) {
    if (random_.OneIn(3) && !draining_) continue;  // its command comes with a later turn
    switch (step->state) {
      case Step::State::kBegun:
        if (step->from == owner.number) Lend(owner, *step);
        break;
      case Step::State::kLent:
        if (step->to == owner.number) Install(owner, *step);
        break;
      case Step::State::kInstalled:
      case Step::State::kReturned:
        if (step->from == owner.number) Conclude(owner, *step);
        break;
    }
  }
  std::erase_if(steps_,
                [](const auto& step) { return step->lender == nullptr && step->to == kOwners; });
}

void TableMoves::Lend(Owner& owner, Step& step) {
  step.lender = SomePart(owner);
  const Range range = step.lender->range();
  const auto from = random_.OneIn(2) ? Partition::End::kLow : Partition::End::kHigh;
  Range leaving = range;
  const Key cut = Key::FromU64(HeadOf(random_.Below(kHeads)) + random_.Below(2));
  if (range.lo < cut && range.ContainsU64(cut.head)) {
    (from == Partition::End::kLow ? leaving.hi : leaving.lo) = cut;
  }
  const absl::Status status =
      step.lender->Lend(leaving, from, static_cast<uint32_t>(random_.Between(1, 300)), step.chunk);
  if (!status.ok()) return Fail(status.ToString());
  step.state = Step::State::kLent;
  ++coverage_.chunks;
  coverage_.low_ends += from == Partition::End::kLow;
}

void TableMoves::Install(Owner& owner, Step& step) {
  if (random_.OneIn(5)) {
    step.state = Step::State::kReturned;
    return;
  }
  step.state = Step::State::kInstalled;
  step.born = owner.view.epoch;
  const storage::SnapshotView* const view =
      fault_ == TableMovesFault::kOldBirths ? &no_snapshots_ : &owner.view;
  const Range& covers = step.chunk.covers;
  if (!random_.OneIn(4)) {
    for (const Part& part : owner.parts) {
      const Range& range = part.table->range();
      if (!range.Empty() && range.hi != covers.lo && covers.hi != range.lo) continue;
      part.table->SetSnapshots(view);
      const absl::Status status = part.table->Ingest(step.chunk);
      if (!status.ok()) Fail(status.ToString());
      ++coverage_.adjacent;
      return;
    }
  }
  auto table = *TablePartition::Create({covers.lo, covers.lo}, owner.memory.cache, layout_);
  table->SetSnapshots(view);
  const absl::Status status = table->Ingest(step.chunk);
  if (!status.ok()) Fail(status.ToString());
  owner.parts.push_back({next_id_++, std::move(table)});
}

void TableMoves::Conclude(Owner& owner, Step& step) {
  if (step.state == Step::State::kInstalled) {
    if (fault_ != TableMovesFault::kDiesLater) step.lender->SetDeath(step.born);
    step.lender->Forget(fault_ == TableMovesFault::kDropOldRows ? no_snapshots_ : owner.view, 1);
  } else {
    step.lender->TakeBack();
    ++coverage_.refused;
    if (fault_ == TableMovesFault::kTakeBackLoses && !step.chunk.keys.empty()) {
      const uint32_t position = 0;
      KeyState state{};
      const storage::BatchPart batch{.count = 1,
                                     .keys = step.chunk.keys.data(),
                                     .positions = &position,
                                     .states_out = &state,
                                     .seconds = step.chunk.seconds.data()};
      step.lender->Execute({.operation = storage::Operation::kErase,
                            .parts = {&batch, 1},
                            .snapshots = &owner.view});
    }
  }
  // Done. At times the same range goes straight on.
  const bool again = step.state == Step::State::kInstalled && !draining_ && random_.OneIn(4);
  coverage_.returned_at_once += again;
  const uint64_t now = registry_->Now().epoch;
  step = again ? Step{.from = step.to, .to = step.from, .since = now}
               : Step{.from = kOwners, .to = kOwners, .since = now};
}

void TableMoves::DropParts(Owner& owner) {
  coverage_.parts_gone += std::erase_if(owner.parts, [&](const Part& part) {
    const bool lends = std::any_of(steps_.begin(), steps_.end(), [&](const auto& step) {
      return step->lender == part.table.get();
    });
    if (lends) return false;
    return fault_ == TableMovesFault::kPartGoesEarly ? part.table->range().Empty()
                                                     : part.table->CanGo(owner.view);
  });
}

}  // namespace eris::sim
