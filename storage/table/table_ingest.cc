// Adds rows that come to a table from another AEU: they are appended like those of a turn's writes,
// and born with them. Paper: ERIS 3.3.2.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "memory/size_class.h"
#include "storage/range_ops.h"
#include "storage/table/table_body.h"

namespace eris::storage {
namespace {

// Rows that come from another AEU, or that compaction moves, are background work with a limit per
// turn: they are written, and no other data is moved for them. A segment begun by Ingest allocates
// all its arrays at once and never grows. When they are full, the next segment begins. Each has
// room for as many rows as the partition has at that time, up to this many bytes, for which
// prepared memory has room.
constexpr uint64_t kFixedSegmentBytes = 3u << 19;
// Strings of one column that are put at once. A longer row is put by itself.
constexpr uint32_t kFixedPieceBytes = 1u << 20;
// No array is an extent, whose pages would have to be allocated first.
static_assert(kFixedSegmentBytes / 16 * 17 <= memory::kClassedBytesMax);

// Checks the lengths of the buffers.
absl::Status CheckBuffers(const TableLayout& layout, const ExchangeRows& rows) {
  const uint64_t count = rows.count;
  if (rows.columns.size() != layout.columns() || count > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a chunk of ", count, " rows with ", rows.columns.size(), " columns"));
  }
  for (uint32_t i = 0; i < layout.columns(); ++i) {
    const ColumnBuffers& buffers = rows.columns[i];
    const uint32_t width = ColumnValueBytes(layout.column(i).type);
    const bool fits = width > 0 ? buffers.values.size() == count * width
                                : buffers.offsets.size() == (count + 1) * sizeof(uint32_t);
    if (!fits || (!buffers.validity.empty() && buffers.validity.size() < (count + 7) / 8)) {
      return absl::InvalidArgumentError(
          absl::StrCat("chunk's column ", i, " has not the size of ", count, " rows"));
    }
    if (width == 0) {
      uint32_t end;
      std::memcpy(&end, buffers.offsets.data() + count * sizeof end, sizeof end);
      if (end > buffers.values.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("chunk's column ", i, " has fewer bytes than its offsets say"));
      }
    }
  }
  return absl::OkStatus();
}

// For a column of strings: the bytes of the picked rows.
uint64_t StringBytes(const ColumnSource& source, const RowPick& pick) {
  if (source.dictionary == nullptr && pick.positions == nullptr) {
    return source.offsets[pick.first + pick.count] - source.offsets[pick.first];
  }
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < pick.count; ++i) {
    if (!source.IsNull(pick[i])) bytes += source.StringAt(pick[i]).size();
  }
  return bytes;
}

ColumnView ViewOf(const ColumnBuffers& buffers, ColumnType type) {
  ColumnView view{.values = buffers.values.data()};
  if (!buffers.validity.empty()) {
    view.validity = reinterpret_cast<const uint8_t*>(buffers.validity.data());
  }
  if (IsByteString(type)) {
    view.offsets = reinterpret_cast<const uint32_t*>(buffers.offsets.data());
  }
  return view;
}

