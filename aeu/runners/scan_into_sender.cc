#include "aeu/runners/scan_into_sender.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "storage/table/rows/append_pieces.h"
#include "storage/table/rows/table_layout.h"

namespace eris::aeu {

using routing::CommandType;
using routing::TableChunk;
using storage::KeyState;

namespace {

std::vector<uint64_t> Select(std::span<const uint64_t> from,
                             const std::vector<uint32_t>& positions) {
  std::vector<uint64_t> selected;
  if (from.empty()) return selected;
  selected.reserve(positions.size());
  for (const uint32_t position : positions) selected.push_back(from[position]);
  return selected;
}

}  // namespace

absl::Status ScanIntoSender::Send(TableChunk* chunk) {
  ERIS_DCHECK(!pending() && chunk->rows_out.rows > 0);
  chunk->ShowRows();
  const uint32_t rows = chunk->rows_out.rows;
  if (target_.layout != nullptr) {
    // The types were compared when the scan was opened; only nulls remain to be checked.
    absl::Status fits = target_.layout->Check(*chunk->rows, /*keys_only=*/false);
    if (!fits.ok()) return fits;
  } else {
    const auto& columns = chunk->rows_out.columns;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i].any_null) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("column ", i + 1, ", the ", i == 0 ? "key" : "value", ", of a row is null"));
    }
  }
  if (appends()) {
    firsts_ = storage::AppendPieces(*target_.layout, *chunk->rows);
  } else {
    TakeKeys(*chunk);
  }
  const size_t answers = appends() ? firsts_.size() - 1 : rows;
  left_.resize(answers);
  std::iota(left_.begin(), left_.end(), 0);
  // Set it before the first of them can be answered. From here on nothing throws.
  chunk_ = chunk;
  target_.begin_chunk(chunk, static_cast<uint32_t>(answers));
  SendLeft();
  return absl::OkStatus();
}

void ScanIntoSender::TakeKeys(const TableChunk& chunk) {
  const uint32_t rows = chunk.rows_out.rows;
  heads_.resize(rows);
  tails_.clear();
  if (target_.layout == nullptr) {
    const auto* keys = static_cast<const uint64_t*>(chunk.rows_out.columns[0].values);
    std::copy_n(keys, rows, heads_.begin());
    return;
  }
  if (target_.layout->two_words()) tails_.resize(rows);
  target_.layout->PackKeys(*chunk.rows, /*keys_only=*/false, heads_.data(),
                           tails_.empty() ? nullptr : tails_.data());
}

void ScanIntoSender::SendKeys() {
  const bool all = left_.size() == heads_.size();
  routing::KeyedCommand command{
      .type = target_.type, .complete = target_.complete_chunk, .context = chunk_};
  std::vector<uint64_t> heads;
  std::vector<uint64_t> tails;
  std::vector<uint64_t> values;
  std::span<const uint64_t> column;
  if (target_.type == CommandType::kUpsert) {
    column = {static_cast<const uint64_t*>(chunk_->rows_out.columns[1].values), heads_.size()};
  }
  if (all) {
    command.keys = heads_;
    command.seconds = tails_;
    command.values = column;
  } else {
    command.keys = heads = Select(heads_, left_);
    command.seconds = tails = Select(tails_, left_);
    command.values = values = Select(column, left_);
    command.positions = left_;
  }
  std::vector<uint32_t> again;
  again.reserve(left_.size());
  port_.Send(*target_.route, command, KeyState::kRefused);
  for (const uint32_t key : port_.refused_keys()) again.push_back(left_[key]);
  left_ = std::move(again);
}

void ScanIntoSender::SendPieces() {
  const auto& holders = target_.holders;
  // Prefer this AEU, which has the rows already, if it holds a part of the target.
  const bool here = std::binary_search(holders.begin(), holders.end(), self_);
  const auto aeu_of = [&](uint32_t piece) {
    return here ? self_ : holders[(self_.value + piece) % holders.size()];
  };
  for (const uint32_t piece : left_) port_.ReserveTarget(aeu_of(piece));
  std::erase_if(left_, [&](uint32_t piece) {
    const routing::AppendSegment segment{
        .first = firsts_[piece],
        .count = static_cast<uint32_t>(firsts_[piece + 1] - firsts_[piece]),
        .position = piece};
    const routing::CommandHeader header{.type = CommandType::kAppendRows,
                                        .slot = target_.route->slot(),
                                        .object = target_.route->object(),
                                        .table_version = target_.table_version,
                                        .complete = target_.complete_chunk,
                                        .context = chunk_,
                                        .count = 1};
    return port_.SendTo(aeu_of(piece), header,
                        {reinterpret_cast<const std::byte*>(&segment), sizeof segment});
  });
}

bool ScanIntoSender::SendLeft() {
  const size_t before = left_.size();
  try {
    appends() ? SendPieces() : SendKeys();
  } catch (const std::bad_alloc&) {  // nothing has been sent
    AnswerLeft(KeyState::kNoMemory);
  }
  return left_.size() < before;
}

void ScanIntoSender::AnswerLeft(KeyState state) {
  if (!pending()) return;
  TableChunk* const chunk = std::exchange(chunk_, nullptr);
  for (const uint32_t position : left_) chunk->states[position] = state;
  // Not an acknowledgement: these have not been sent as a command.
  const auto answers = static_cast<uint32_t>(left_.size());
  left_.clear();
  target_.complete_chunk(chunk, answers);
}

}  // namespace eris::aeu
