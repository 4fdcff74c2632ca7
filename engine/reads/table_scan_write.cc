// A TableScanState that scans into another object: its target, and the answers of the target's
// owners. Rows whose range has moved are sent again.
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "engine/core/batch_columns.h"
#include "engine/reads/ended_part.h"
#include "engine/reads/table_scan_state.h"
#include "eris/errors.h"
#include "storage/table/rows/append_pieces.h"

namespace eris::engine {

using routing::CommandType;
using storage::KeyState;

void TableScanState::MakeTarget() {
  const ObjectEntry& target = *request_.target;
  target_.route = &target.route;
  if (target.is_table()) target_.layout = target.layout.get();
  target_.begin_chunk = &Block::Begin;
  target_.complete_chunk = &Block::Answered;
  switch (target.kind) {
    case ObjectKind::kIndex:
    case ObjectKind::kHash:
      target_.type = CommandType::kUpsert;
      return;
    case ObjectKind::kTable:
      target_.type = CommandType::kPutRows;
      return;
    case ObjectKind::kHeapTable: {
      target_.type = CommandType::kAppendRows;
      const auto holders = target.holders.Pin();
      target_holders_ = holders->Owners();
      target_.holders = target_holders_;
      target_.table_version = holders->version();
      return;
    }
  }
}

void TableScanState::TakeAnswered(Block& block) {
  const bool appends = target_.type == CommandType::kAppendRows;
  const uint32_t rows = block.rows_out.rows;
  const auto answers =
      appends
          ? static_cast<uint32_t>(storage::AppendPieces(*target_.layout, *block.rows).size() - 1)
          : rows;
  std::vector<uint32_t> moved;
  for (uint32_t i = 0; i < answers; ++i) {
    switch (block.states[i]) {
      case KeyState::kAbsent:
      case KeyState::kPresent:
        break;
      case KeyState::kMoved:
        moved.push_back(i);
        break;
      case KeyState::kNoObject:
        return Fail(Dropped(*request_.target));
      case KeyState::kNoMemory:
        return Fail(
            Error(ErrorReason::kMemoryLimit,
                  absl::StrCat(core_.limits.MemoryLimitText(), ": rows for object \"",
                               request_.target->name, "\" were refused, some others are written")));
      case KeyState::kRefused:
        return Fail(NoRoom(core_));
      case KeyState::kCancelled:
        return Fail(absl::CancelledError("the scan was cancelled"));
      case KeyState::kPending:
      case KeyState::kUnequal:
      case KeyState::kNoRoom:
        ERIS_DCHECK(false);  // no write ends with this state
        return Fail(absl::InternalError("a row of the scan has no answer"));
    }
  }
  if (!moved.empty()) return SendAgain(block, moved);
  rows_written_ += rows;
  circulation_.PassOn(block);
}

void TableScanState::SendAgain(Block& block, const std::vector<uint32_t>& moved) {
  if (block.resends++ == kResendsMax) {
    return Fail(Error(ErrorReason::kKeysMoving,
                      absl::StrCat(moved.size(), " rows were moved again and again between AEUs")));
  }
  const uint32_t rows = block.rows_out.rows;
  BatchColumns columns;
  std::vector<uint64_t> heads;
  std::vector<uint64_t> tails;
  if (target_.layout != nullptr) {
    heads.resize(rows);
    if (target_.layout->two_words()) tails.resize(rows);
    target_.layout->PackKeys(*block.rows, /*keys_only=*/false, heads.data(),
                             tails.empty() ? nullptr : tails.data());
    columns = {.keys = heads, .seconds = tails};
  } else {
    const auto column = [&](size_t i) {
      return absl::MakeConstSpan(static_cast<const uint64_t*>(block.columns[i].values), rows);
    };
    columns = {.keys = column(0), .values = column(1)};
  }
  ColumnCopies again;
  again.Select(columns, moved);
  if (!EnterParts(1)) return;
  circulation_.GoesAgain(block);
  block.Owe(static_cast<uint32_t>(moved.size()));
  routing::KeyedCommand command{
      .type = target_.type, .positions = moved, .complete = &Block::Answered, .context = &block};
  SetColumns(again.view(), command);
  core_.control->Send(request_.target->route, command);
}

}  // namespace eris::engine
