#include "tests/sim/table_moves.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "eris/expression.h"
#include "storage/table/table_plan.h"

namespace eris::sim {

using storage::Key;
using storage::KeyState;
using storage::Range;
using storage::SegmentView;
using storage::TablePartition;

namespace {

constexpr size_t kOwners = 3;
constexpr uint64_t kHeads = 150;
constexpr int32_t kTails = 8;
constexpr size_t kSnapshotsMax = 4;
constexpr uint32_t kAmountColumn = 2;

TableSchema Schema() {
  return {.columns = {{.name = "head", .type = ColumnType::kUint64},
                      {.name = "tail", .type = ColumnType::kInt32},
                      {.name = "amount", .type = ColumnType::kInt64},
                      {.name = "text", .type = ColumnType::kString, .nullable = true}},
          .key = {0, 1}};
}

bool Intersects(const Range& a, const Range& b) {
  return (!a.hi || b.lo < *a.hi) && (!b.hi || a.lo < *b.hi);
}

}  // namespace

TableMoves::TableMoves(uint64_t seed, TableMovesFault fault)
    : fault_(fault),
      random_(seed),
      layout_(*storage::TableLayout::Create(Schema())),
      registry_(std::make_unique<routing::SnapshotRegistry>()) {
  for (size_t i = 0; i < kOwners; ++i) owners_.push_back(std::make_unique<Owner>());
  // Some ranges at each owner.
  std::vector<uint64_t> starts{0};
  for (uint64_t i = random_.Between(3, 9); i > 0; --i) starts.push_back(1 + random_.Below(kHeads));
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  for (size_t i = 0; i < starts.size(); ++i) {
    Range range{Key::FromU64(starts[i]), std::nullopt};
    if (i + 1 < starts.size()) range.hi = Key::FromU64(starts[i + 1]);
    Owner& owner = *owners_[i % kOwners];
    owner.parts.push_back(*TablePartition::Create(range, owner.memory.cache, layout_));
    owner.parts.back()->SetSnapshots(&owner.view);
  }
}

TableMoves::~TableMoves() = default;

std::string TableMoves::Run(int turns) {
  for (int i = 0; i < turns && error_.empty(); ++i) Turn(*owners_[random_.Below(kOwners)]);
  // What is there now, as a last snapshot tells it; then all scans come to their ends.
  TakeSnapshot();
  draining_ = true;
  for (size_t i = 0; i < 10'000 && !snapshots_.empty() && error_.empty(); ++i) {
    Turn(*owners_[i % kOwners]);
  }
  if (error_.empty() && !snapshots_.empty()) Fail("scans never end");
  for (const auto& owner : owners_) {
    registry_->Read(registry_->Now(), owner->view);
    for (const auto& part : owner->parts) {
      while (error_.empty() && part->FreeVersions(owner->view, 1000)) {
      }
      if (error_.empty() && part->version_bytes() != 0) Fail("old rows are kept for nobody");
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
  Ingest(owner);
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
}

void TableMoves::Act(Owner& owner) {
  switch (random_.Below(21)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return Write(owner, false);
    case 4:
    case 5:
      return Write(owner, true);
    case 6:
      if (snapshots_.size() < kSnapshotsMax) TakeSnapshot();
      return;
    case 7:
      for (const auto& part : owner.parts) {
        part->FreeVersions(owner.view, static_cast<uint32_t>(random_.Between(1, 200)));
      }
      return;
    case 8:
    case 9:
      for (const auto& part : owner.parts) {
        part->Maintain(owner.view, static_cast<uint32_t>(random_.Between(1, 300)));
      }
      return;
    case 10:
    case 11:
    case 12:
      return Split(owner);
    case 13:
      return Absorb(owner);
    case 14:
      return Prepare(owner);
    case 15:
      return random_.OneIn(2) ? Extract(owner) : Ingest(owner);
    default:
      return ReadSome(owner);
  }
}

// --- snapshots

void TableMoves::TakeSnapshot() {
  auto snapshot = std::make_unique<Snapshot>();
  snapshot->held = *registry_->Begin();
  snapshot->complete = !inside_turn_;
  if (snapshot->complete) snapshot->rows = model_;
  coverage_.taken_inside_turns += inside_turn_;
  for (uint64_t i = random_.Between(1, 2); i > 0; --i) {
    Scan& scan = snapshot->scans.emplace_back();
    scan.adds = random_.OneIn(2);
    scan.pieces.emplace_back();
  }
  snapshots_.push_back(std::move(snapshot));
  if (fault_ == TableMovesFault::kEndEarly) LetGo(*snapshots_.back());
}

void TableMoves::LetGo(Snapshot& snapshot) {
  if (!std::exchange(snapshot.let_go, true)) registry_->End(snapshot.held.slot);
}

// --- writes

TablePartition* TableMoves::PartOf(Owner& owner, const Key& key) {
  for (const auto& part : owner.parts) {
    if (part->range().Contains(key)) return part.get();
  }
  return nullptr;
}

TablePartition& TableMoves::SomePart(Owner& owner) {
  return *owner.parts[random_.Below(owner.parts.size())];
}

void TableMoves::Write(Owner& owner, bool erase) {
  if (owner.parts.empty()) return;
  TablePartition& part = SomePart(owner);
  const uint64_t lo = part.range().lo.head;
  const uint64_t hi = part.range().hi ? std::min(kHeads, part.range().hi->head) : kHeads;
  if (lo >= hi) return;
  std::vector<storage::Row> rows;
  for (uint64_t i = random_.Between(1, erase ? 12 : 60); i > 0; --i) {
    const auto tail = static_cast<int32_t>(random_.Below(kTails));
    rows.push_back({storage::CellOf(random_.Between(lo, hi - 1)), storage::CellOf(tail),
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
  part.Execute({.operation = erase ? storage::Operation::kErase : storage::Operation::kPutRows,
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

// --- ranges that change hands

void TableMoves::Split(Owner& owner) {
  // Where ranges were joined or prepared rows do not stand together.
  Key key = Key::FromU64(random_.Below(kHeads + 1));
  if (!owner.seams.empty() && !random_.OneIn(4)) {
    key = owner.seams[random_.Below(owner.seams.size())];
  }
  TablePartition* const part = PartOf(owner, key);
  if (part == nullptr || key <= part->range().lo) return;
  TablePartition& lower = *part;
  std::vector<uint64_t> positions;
  for (const auto& snapshot : snapshots_) {
    for (const Scan& scan : snapshot->scans) {
      for (const Piece& piece : scan.pieces) {
        if (piece.at == &lower) positions.push_back(PositionOf(*snapshot, piece));
      }
    }
  }
  auto split = lower.SplitAt(key);
  if (!split.ok()) {
    if (split.status().code() != absl::StatusCode::kFailedPrecondition) {
      Fail(split.status().ToString());
    }
    ++coverage_.splits_refused;
    return;
  }
  owner.parts.emplace_back(static_cast<TablePartition*>(split->release()));
  TablePartition* const upper = owner.parts.back().get();
  ++coverage_.splits;
  const bool by_position = fault_ == TableMovesFault::kPointerCursor;
  size_t next = 0;
  ForPiecesAt(&lower, [&](const Snapshot& snapshot, Scan& scan, size_t i) {
    ++coverage_.forks;
    const uint64_t position = by_position ? positions[next++] : 0;
    const auto place = [&](Piece& piece) {
      if (!by_position) return;
      piece.number = 0;
      while (PositionOf(snapshot, piece) < position && piece.number < piece.at->segment_end()) {
        ++piece.number;
      }
    };
    Piece* piece = &scan.pieces[i];
    if (piece->range.lo < key && (!piece->range.hi || key < *piece->range.hi)) {
      scan.pieces.push_back(CutPiece(*piece, key));
      scan.pieces.back().at = upper;
      piece = &scan.pieces[i];
      if (scan.adds) {
        Restart(*piece);
        Restart(scan.pieces.back());
        return;
      }
      place(scan.pieces.back());
    } else if (piece->range.lo >= key) {
      piece->at = upper;
    }
    place(*piece);
  });
}

void TableMoves::Absorb(Owner& owner) {
  for (size_t i = 0; i < owner.parts.size(); ++i) {
    for (size_t j = 0; j < owner.parts.size(); ++j) {
      if (owner.parts[i]->range().hi != owner.parts[j]->range().lo) continue;
      owner.seams.push_back(owner.parts[j]->range().lo);
      const size_t into = random_.OneIn(2) ? i : j;
      TablePartition& kept = *owner.parts[into];
      const size_t given = into == i ? j : i;
      const absl::Status status = kept.Absorb(*owner.parts[given]);
      if (!status.ok()) return Fail(status.ToString());
      ++coverage_.absorbs;
      ForPiecesAt(owner.parts[given].get(), [&](const Snapshot&, Scan& scan, size_t piece) {
        if (fault_ == TableMovesFault::kKeepPlace) {
          scan.pieces[piece].at = &kept;
        } else {
          Restart(scan.pieces[piece]);
        }
      });
      owner.parts.erase(owner.parts.begin() + static_cast<ptrdiff_t>(given));
      return;
    }
  }
}

void TableMoves::Prepare(Owner& owner) {
  if (owner.parts.empty()) return;
  TablePartition& part = SomePart(owner);
  const Key key = Key::FromU64(random_.Below(kHeads + 1));
  if (!part.range().Contains(key) || key <= part.range().lo) return;
  const Range leaving =
      random_.OneIn(2) ? Range{part.range().lo, key} : Range{key, part.range().hi};
  // Refused where a range is being prepared; then that one goes on.
  coverage_.prepared += part.PrepareExtract(leaving).ok();
  const auto walked = part.WalkLeaving(static_cast<uint32_t>(random_.Between(1, 300)));
  if (!walked.ok()) return Fail(walked.status().ToString());
  if (random_.OneIn(8)) part.CancelExtract(1).IgnoreError();
}

void TableMoves::Extract(Owner& owner) {
  if (owner.parts.empty()) return;
  const size_t i = random_.Below(owner.parts.size());
  TablePartition& part = *owner.parts[i];
  Flight flight{.chunk = {}, .to = random_.Below(kOwners)};
  const absl::Status status =
      part.Extract(static_cast<uint32_t>(random_.Between(1, 400)), flight.chunk);
  if (status.code() == absl::StatusCode::kFailedPrecondition) return;  // the high end is prepared
  if (!status.ok()) return Fail(status.ToString());
  ++coverage_.copies;
  storage::ExchangeRows& rows = flight.chunk.rows;
  if (fault_ == TableMovesFault::kLeaveVersions) {
    std::fill(rows.deaths.begin(), rows.deaths.end(), 1);
  }
  if (fault_ == TableMovesFault::kForgetBirths) {
    std::fill(rows.births.begin(), rows.births.end(), 0);
  }
  const Range& leaves = flight.chunk.covers;
  ForPiecesAt(&part, [&](const Snapshot&, Scan& scan, size_t at) {
    if (!Intersects(scan.pieces[at].range, leaves)) return;
    // What leaves is at the low end.
    const Range& range = scan.pieces[at].range;
    if (leaves.hi && (!range.hi || *leaves.hi < *range.hi)) {
      Piece rest = CutPiece(scan.pieces[at], *leaves.hi);
      if (scan.adds) Restart(rest);
      scan.pieces.push_back(std::move(rest));
    }
    Restart(scan.pieces[at]);
  });
  if (part.range().Empty()) owner.parts.erase(owner.parts.begin() + static_cast<ptrdiff_t>(i));
  flights_.push_back(std::move(flight));
}

void TableMoves::Ingest(Owner& owner) {
  for (size_t i = 0; i < flights_.size(); ++i) {
    if (owners_[flights_[i].to].get() != &owner) continue;
    const storage::ExchangeChunk& chunk = flights_[i].chunk;
    bool taken = false;
    if (!random_.OneIn(4)) {
      for (const auto& part : owner.parts) {
        if (part->range().hi != chunk.covers.lo && chunk.covers.hi != part->range().lo) continue;
        // Refused while a range of it is being prepared.
        taken = part->Ingest(chunk).ok();
        if (taken) break;
      }
    }
    if (!taken) {
      auto part =
          *TablePartition::Create({chunk.covers.lo, chunk.covers.lo}, owner.memory.cache, layout_);
      part->SetSnapshots(&owner.view);
      const absl::Status status = part->Ingest(chunk);
      if (!status.ok()) return Fail(status.ToString());
      owner.parts.push_back(std::move(part));
    }
    flights_.erase(flights_.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

// --- scans

template <class Function>
void TableMoves::ForPiecesAt(const TablePartition* part, Function function) {
  for (const auto& snapshot : snapshots_) {
    for (Scan& scan : snapshot->scans) {
      const size_t pieces = scan.pieces.size();  // not those that are added
      for (size_t i = 0; i < pieces; ++i) {
        if (scan.pieces[i].at == part) function(*snapshot, scan, i);
      }
    }
  }
}

uint64_t TableMoves::PositionOf(const Snapshot& snapshot, const Piece& piece) const {
  storage::SegmentMask mask;
  ERIS_CHECK(mask.Allocate());
  SegmentView view;
  uint64_t position = 0;
  for (uint64_t number = 0; piece.at->FindSegment(snapshot.held.epoch, number, mask, view) &&
                            number < piece.number;
       ++number) {
    ++position;
  }
  return position;
}

void TableMoves::BeginRun(Piece& piece) {
  using namespace expressions;  // NOLINT: operators
  TableQuery query;
  query.filter = Column("head") >= Literal(piece.range.lo.head);
  if (piece.range.hi) {
    query.filter = std::move(*query.filter) && Column("head") < Literal(piece.range.hi->head);
  }
  query.aggregates = {{AggregateFunction::kCount, std::nullopt, "count"},
                      {AggregateFunction::kSum, Column("amount"), "sum"}};
  auto plan = storage::TablePlan::Create(layout_, query);
  ERIS_CHECK(plan.ok());
  piece.run = *storage::TableRun::Create(*plan);
}

void TableMoves::TakeTotal(Piece& piece) {
  if (piece.run == nullptr) return;
  ERIS_CHECK(piece.run->FinishGroups().ok());
  uint64_t count = 0, validity[2] = {};
  int64_t sum[2] = {};
  storage::ResultColumn columns[2] = {
      {.type = ColumnType::kUint64, .values = &count, .validity = &validity[0]},
      {.type = ColumnType::kInt128, .values = sum, .validity = &validity[1]}};
  storage::ResultRows out{.columns = columns, .capacity = 1};
  uint64_t first = 0;
  piece.run->TakeGroups(first, out);
  ERIS_CHECK(out.rows == 1);
  piece.total.count += count;
  if (validity[1] != 0) piece.total.sum += sum[0];
  piece.run.reset();
}

void TableMoves::Restart(Piece& piece) {
  coverage_.restarts += piece.at != nullptr;
  piece.at = nullptr;
  piece.number = 0;
  piece.row = 0;
  piece.rows.clear();
  piece.run.reset();
  piece.total = {};
}

TableMoves::Piece TableMoves::CutPiece(Piece& piece, const Key& key) {
  Piece behind{
      .range = {key, piece.range.hi}, .at = piece.at, .number = piece.number, .row = piece.row};
  piece.range.hi = key;
  const auto first = piece.rows.lower_bound(key);
  behind.rows.insert(first, piece.rows.end());
  piece.rows.erase(first, piece.rows.end());
  return behind;
}

void TableMoves::ReadSome(Owner& owner) {
  if (snapshots_.empty()) return;
  const size_t s = random_.Below(snapshots_.size());
  Snapshot& snapshot = *snapshots_[s];
  // Its scans' commands come after it: no turn sees them that does not know of it.
  if (!snapshot.complete || snapshot.held.epoch >= owner.view.epoch) return;
  for (size_t i = 0; i < snapshot.scans.size(); ++i) {
    Scan& scan = snapshot.scans[i];
    for (size_t p = 0; p < scan.pieces.size() && error_.empty(); ++p) {
      TablePartition* const part = PartOf(owner, scan.pieces[p].range.lo);
      if (part == nullptr) continue;
      if (scan.pieces[p].at == nullptr) {
        const auto& hi = part->range().hi;
        if (hi && (!scan.pieces[p].range.hi || *hi < *scan.pieces[p].range.hi)) {
          scan.pieces.push_back(CutPiece(scan.pieces[p], *hi));
        }
        scan.pieces[p].at = part;
      }
      const auto rows_max = static_cast<uint32_t>(random_.Between(1, 120));
      if (Read(owner, snapshot.held.epoch, scan, scan.pieces[p], rows_max)) break;
      EndPiece(scan, p);
      break;
    }
    if (!scan.pieces.empty() || !error_.empty()) continue;
    EndScan(snapshot, i);
    break;
  }
  if (!snapshot.scans.empty()) return;
  LetGo(snapshot);
  snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(s));
}

bool TableMoves::Read(const Owner&, uint64_t epoch, Scan& scan, Piece& piece, uint32_t rows_max) {
  ERIS_CHECK(piece.mask.Allocate());
  while (rows_max > 0) {
    uint64_t number = piece.number;
    SegmentView segment;
    if (!piece.at->FindSegment(epoch, number, piece.mask, segment)) return false;
    if (number != piece.number) piece.row = 0;
    piece.number = number;
    if (scan.adds) {
      if (piece.run == nullptr) BeginRun(piece);
      if (piece.run->BeginSegment(segment)) {
        while (piece.row < segment.rows) {
          if (segment.kept != nullptr) piece.mask.Make(piece.row);
          if (piece.run->RunBlock(piece.row, nullptr) != storage::TableRun::Outcome::kDone) {
            Fail("a run ended");
            return true;
          }
        }
      }
      piece.row = segment.rows;
      rows_max = 0;
    }
    for (; piece.row < segment.rows && rows_max > 0; ++piece.row, --rows_max) {
      const uint32_t row = piece.row;
      if (segment.kept != nullptr) piece.mask.Make(row);
      if (segment.kept != nullptr && (segment.kept[row / 64] >> row % 64 & 1) == 0) continue;
      const Key key = storage::KeyIn(*layout_, segment, row);
      if (!piece.range.Contains(key)) continue;
      const storage::Row read = storage::ReadRow(segment, row);
      for (size_t c = 0; c < read.size(); ++c) {
        if (!storage::WithinBounds(segment.columns[c], read[c])) Fail("a value out of bounds");
      }
      if (!piece.rows.emplace(key, read).second) Fail("a row came twice");
    }
    if (piece.row < segment.rows) return true;
    ++piece.number;
    piece.row = 0;
  }
  return true;
}

void TableMoves::EndPiece(Scan& scan, size_t i) {
  Piece& piece = scan.pieces[i];
  TakeTotal(piece);
  scan.total.count += piece.total.count;
  scan.total.sum += piece.total.sum;
  for (auto& [key, row] : piece.rows) {
    if (!scan.rows.emplace(key, row).second) Fail("a row came in two pieces");
  }
  scan.pieces.erase(scan.pieces.begin() + static_cast<ptrdiff_t>(i));
}

void TableMoves::EndScan(Snapshot& snapshot, size_t i) {
  const Scan& scan = snapshot.scans[i];
  const std::string which = "snapshot " + std::to_string(snapshot.held.epoch) + ": ";
  if (scan.adds) {
    Total want;
    for (const auto& [key, row] : snapshot.rows) {
      ++want.count;
      want.sum += storage::ValueOf<int64_t>(row[kAmountColumn]);
    }
    if (scan.total != want) {
      Fail(which + std::to_string(scan.total.count) + " rows of " + std::to_string(want.count) +
           " counted, sum " + std::to_string(scan.total.sum) + " for " + std::to_string(want.sum));
    }
    ++coverage_.sums;
  } else {
    if (scan.rows != snapshot.rows) {
      Fail(which + std::to_string(scan.rows.size()) + " rows seen, " +
           std::to_string(snapshot.rows.size()) + " there, or other values");
    }
    ++coverage_.scans;
  }
  snapshot.scans.erase(snapshot.scans.begin() + static_cast<ptrdiff_t>(i));
}

}  // namespace eris::sim
