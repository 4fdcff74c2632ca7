// Scans of tables into other tables of the same kind. The AEUs that fill the chunks send the rows
// on themselves, through their own Ports, and a chunk is the reply. Each row is a row of the source
// at the scan's snapshot, and a write of the target that takes effect between its chunk's first
// command and its last answer.
#include <algorithm>
#include <numeric>
#include <utility>

#include "eris/expression.h"
#include "tests/sim/table_scans.h"

namespace eris::sim {

using routing::CommandType;
using storage::Key;
using storage::KeyState;

namespace {

// What heads of rows that a scan has appended have more than those of the source, so that a target
// tells them from its own appends and from those of other scans.
constexpr uint64_t kImported = uint64_t{1} << 32;

}  // namespace

void SimTableChunk::Begin(routing::TableChunk* reply, uint32_t answers) noexcept {
  auto* const chunk = static_cast<SimTableChunk*>(reply);
  chunk->owed = answers;
  chunk->sent = *chunk->now;
  chunk->scan->begun.push_back(chunk);
}

void SimTableChunk::Answered(routing::Reply* reply, uint32_t answers) noexcept {
  auto* const chunk = static_cast<SimTableChunk*>(reply);
  chunk->owed -= answers;
  chunk->answered = *chunk->now;
  if (chunk->owed == 0) chunk->scan->answered.push_back(chunk);
}

SimObject* Simulation::PickTarget(const SimObject& source) {
  SimObject* const target = PickLive();
  // Rows that were imported are not sent on: their names are taken.
  if (target == nullptr || target == &source || !source.imported.empty()) return nullptr;
  return target;
}

std::vector<NamedExpression> Simulation::ColumnsInto(const SimTableScan& scan) const {
  std::vector<NamedExpression> columns;
  for (const ColumnSchema& column : scan.object->layout()->schema().columns) {
    columns.push_back({expressions::Column(column.name), column.name});
  }
  if (!scan.object->heap()) return columns;
  columns[kHeadColumn].expression = expressions::operator+(columns[kHeadColumn].expression,
                                                           expressions::Literal(scan.head_added));
  return columns;
}

void Simulation::AimAt(SimTableScan& scan, SimObject& target) {
  Note("a table scan goes into another", target.world.route.object().value);
  outcome_.coverage.Add(Event::kScansInto);
  scan.into = &target;
  scan.adds = false;
  scan.chunk_rows = static_cast<uint32_t>(random_.Between(1, 30));
  scan.head_added = target.heap() ? kImported * next_import_++ : 0;
  for (uint32_t i = 0; i < world_.aeus(); ++i) {
    if (target.appended_to[i]) scan.into_holders.push_back({i});
  }
  scan.target = {.type = target.heap() ? CommandType::kAppendRows : CommandType::kPutRows,
                 .route = &target.world.route,
                 .layout = target.layout().get(),
                 .holders = scan.into_holders,
                 .begin_chunk = &SimTableChunk::Begin,
                 .complete_chunk = &SimTableChunk::Answered};
}

void Simulation::ObserveScanInto(SimTableScan& scan) {
  for (SimTableChunk* const chunk : std::exchange(scan.begun, {})) BeginInto(scan, *chunk);
}

// In the client's step, as the engine's reader does it. Inside the AEUs' turns it would take the
// control Port's only block again as soon as it comes home, and starve the transfer.
void Simulation::ReadScanInto(SimTableScan& scan) {
  for (SimTableChunk* const chunk : std::exchange(scan.answered, {})) {
    if (!failed()) EndInto(scan, *chunk);
  }
}

void Simulation::BeginInto(SimTableScan& scan, SimTableChunk& chunk) {
  SimObject& target = *scan.into;
  chunk.keys.clear();
  for (uint32_t i = 0; i < chunk.rows_out.rows && !failed(); ++i) {
    const uint64_t value = chunk.NumberAt(kValueColumn, i);
    Key key{chunk.NumberAt(kHeadColumn, i), chunk.NumberAt(kTailColumn, i)};
    uint32_t index = target.IndexOf(key);
    if (target.heap()) {
      index = static_cast<uint32_t>(target.appends.size());
      target.appends.push_back({.rows = 1});
      target.histories.emplace_back();
      target.under_way.push_back(0);
      target.imported[key] = index;
    }
    ++target.under_way[index];
    chunk.keys.push_back(index);
    key.head -= scan.head_added;
    if (!chunk.Whole(i)) return Fail("a scan into another table found a row that is torn");
    ReadTableRow(scan, key, value);
  }
  chunk.sent_at.assign(chunk.keys.size(), chunk.sent);
  outcome_.coverage.Add(Event::kRowsInto, chunk.keys.size());
  scan.waiting.Begin(turns_, now_);
}

void Simulation::EndInto(SimTableScan& scan, SimTableChunk& chunk) {
  SimObject& target = *scan.into;
  std::vector<uint32_t> moved;
  for (uint32_t i = 0; i < chunk.keys.size(); ++i) {
    KeyState& state = chunk.states[target.heap() ? 0 : i];
    if (state == KeyState::kPending) continue;  // answered before
    const uint32_t key = chunk.keys[i];
    const bool lost = options_.bug == PlantedBug::kTakeMovedForWritten;
    if (state == KeyState::kMoved && !lost) {
      moved.push_back(i);
      continue;
    }
    --target.under_way[key];
    Note("a row has been written", key, static_cast<uint64_t>(state));
    const bool live = target.phase == SimObject::Phase::kLive;
    if (state == KeyState::kNoMemory && !allocation_failed_) Fail("rows of a scan had no memory");
    if (state == KeyState::kNoObject && live) Fail("the target of a scan is there");
    if (state == KeyState::kCancelled && !scan.cancelled) Fail("rows were cancelled by nobody");
    if (state != KeyState::kAbsent && state != KeyState::kPresent && state != KeyState::kMoved) {
      scan.all_written = false;
      if (target.heap()) target.appends[key].refused = true;
      continue;
    }
    KeyEvent event;
    event.kind = KeyEvent::Kind::kUpsert;
    event.found = state == KeyState::kPresent;
    event.value = chunk.NumberAt(kValueColumn, i);
    event.sent = chunk.sent_at[i];
    event.answered = chunk.answered;
    target.histories[key].push_back(event);
  }
  for (uint32_t i = 0; i < chunk.states_column.size(); ++i) chunk.states[i] = KeyState::kPending;
  scan.waiting.Begin(turns_, now_);
  if (!moved.empty()) return SendIntoAgain(scan, chunk, moved);
  SimTablePart& part = *chunk.part;
  if (part.end_seen) return;
  chunk.Clear();
  part.GiveChunk(&chunk);
  ++part.with_aeu;
}

void Simulation::SendIntoAgain(SimTableScan& scan, SimTableChunk& chunk,
                               const std::vector<uint32_t>& moved) {
  std::vector<uint64_t> heads, tails;
  for (const uint32_t i : moved) {
    heads.push_back(chunk.NumberAt(kHeadColumn, i));
    if (scan.into->two_parts) tails.push_back(chunk.NumberAt(kTailColumn, i));
    chunk.sent_at[i] = now_;
  }
  outcome_.coverage.Add(Event::kRowsIntoSentAgain, moved.size());
  chunk.owed = static_cast<uint32_t>(moved.size());
  const uint32_t refused = control_->Send(scan.into->world.route,
                                          {.type = scan.target.type,
                                           .keys = heads,
                                           .positions = moved,
                                           .complete = &SimTableChunk::Answered,
                                           .context = &chunk,
                                           .seconds = tails},
                                          KeyState::kRefused);
  control_->Flush();
  if (refused > 0) SimTableChunk::Answered(&chunk, refused);
}

}  // namespace eris::sim