// Whether the keys match the rows, ascend and lie in the chunk's range. Throws std::bad_alloc.
absl::Status CheckKeys(const TableLayout& layout, const ExchangeChunk& chunk,
                       const RowBatch& batch) {
  const bool two_words = layout.two_words();
  if (absl::Status status = CheckWidth(chunk.covers); !status.ok()) return status;
  if (chunk.keys.size() != batch.rows || chunk.seconds.size() != (two_words ? batch.rows : 0)) {
    return absl::InvalidArgumentError(absl::StrCat("a chunk of ", batch.rows, " rows with ",
                                                   chunk.keys.size(), " keys and ",
                                                   chunk.seconds.size(), " second parts"));
  }
  std::vector<uint64_t> heads(batch.rows);
  std::vector<uint64_t> tails(two_words ? batch.rows : 0);
  layout.PackKeys(batch, /*keys_only=*/false, heads.data(), two_words ? tails.data() : nullptr);
  for (uint64_t i = 0; i < batch.rows; ++i) {
    if (heads[i] != chunk.keys[i] || (two_words && tails[i] != chunk.seconds[i])) {
      return absl::InvalidArgumentError(absl::StrCat("chunk's row ", i, " has another key"));
    }
    const bool ascends = i == 0 || heads[i - 1] < heads[i] ||
                         (two_words && heads[i - 1] == heads[i] && tails[i - 1] < tails[i]);
    if (!ascends || !chunk.covers.ContainsU64(heads[i])) {
      return absl::InvalidArgumentError(absl::StrCat("chunk's key ", heads[i], " in row ", i,
                                                     " does not ascend, or lies outside ",
                                                     Text(chunk.covers)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status TablePartition::Body::Ingest(const ExchangeChunk& chunk) {
  if (loan_) {
    return absl::FailedPreconditionError(
        absl::StrCat(loan_->rows, " rows of ", Text(loan_->before), " are lent"));
  }
  if (absl::Status status = CheckBuffers(*layout_, chunk.rows); !status.ok()) return status;
  const uint64_t count = chunk.rows.count;
  try {  // column views and copies of keys are on the general heap, as in Lend
    std::vector<ColumnView> views;
    std::vector<ColumnSource> sources;
    for (uint32_t i = 0; i < layout_->columns(); ++i) {
      views.push_back(ViewOf(chunk.rows.columns[i], layout_->column(i).type));
      sources.push_back(ColumnSource::Of(views.back()));
    }
    const RowBatch batch{count, views};
    if (absl::Status status = layout_->Check(batch, false); !status.ok()) return status;
    if (!keys_) {
      if (Append(batch, 0, static_cast<uint32_t>(count), snapshots(), Growth::kNone)) {
        return absl::OkStatus();
      }
      return NoMemory(absl::StrCat("ingest ", count, " rows"));
    }
    if (absl::Status status = CheckKeys(*layout_, chunk, batch); !status.ok()) return status;
    if (!Adjacent(chunk.covers, range_)) {
      return absl::InvalidArgumentError(
          absl::StrCat("chunk ", Text(chunk.covers), " is not adjacent to ", Text(range_)));
    }
    if (absl::Status status = IngestKeys(chunk, sources); !status.ok()) return status;
  } catch (const std::bad_alloc&) {
    return NoMemory(absl::StrCat("ingest ", count, " rows"));
  }
  Widen(range_, chunk.covers);
  return absl::OkStatus();
}

RowPick TablePartition::Body::FixedPiece(std::span<const ColumnSource> sources, RowPick pick) {
  for (uint32_t i = 0; i < layout_->columns(); ++i) {
    if (!IsByteString(layout_->column(i).type)) continue;
    while (pick.count > 1 && StringBytes(sources[i], pick) > kFixedPieceBytes) {
      pick.count = (pick.count + 1) / 2;
    }
  }
  return pick;
}

Segment* TablePartition::Body::NewFixedSegment(std::span<const ColumnSource> sources,
                                               const RowPick& pick) {
  std::array<uint64_t, kTableColumnsMax> bytes{};
  uint64_t all_bytes = uint64_t{pick.count} * row_bytes_;
  for (uint32_t i = 0; i < layout_->columns(); ++i) {
    if (!IsByteString(layout_->column(i).type)) continue;
    bytes[i] = StringBytes(sources[i], pick);
    all_bytes += bytes[i];
  }
  const uint64_t fit = kFixedSegmentBytes * pick.count / all_bytes;
  const uint64_t capacity = std::max<uint64_t>(std::min(ExpectedRows(pick.count), fit), pick.count);
  Segment* const segment = CreateSegment(capacity);
  if (segment == nullptr) return nullptr;
  const Segment* const last = segments_.size() == 0 ? nullptr : segments_[segments_.size() - 1];
  for (uint32_t i = 0; i < layout_->columns(); ++i) {
    if (!IsByteString(layout_->column(i).type)) continue;
    // As long as these, or somewhat longer; longer strings begin another segment.
    const uint64_t expected = bytes[i] * capacity / pick.count;
    segment->column(i).ExpectStrings(
        static_cast<uint32_t>(expected + expected / 16),
        last != nullptr && last->column(i).MostlyDistinct(last->rows()));
  }
  return segment;
}

absl::Status TablePartition::Body::IngestKeys(const ExchangeChunk& chunk,
                                              std::span<const ColumnSource> sources) {
  const auto count = static_cast<uint32_t>(chunk.keys.size());
  for (uint32_t begin = 0; begin < count;) {
    const RowPick pick = FixedPiece(
        sources, {std::min({kPieceRows, count - begin, Room(Growth::kNone)}), begin, nullptr});
    const uint32_t some = pick.count;
    const KeyPick keys{some, chunk.keys.data() + begin,
                       layout_->two_words() ? chunk.seconds.data() + begin : nullptr};
    Segment* const segment = Put(sources, pick, snapshots(), Growth::kNone);
    bool refused = segment == nullptr;
    if (!refused) {
      uint64_t words[kPieceRows];
      uint64_t there[kPieceRows];
      KeyState states[kPieceRows];
      for (uint32_t i = 0; i < some; ++i) words[i] = segment->WordOf(segment->rows() + i);
      keys_->InsertIfAbsent(keys, words, there, states);
      // Keys outside the range are not in the index.
      ERIS_CHECK(std::find(states, states + some, KeyState::kPresent) == states + some);
      refused = std::find(states, states + some, KeyState::kNoMemory) != states + some;
      // Its rows have not been counted, and stay ignored.
      if (refused) keys_->Erase(keys, states);
    }
    if (refused) {
      Undo(chunk, begin);
      return NoMemory(absl::StrCat("ingest ", count, " rows"));
    }
    Commit(*segment, some, snapshots());
    begin += some;
  }
  return absl::OkStatus();
}

void TablePartition::Body::Undo(const ExchangeChunk& chunk, uint32_t count) {
  for (uint32_t begin = 0; begin < count;) {
    const uint32_t some = std::min(kPieceRows, count - begin);
    const KeyPick keys{some, chunk.keys.data() + begin,
                       layout_->two_words() ? chunk.seconds.data() + begin : nullptr};
    uint64_t words[kPieceRows];
    KeyState states[kPieceRows];
    keys_->Find(keys, words, states);
    keys_->Erase(keys, states);
    // They die at the epoch at which they were born: no snapshot has seen them.
    for (uint32_t i = 0; i < some; ++i) Kill(words[i], snapshots());
    begin += some;
  }
}

}  // namespace eris::storage
