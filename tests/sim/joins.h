// A client's join of two indexes: one multicast to the AEUs that own outer rows, which send the
// rows' values out as lookups in the inner index. The engine's part of it
// (engine/reads/join_state.h), in the simulation's own steps.
#ifndef ERIS_TESTS_SIM_JOINS_H_
#define ERIS_TESTS_SIM_JOINS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "routing/join_part.h"
#include "routing/ranges/range_table.h"
#include "tests/sim/simulation.h"

namespace eris::sim {

struct SimJoinPart;
struct SimJoin;

struct SimJoinBlock final : routing::JoinBlock {
  explicit SimJoinBlock(uint32_t room)
      : columns(size_t{3} * room), state_column(room, storage::KeyState::kPending) {
    outer_keys = columns.data();
    join_keys = outer_keys + room;
    values = join_keys + room;
    states = state_column.data();
    capacity = room;
  }
  // The block's lookups are about to be sent; they have been answered.
  static void Begin(routing::JoinBlock* block, uint32_t keys) noexcept;
  static void Answered(routing::Reply* reply, uint32_t keys) noexcept;

  std::vector<uint64_t> columns;
  std::vector<storage::KeyState> state_column;
  SimJoin* join = nullptr;
  SimJoinPart* part = nullptr;
  const uint32_t* now = nullptr;    // the step under way
  std::vector<uint32_t> sent_at;    // by row: step
  uint32_t owed = 0;                // answers
  uint32_t sent = 0, answered = 0;  // steps
};

struct SimJoinPart final : routing::JoinPart {
  static void Ended(routing::Reply* reply, uint32_t parts) noexcept {
    static_cast<SimJoinPart*>(reply)->ended += parts;
  }
  uint32_t sent = 0, ended = 0;  // times
  uint32_t sent_at = 0;          // step
  bool end_seen = false;
  uint32_t with_aeu = 0;  // blocks
  // Still to be asked for.
  std::optional<storage::Range> moved, rest;
};

struct SimJoin {
  // Rows on their way, or answers that nobody has looked at.
  bool HasRowsOut() const {
    return !answered.empty() ||
           std::any_of(blocks.begin(), blocks.end(), [](const auto& one) { return one->owed > 0; });
  }
  bool PartsOut() const {
    return std::any_of(parts.begin(), parts.end(), [](const auto& one) { return one->sent > 0; });
  }
  bool WaitsForAeus() const {
    const auto owed = [](const auto& block) { return block->owed > 0; };
    const auto works = [](const auto& part) {
      return part->sent > 0 && !part->end_seen && part->with_aeu > 0;
    };
    return std::any_of(blocks.begin(), blocks.end(), owed) ||
           std::any_of(parts.begin(), parts.end(), works);
  }

  SimObject* outer = nullptr;
  SimObject* inner = nullptr;
  uint32_t client = 0;
  storage::Range range;
  ValueRange values{};                               // of inner rows; others count as none
  std::shared_ptr<const routing::RangeTable> table;  // of the outer index, when it began
  uint32_t began = 0;                                // step
  std::vector<std::unique_ptr<SimJoinPart>> parts;
  std::vector<routing::JoinPart*> part_list;
  std::vector<std::unique_ptr<SimJoinBlock>> blocks;
  std::vector<SimJoinBlock*> begun, answered;  // still to be taken note of
  Waiting waiting;
  routing::RangeWidth width = 0;  // of what has been answered
  bool cancelled = false;
  bool failed = false;        // it ends without its rows, as the client is told
  std::vector<uint8_t> seen;  // by key of the outer index
};

}  // namespace eris::sim

#endif  // ERIS_TESTS_SIM_JOINS_H_
