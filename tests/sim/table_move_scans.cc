// The scans of TableMoves: where a member stands in its partitions, what it reads, and the verdict.
#include <optional>
#include <string>

#include "base/check.h"
#include "eris/expression.h"
#include "storage/table/plan/table_plan.h"
#include "storage/table/rows/table_layout.h"
#include "tests/sim/table_moves.h"

namespace eris::sim {

using storage::SegmentView;

namespace {
constexpr uint32_t kAmountColumn = 2;
}  // namespace

uint64_t TableMoves::PlaceOf(const Part& part) const {
  return fault_ == TableMovesFault::kPlaceByRange ? part.table->range().lo.head : part.id;
}

TableMoves::Part* TableMoves::PartAt(Owner& owner, const ScanPart& part) const {
  Part* next = nullptr;
  for (Part& each : owner.parts) {
    const uint64_t place = PlaceOf(each);
    if (place < part.partition || (part.behind && place == part.partition)) continue;
    if (next == nullptr || place < PlaceOf(*next)) next = &each;
  }
  return next;
}

void TableMoves::ReadSome(Owner& owner) {
  if (snapshots_.empty()) return;
  const size_t s = random_.Below(snapshots_.size());
  Snapshot& snapshot = *snapshots_[s];
  // Its scans' commands come after it: no turn sees them that does not know of it.
  if (!snapshot.complete || snapshot.held.epoch >= owner.view.epoch) return;
  coverage_.reads_in_steps += !steps_.empty();
  if (snapshot.scans_left > 0 && random_.OneIn(3) && MayScan(snapshot)) OpenScan(snapshot);
  for (size_t i = 0; i < snapshot.scans.size() && error_.empty(); ++i) {
    Scan& scan = *snapshot.scans[i];
    bool all_done = true;
    for (ScanPart& part : scan.parts) {
      if (part.owner == owner.number && !part.done) {
        Read(owner, snapshot, scan, part, static_cast<uint32_t>(random_.Between(1, 120)));
      }
      all_done &= part.done;
    }
    if (!all_done) continue;
    EndScan(snapshot, i);
    break;
  }
  if (!snapshot.scans.empty() || snapshot.scans_left > 0) return;
  LetGo(snapshot);
  snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(s));
}

void TableMoves::Read(Owner& owner, const Snapshot& snapshot, Scan& scan, ScanPart& part,
                      uint32_t rows_max) {
  ERIS_CHECK(part.mask.Allocate());
  if (scan.adds && part.run == nullptr) {
    Query query;
    query.aggregates = {{AggregateFunction::kCount, std::nullopt, "count"},
                        {AggregateFunction::kSum, expressions::Column("amount"), "sum"}};
    auto plan = storage::TablePlan::Create(layout_->schema().columns, query);
    ERIS_CHECK(plan.ok());
    part.run = *storage::TableRun::Create(*plan);
  }
  while (rows_max > 0) {
    const Part* const at = PartAt(owner, part);
    if (at == nullptr) {
      part.done = true;
      return TakeTotal(scan, part);
    }
    if (PlaceOf(*at) != part.partition || part.behind) {
      part.partition = PlaceOf(*at);
      part.behind = false;
      part.segment = 0;
      part.row = 0;
    }
    if (at->table->Lost(snapshot.held.epoch)) return Fail("a snapshot is lost");
    uint64_t number = part.segment;
    SegmentView segment;
    if (!at->table->FindSegment(snapshot.held.epoch, number, part.mask, segment)) {
      part.behind = true;
      continue;
    }
    if (number != part.segment) part.row = 0;
    part.segment = number;
    if (scan.adds && part.run->BeginSegment(segment)) {
      while (part.row < segment.rows) {
        if (segment.kept != nullptr) part.mask.Make(part.row);
        if (part.run->RunBlock(part.row, nullptr) != storage::TableRun::Outcome::kDone) {
          return Fail("a run ended");
        }
      }
      rows_max = 1;
    }
    if (scan.adds) part.row = segment.rows;
    for (; part.row < segment.rows && rows_max > 0; ++part.row, --rows_max) {
      if (segment.kept != nullptr) part.mask.Make(part.row);
      if (segment.kept != nullptr && (segment.kept[part.row / 64] >> part.row % 64 & 1) == 0) {
        continue;
      }
      const storage::Row read = storage::ReadRow(segment, part.row);
      for (size_t c = 0; c < read.size(); ++c) {
        if (!storage::WithinBounds(segment.columns[c], read[c])) Fail("a value out of bounds");
      }
      if (!scan.rows.emplace(storage::KeyIn(*layout_, segment, part.row), read).second) {
        return Fail("a row came twice");
      }
    }
    if (part.row < segment.rows) return;
    ++part.segment;
    part.row = 0;
    if (scan.adds) --rows_max;
  }
}

void TableMoves::TakeTotal(Scan& scan, ScanPart& part) {
  if (part.run == nullptr) return;
  ERIS_CHECK(part.run->FinishGroups().ok());
  uint64_t count = 0, validity[2] = {};
  int64_t sum[2] = {};
  storage::ResultColumn columns[2] = {
      {.type = ColumnType::kUint64, .values = &count, .validity = &validity[0]},
      {.type = ColumnType::kInt128, .values = sum, .validity = &validity[1]}};
  storage::ResultRows out{.columns = columns, .capacity = 1};
  uint64_t first = 0;
  part.run->TakeGroups(first, out);
  ERIS_CHECK(out.rows == 1);
  scan.total.count += count;
  if (validity[1] != 0) scan.total.sum += sum[0];
  part.run.reset();
}

void TableMoves::EndScan(Snapshot& snapshot, size_t i) {
  const Scan& scan = *snapshot.scans[i];
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
