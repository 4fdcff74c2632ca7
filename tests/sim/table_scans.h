// A client's scan of a table: one multicast to all members of the table, at a snapshot, whose parts
// fill chunks that the client gives back when it has read them. The engine's part of it
// (engine/reads/table_scan_state.h), in the simulation's own steps.
#ifndef ERIS_TESTS_SIM_TABLE_SCANS_H_
#define ERIS_TESTS_SIM_TABLE_SCANS_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "routing/snapshot_registry.h"
#include "routing/table_scan_part.h"
#include "storage/table/plan/table_plan.h"
#include "tests/sim/simulation.h"

namespace eris::sim {

struct SimTablePart;
struct SimTableScan;

struct SimTableChunk final : routing::TableChunk {
  explicit SimTableChunk(uint32_t room);

  uint64_t NumberAt(uint32_t column, uint32_t row) const { return words[column * capacity + row]; }
  std::string TextAt(uint32_t row) const {
    return text.substr(offsets[row], offsets[row + 1] - offsets[row]);
  }

  // Whether all of the row follows from its value.
  bool Whole(uint32_t row) const {
    const uint64_t value = NumberAt(kValueColumn, row);
    return NumberAt(kTwinColumn, row) == TwinOf(value) && TextAt(row) == TableTextOf(value);
  }

  // For a scan into another table: its rows are about to be sent there; they have been answered.
  static void Begin(routing::TableChunk* reply, uint32_t answers) noexcept;
  static void Answered(routing::Reply* reply, uint32_t answers) noexcept;

  std::vector<uint64_t> words;  // of the first four columns
  std::string text;
  std::vector<uint32_t> offsets;
  std::vector<uint64_t> validity;
  storage::ResultColumn columns[kTableColumns];
  SimTablePart* part = nullptr;

  // For scans into another table.
  SimTableScan* scan = nullptr;
  const uint32_t* now = nullptr;  // the step under way
  ColumnView written[kTableColumns];
  std::vector<storage::KeyState> states_column;
  std::vector<uint32_t> keys;       // by row: of the target, as the oracle counts them
  std::vector<uint32_t> sent_at;    // by row: step
  uint32_t owed = 0;                // answers
  uint32_t sent = 0, answered = 0;  // steps
};

struct SimTablePart final : routing::TableScanPart {
  static void Ended(routing::Reply* reply, uint32_t parts) noexcept {
    static_cast<SimTablePart*>(reply)->ended += parts;
  }
  uint32_t ended = 0;
  bool end_seen = false;
  bool discarded = false;       // a chunk of it, unread
  uint32_t with_aeu = 0;        // chunks
  routing::TableCursor behind;  // what has been read
};

struct SimTableScan {
  enum class Phase : uint8_t { kAtGate, kOut };

  SimTableScan(SimObject& of, uint32_t by, routing::SnapshotRegistry& snapshots, SimSnapshot at)
      : object(&of), client(by), registry(snapshots), snapshot(at) {}
  ~SimTableScan() { LetSnapshotGo(); }
  void LetSnapshotGo() {
    if (!std::exchange(let_go, true)) registry.End(snapshot.held.slot);
  }
  // Rows on their way to another table, or answers that nobody has looked at.
  bool HasRowsOut() const {
    return !answered.empty() ||
           std::any_of(chunks.begin(), chunks.end(), [](const auto& one) { return one->owed > 0; });
  }
  bool WaitsForAeus() const {
    if (!answered.empty()) return false;
    if (HasRowsOut()) return true;
    return phase == Phase::kOut && std::any_of(parts.begin(), parts.end(), [&](const auto& part) {
             return !part->end_seen && (adds || part->with_aeu > 0);
           });
  }

  SimObject* const object;
  const uint32_t client;
  Phase phase = Phase::kAtGate;
  Waiting waiting;
  routing::SnapshotRegistry& registry;
  const SimSnapshot snapshot;
  size_t appends_then = 0;  // of a heap table, when it was taken
  bool let_go = false;
  ValueRange values{};  // only rows with these

  bool adds = false;  // the rows are added up; then the scan comes once more, for the rows
  std::shared_ptr<const storage::TablePlan> plan;
  std::vector<AeuId> members;  // that are asked
  std::vector<std::unique_ptr<SimTablePart>> parts;
  std::vector<routing::TableScanPart*> part_list;
  std::vector<std::unique_ptr<SimTableChunk>> chunks;
  std::deque<SimTableChunk*> filled;  // to be read
  uint32_t chunk_rows = 1;
  uint32_t chunks_per_part = 1;
  uint32_t parts_out = 0;
  bool cancelled = false;
  bool stops = false;  // to be resumed behind what has been read

  // The table that the rows are written to; nullptr: the client reads them.
  SimObject* into = nullptr;
  routing::TableScanTarget target;
  std::vector<AeuId> into_holders;
  uint64_t head_added = 0;                      // to the first column of each row
  std::vector<SimTableChunk*> begun, answered;  // still to be taken note of
  bool all_written = true;

  std::vector<uint64_t> seen;  // by key, or append: its rows, as bits
  struct Total {
    uint64_t rows = 0;
    uint64_t sum = 0;  // of their values
    friend bool operator==(const Total&, const Total&) = default;
  };
  Total read;
  std::optional<Total> added_up;
};

}  // namespace eris::sim

#endif  // ERIS_TESTS_SIM_TABLE_SCANS_H_
