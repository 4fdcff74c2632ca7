// Scans of tables. All that a scan reads is of the moment of its snapshot, so a row is a lookup of
// its key at that step, and so is a key without a row once all parts have been answered: the oracle
// of the keyed operations checks these scans, too.
#include "tests/sim/table_scans.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "eris/expression.h"

namespace eris::sim {

using routing::PartOutcome;
using expressions::operator>=;
using expressions::operator<=;
using expressions::operator&&;
using storage::Key;
using ScanPhase = SimTableScan::Phase;

namespace {

// The rows, or with `adds` their number and the sum of their values.
std::shared_ptr<const storage::TablePlan> PlanOf(const SimObject& object, bool adds,
                                                 const ValueRange& values,
                                                 std::vector<NamedExpression> columns) {
  Query query;
  query.columns = std::move(columns);
  if (values != ValueRange{}) {
    query.filter = expressions::Column("value") >= expressions::Literal(values.lo) &&
                   expressions::Column("value") <= expressions::Literal(values.last);
  }
  if (adds) {
    query.aggregates = {{AggregateFunction::kCount, std::nullopt, "count"},
                        {AggregateFunction::kSum, expressions::Column("value"), "sum"}};
  }
  auto plan = storage::TablePlan::Create(object.layout()->schema().columns, query);
  ERIS_CHECK(plan.ok());
  return *plan;
}

// What all parts have added up.
SimTableScan::Total TotalOf(SimTableScan& scan) {
  std::unique_ptr<storage::TableRun> sum;
  for (const auto& part : scan.parts) {
    auto run = part->TakeRun();
    if (sum != nullptr) ERIS_CHECK(sum->Merge(*run).ok());
    if (sum == nullptr) sum = std::move(run);
  }
  ERIS_CHECK(sum->FinishGroups().ok());
  uint64_t count = 0, total[2] = {}, validity[2] = {};
  storage::ResultColumn columns[2] = {
      {.type = ColumnType::kUint64, .values = &count, .validity = &validity[0]},
      {.type = ColumnType::kInt128, .values = total, .validity = &validity[1]}};
  storage::ResultRows out{.columns = columns, .capacity = 1};
  uint64_t first = 0;
  sum->TakeGroups(first, out);
  ERIS_CHECK(out.rows == 1);
  return {count, validity[1] != 0 ? total[0] : 0};
}

}  // namespace

SimTableChunk::SimTableChunk(uint32_t room)
    : words(size_t{4} * room),
      text(size_t{room} * kTextBytesMax, '\0'),
      offsets(room + 1),
      validity(kTableColumns * (room / 64 + 1)) {
  for (uint32_t i = 0; i < kTableColumns; ++i) {
    columns[i] = {.type = ColumnType::kUint64,
                  .values = words.data() + size_t{i} * room,
                  .validity = validity.data() + i * (room / 64 + 1)};
  }
  storage::ResultColumn& texts = columns[kTextColumn];
  texts.type = ColumnType::kString;
  texts.values = text.data();
  texts.offsets = offsets.data();
  texts.bytes_max = static_cast<uint32_t>(text.size());
  rows_out.columns = columns;
  views = written;
  states_column.resize(room);
  states = states_column.data();
  capacity = room;
  Clear();
}

void Simulation::StartTableScan(uint32_t client, SimObject& object, bool whole) {
  auto scan = std::make_unique<SimTableScan>(object, client, world_.snapshots(), TakeSnapshot());
  const uint64_t epoch = scan->snapshot.held.epoch;
  scan->appends_then = object.appends.size();
  scan->seen.resize(object.histories.size());
  scan->chunk_rows = static_cast<uint32_t>(random_.Between(1, whole ? 40 : 9));
  scan->chunks_per_part = static_cast<uint32_t>(random_.Between(1, 2));
  scan->adds = random_.OneIn(3);
  if (!whole && random_.OneIn(5)) {
    scan->values.lo = 1 + random_.Below(object.heap() ? object.appends.size() + 1 : next_value_);
    if (random_.OneIn(2)) scan->values.last = scan->values.lo + random_.Below(50);
    outcome_.coverage.Add(Event::kFilteredScans);
  }
  if (SimObject* target = whole || random_.OneIn(3) ? nullptr : PickTarget(object)) {
    AimAt(*scan, *target);
  }
  Note("client starts a table scan", client, epoch, scan->adds);
  outcome_.coverage.Add(Event::kTableScans);
  if (options_.bug == PlantedBug::kEndSnapshotEarly) scan->LetSnapshotGo();
  clients_[client].table_scan = std::move(scan);
  if (!PassesGate(object, epoch)) {
    outcome_.coverage.Add(Event::kScansAtGates);
    return;
  }
  SendTableScan(*clients_[client].table_scan);
}

bool Simulation::PassesGate(const SimObject& object, uint64_t snapshot) const {
  if (options_.bug == PlantedBug::kScanPastGate) return true;
  return std::none_of(transfers_.begin(), transfers_.end(), [&](const auto& one) {
    return one->object == &object && one->gate_since != 0 && snapshot >= one->gate_since;
  });
}

bool Simulation::ScansWaitAtGate(const SimObject& object) const {
  return std::any_of(clients_.begin(), clients_.end(), [&](const Client& client) {
    const SimTableScan* const scan = client.table_scan.get();
    return scan != nullptr && scan->object == &object && scan->phase == ScanPhase::kAtGate;
  });
}

void Simulation::SendTableScan(SimTableScan& scan) {
  const SimObject& object = *scan.object;
  const bool resumes = !scan.parts.empty();
  // Those of an earlier moment after the snapshot have all that it sees.
  if (!resumes || random_.OneIn(2)) {
    const auto table = object.world.route.Pin();
    std::vector<AeuId> members;
    for (uint32_t i = 0; i < world_.aeus(); ++i) {
      const bool owns = table->PartitionsOf({i}).size() > 0;
      if (options_.bug == PlantedBug::kOwnersOnly && !object.heap() && !owns) continue;
      if (object.members[i]) members.push_back({i});
    }
    if (!scan.stops) scan.members = std::move(members);
  }
  std::vector<std::unique_ptr<SimTablePart>> before = std::exchange(scan.parts, {});
  scan.part_list.clear();
  scan.chunks.clear();
  scan.plan = PlanOf(object, scan.adds, scan.values,
                     scan.into == nullptr ? std::vector<NamedExpression>() : ColumnsInto(scan));
  std::vector<AeuId> targets;
  for (const AeuId member : scan.members) {
    const auto old = std::find_if(before.begin(), before.end(),
                                  [&](const auto& part) { return part->owner == member; });
    auto part = std::make_unique<SimTablePart>();
    if (scan.stops) {
      if (old == before.end()) continue;  // it had answered before
      if ((*old)->outcome() == PartOutcome::kAnswered && !(*old)->discarded) continue;
      part->from = part->behind = (*old)->behind;
    }
    part->owner = member;
    part->plan = scan.plan;
    if (scan.into != nullptr) part->target = &scan.target;
    for (uint32_t i = 0; i < scan.chunks_per_part && !scan.adds; ++i) {
      scan.chunks.push_back(std::make_unique<SimTableChunk>(scan.chunk_rows));
      scan.chunks.back()->part = part.get();
      scan.chunks.back()->scan = &scan;
      scan.chunks.back()->now = &now_;
      part->GiveChunk(scan.chunks.back().get());
      ++part->with_aeu;
    }
    targets.push_back(member);
    scan.part_list.push_back(part.get());
    scan.parts.push_back(std::move(part));
  }
  scan.stops = false;
  scan.phase = ScanPhase::kOut;
  scan.parts_out = static_cast<uint32_t>(targets.size());
  if (targets.empty()) return;
  const routing::TableScanSegment segment{scan.part_list.data(), scan.part_list.size()};
  const routing::ObjectRoute& route = object.world.route;
  const routing::CommandHeader header{.type = routing::CommandType::kTableScan,
                                      .slot = route.slot(),
                                      .object = route.object(),
                                      .table_version = route.Pin()->version(),
                                      .snapshot = scan.snapshot.held.epoch,
                                      .complete = &SimTablePart::Ended,
                                      .count = 1};
  std::vector<AeuId> refused;
  control_->Multicast(targets, header, std::as_bytes(std::span(&segment, 1)), refused);
  control_->Flush();
  for (const AeuId aeu : refused) {
    routing::TableScanPart* const part = routing::PartOf(scan.part_list, aeu);
    part->Finish(PartOutcome::kRefused, absl::OkStatus(), nullptr);
    SimTablePart::Ended(part, 1);
    outcome_.coverage.Add(Event::kScanPartsRefused);
  }
  scan.waiting.Begin(turns_, now_);
  ObserveTableScan(scan);
}

void Simulation::ObserveTableScan(SimTableScan& scan) {
  if (scan.phase != ScanPhase::kOut) return;
  if (scan.into != nullptr) ObserveScanInto(scan);
  bool moved = false;
  for (const auto& part : scan.parts) {
    if (part->end_seen) continue;
    const bool ended = part->ended > 0;
    if (part->ended > 1) Fail("a part of a table scan has ended twice");
    while (routing::TableChunk* const chunk = part->TakeFilled()) {
      moved = true;
      --part->with_aeu;
      if (scan.stops && chunk->rows_out.rows > 0) part->discarded = true;
      if (!scan.stops && scan.into == nullptr)
        scan.filled.push_back(static_cast<SimTableChunk*>(chunk));
    }
    if (!ended) continue;
    Note("a part of a table scan ends", part->owner.value, static_cast<uint64_t>(part->outcome()));
    moved = part->end_seen = true;
    --scan.parts_out;
  }
  if (moved) scan.waiting.Begin(turns_, now_);
}

void Simulation::ObserveAtSnapshot(SimTableScan& scan, uint32_t key, uint64_t value) {
  Note("a table scan tells", key, value);
  KeyEvent event;
  event.found = value != kNoRow;
  event.value = value;
  event.filter = scan.values;
  event.sent = event.answered = scan.snapshot.taken;
  scan.object->histories[key].push_back(event);
}

void Simulation::ReadTableRow(SimTableScan& scan, const Key& key, uint64_t value) {
  const SimObject& object = *scan.object;
  const std::string name =
      object.heap() ? "row " + std::to_string(key.tail) + " of append " + std::to_string(key.head)
                    : "key " + TextOf(key);
  uint64_t index = key.head;
  uint64_t bit = 1;
  if (object.heap() && object.imported.contains(key)) {
    index = object.imported.at(key);
    if (object.appends[index].refused)
      return Fail("a table scan found " + name + ", never written");
  } else if (object.heap()) {
    if (index >= object.appends.size() || key.tail >= object.appends[index].rows ||
        value != index + 1) {
      return Fail("a table scan found " + name + ", which nobody ever appended");
    }
    if (object.appends[index].refused) {
      return Fail("a table scan found " + name + ", which was refused");
    }
    bit = uint64_t{1} << key.tail;
  } else {
    index = object.IndexOf(key);
    if (index == object.universe.size() || object.universe[index] != key) {
      return Fail("a table scan found " + name + ", which nobody ever wrote");
    }
  }
  if (!scan.values.Contains(value)) {
    return Fail("a table scan found " + name + ", whose value it has not asked for");
  }
  if (scan.seen.size() <= index) scan.seen.resize(index + 1);
  if (scan.seen[index] & bit) return Fail("a table scan found " + name + " twice");
  if (scan.seen[index] == 0) ObserveAtSnapshot(scan, static_cast<uint32_t>(index), value);
  scan.seen[index] |= bit;
  ++scan.read.rows;
  scan.read.sum += value;
  outcome_.coverage.Add(Event::kTableRows);
}

void Simulation::ReadTableChunk(SimTableScan& scan) {
  SimTableChunk& chunk = *scan.filled.front();
  scan.filled.pop_front();
  SimTablePart& part = *chunk.part;
  uint32_t rows = chunk.rows_out.rows;
  // It stops in the middle of a chunk, or behind it.
  const bool stops = !draining_ && !scan.stops && !scan.cancelled && random_.OneIn(16);
  if (stops && rows > 0 && random_.OneIn(2)) rows = static_cast<uint32_t>(random_.Below(rows));
  for (uint32_t i = 0; i < rows && !failed(); ++i) {
    const uint64_t value = chunk.NumberAt(kValueColumn, i);
    if (!chunk.Whole(i)) return Fail("a table scan found a row that is torn");
    ReadTableRow(scan, {chunk.NumberAt(kHeadColumn, i), chunk.NumberAt(kTailColumn, i)}, value);
  }
  part.behind = chunk.behind;
  if (rows < chunk.rows_out.rows) {
    part.behind = chunk.before;
    part.behind.skip = rows;
    part.discarded = true;
  }
  if (stops) {
    Note("a table scan stops", scan.client);
    outcome_.coverage.Add(Event::kScansResumed);
    scan.stops = true;
    for (const SimTableChunk* const left : scan.filled) {
      left->part->discarded |= left->rows_out.rows > 0;
    }
    scan.filled.clear();
    for (const auto& one : scan.parts) one->SetCancelled();
  } else if (!part.end_seen) {
    chunk.Clear();
    part.GiveChunk(&chunk);
    ++part.with_aeu;
  }
  scan.waiting.Begin(turns_, now_);
}

bool Simulation::ReadTableScan(uint32_t client) {
  if (clients_[client].table_scan == nullptr) return false;
  SimTableScan& scan = *clients_[client].table_scan;
  if (scan.phase == ScanPhase::kAtGate) {
    if (PassesGate(*scan.object, scan.snapshot.held.epoch)) SendTableScan(scan);
    return true;
  }
  while (!scan.filled.empty() && !failed()) {
    ReadTableChunk(scan);
    if (!draining_) return true;
  }
  ObserveTableScan(scan);
  if (scan.into != nullptr) ReadScanInto(scan);
  if (scan.parts_out == 0 && !scan.HasRowsOut()) {
    EndTableScan(client);
  } else if (!draining_ && plan_.cancels && !scan.cancelled && !scan.stops && random_.OneIn(8)) {
    Note("client cancels its table scan", client);
    outcome_.coverage.Add(Event::kScansCancelled);
    for (const auto& part : scan.parts) part->SetCancelled();
    if (scan.into != nullptr) {
      for (const auto& chunk : scan.chunks) chunk->SetCancelled();
    }
    scan.cancelled = true;
  }
  return true;
}

void Simulation::EndTableScan(uint32_t client) {
  SimTableScan& scan = *clients_[client].table_scan;
  const SimObject& object = *scan.object;
  bool all = true, resumes = scan.stops;
  for (const auto& part : scan.parts) {
    if (!part->status().ok()) return Fail("a table scan: " + part->status().ToString());
    const PartOutcome outcome = part->outcome();
    all &= outcome == PartOutcome::kAnswered ||
           (outcome == PartOutcome::kAborted && options_.bug == PlantedBug::kTakeGivenUp &&
            !scan.adds);
    resumes &= outcome == PartOutcome::kAnswered || outcome == PartOutcome::kCancelled;
    switch (outcome) {
      case PartOutcome::kAnswered:
        break;
      case PartOutcome::kNoObject:
        outcome_.coverage.Add(Event::kScanPartsNoObject);
        if (object.phase == SimObject::Phase::kLive) return Fail("the scanned table is there");
        break;
      case PartOutcome::kAborted:
        SnapshotGivenUp(object, scan.snapshot);
        break;
      case PartOutcome::kCancelled:
        if (!scan.cancelled && !scan.stops) return Fail("a table scan was cancelled by nobody");
        break;
      case PartOutcome::kRefused:
        break;
      case PartOutcome::kMoved:
      case PartOutcome::kRunning:
      case PartOutcome::kNoMemory:  // of the general heap, which fails nowhere here
        return Fail("a part of a table scan ended as outcome " +
                    std::to_string(static_cast<int>(outcome)));
    }
  }
  const bool adds = scan.adds;
  if (all && adds) {
    scan.added_up = TotalOf(scan);
    scan.adds = false;
    outcome_.coverage.Add(Event::kTableSums);
  }
  if (resumes || (all && adds)) {
    scan.phase = ScanPhase::kAtGate;
    if (PassesGate(object, scan.snapshot.held.epoch)) SendTableScan(scan);
    return;
  }
  if (all) {
    scan.seen.resize(std::max(scan.seen.size(), object.histories.size()));
    const size_t keys = object.heap() ? scan.appends_then : object.universe.size();
    for (uint32_t key = 0; key < keys && !failed(); ++key) {
      if (scan.seen[key] == 0) ObserveAtSnapshot(scan, key, kNoRow);
    }
    for (uint32_t key = 0; key < object.appends.size() && !failed(); ++key) {
      const uint64_t whole = (uint64_t{1} << object.appends[key].rows) - 1;
      if (scan.seen[key] != 0 && scan.seen[key] != whole) {
        Fail("a table scan found some rows of append " + std::to_string(key) + " alone");
      }
    }
    if (scan.added_up && *scan.added_up != scan.read) {
      Fail("a table's " + std::to_string(scan.added_up->rows) + " rows were added up to " +
           std::to_string(scan.added_up->sum) + ", but " + std::to_string(scan.read.rows) +
           " rows were read, of " + std::to_string(scan.read.sum));
    }
  }
  clients_[client].table_scan.reset();
}

}  // namespace eris::sim
