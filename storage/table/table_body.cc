#include "storage/table/table_body.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/check.h"
#include "storage/table/rows/table_keys.h"

namespace eris::storage {
namespace {

constexpr uint32_t kFirstRows = 1024;  // capacity of a partition's first segment
constexpr SnapshotView kNoSnapshots;

}  // namespace

TablePartition::Body::Body(const Range& range, memory::LocalCache& cache,
                           std::shared_ptr<const TableLayout> layout, std::optional<KeyIndex> keys)
    : cache_(cache), layout_(std::move(layout)), range_(range), keys_(std::move(keys)) {
  for (const ColumnSchema& column : layout_->schema().columns) {
    row_bytes_ += IsByteString(column.type) ? sizeof(uint32_t) : ColumnValueBytes(column.type);
  }
}

TablePartition::Body::~Body() {
  for (uint32_t i = 0; i < segments_.size(); ++i) segments_[i]->Destroy(cache_, records_pool_);
  segments_.Free(cache_);
  records_pool_.Trim(cache_, 0);
}

const SnapshotView& TablePartition::Body::snapshots() const {
  return snapshots_ == nullptr ? kNoSnapshots : *snapshots_;
}

// --- appending -----------------------------------------------------------------------------------

uint32_t TablePartition::Body::Room(Growth growth) {
  const auto rows_of = [&](const Segment& segment) {
    return growth == Growth::kNone ? segment.capacity() : kSegmentRows;
  };
  if (open_ != nullptr && open_->rows() >= rows_of(*open_)) open_ = nullptr;
  return open_ == nullptr ? kSegmentRows : rows_of(*open_) - open_->rows();
}

Segment* TablePartition::Body::CreateSegment(uint64_t capacity) {
  if (!segments_.Reserve(cache_, 1 + segments_out_)) return nullptr;
  return Segment::Create(cache_, *layout_, next_number_, static_cast<uint32_t>(capacity));
}

uint64_t TablePartition::Body::ExpectedRows(uint32_t rows) const {
  const uint64_t expected = std::max<uint64_t>(std::bit_ceil(std::max<uint64_t>(size(), 1)), rows);
  return std::clamp<uint64_t>(expected, kFirstRows, kSegmentRows);
}

Segment* TablePartition::Body::NewSegment(uint32_t rows) {
  // The first segment grows with its rows, so that small tables stay small. The next one is as
  // large as the table so far, and is rarely copied.
  const uint64_t capacity = ExpectedRows(rows);
  Segment* const segment = CreateSegment(capacity);
  if (segment == nullptr || segments_.size() == 0 || capacity < kSegmentRows) return segment;
  const Segment& last = *segments_[segments_.size() - 1];
  for (uint32_t i = 0; i < segment->columns(); ++i) {
    const uint64_t bytes = last.column(i).string_bytes(last.rows());
    segment->column(i).ExpectStrings(
        static_cast<uint32_t>(std::min<uint64_t>(bytes + bytes / 16, kSegmentStringBytesMax)));
  }
  return segment;
}

Segment* TablePartition::Body::Put(std::span<const ColumnSource> sources, const RowPick& pick,
                                   const SnapshotView& snapshots, Growth growth) {
  if (open_ != nullptr) {
    const PutResult result = open_->Put(cache_, sources, pick, growth);
    if (result == PutResult::kNoMemory) return nullptr;
    if (result == PutResult::kDone) {
      return open_->versions().ReserveBirth(cache_, snapshots) ? open_ : nullptr;
    }
  }
  Segment* const segment =
      growth == Growth::kNone ? NewFixedSegment(sources, pick) : NewSegment(pick.count);
  if (segment == nullptr) return nullptr;
  if (segment->Put(cache_, sources, pick, growth) != PutResult::kDone ||
      !segment->versions().ReserveBirth(cache_, snapshots)) {
    segment->Destroy(cache_, records_pool_);
    return nullptr;
  }
  segments_.Add(segment);
  ++next_number_;
  open_ = segment;
  return segment;
}

void TablePartition::Body::Commit(Segment& segment, uint32_t count, const SnapshotView& snapshots) {
  segment.Commit(count, snapshots);
  if (segment.versions().marks() > 0) marked_ = true;
}

bool TablePartition::Body::Append(const RowBatch& rows, uint64_t first, uint32_t count,
                                  const SnapshotView& snapshots, Growth growth) {
  ERIS_DCHECK(!keys_);
  std::array<ColumnSource, kTableColumnsMax> sources;
  for (uint32_t i = 0; i < layout_->columns(); ++i) {
    sources[i] = ColumnSource::Of(rows.columns[i]);
  }
  const uint32_t segments = segments_.size();
  Segment* const open = open_;
  const uint32_t open_rows = open == nullptr ? 0 : open->rows();
  for (uint32_t done = 0; done < count;) {
    const uint32_t at = static_cast<uint32_t>(first) + done;
    RowPick pick{std::min({kPieceRows, count - done, Room(growth)}), at, nullptr};
    if (growth == Growth::kNone) pick = FixedPiece({sources.data(), layout_->columns()}, pick);
    const uint32_t piece = pick.count;
    Segment* const segment = Put({sources.data(), layout_->columns()}, pick, snapshots, growth);
    if (segment == nullptr) {
      while (segments_.size() > segments) {
        segments_[segments_.size() - 1]->Destroy(cache_, records_pool_);
        segments_.RemoveAt(segments_.size() - 1);
      }
      // Numbers are not reused, although no reader has seen these.
      if (open != nullptr) open->TakeBack(open_rows);
      open_ = open;
      return false;
    }
    Commit(*segment, piece, snapshots);
    done += piece;
  }
  heap_rows_ += count;
  return true;
}

// --- writing by key ------------------------------------------------------------------------------

void TablePartition::Body::Execute(const Batch& batch) {
  const SnapshotView& snapshots = batch.snapshots == nullptr ? kNoSnapshots : *batch.snapshots;
  uint64_t copied = 0;
  for (const BatchPart& part : batch.parts) {
    switch (batch.operation) {
      case Operation::kPutRows:
        PutRows(part, snapshots, copied);
        break;
      case Operation::kErase:
        EraseRows(part, snapshots);
        break;
      case Operation::kLookupRows:
        LookupRows(part, copied);
        break;
      default:
        ERIS_CHECK(false);  // no session sends it
    }
  }
  if (batch.bytes_copied != nullptr) *batch.bytes_copied += copied;
}

void TablePartition::Body::PutRows(const BatchPart& part, const SnapshotView& snapshots,
                                   uint64_t& copied) {
  std::array<ColumnSource, kTableColumnsMax> columns;
  for (uint32_t i = 0; i < layout_->columns(); ++i) {
    columns[i] = ColumnSource::Of(part.rows->columns[i]);
  }
  const std::span<const ColumnSource> sources{columns.data(), layout_->columns()};
  for (uint32_t begin = 0; begin < part.count; begin += kPieceRows) {
    PutKeys(part.Piece(begin, std::min(kPieceRows, part.count - begin)), sources, snapshots);
  }
  copied += uint64_t{part.count} * row_bytes_;
  for (uint32_t i = 0; i < layout_->columns(); ++i) {
    if (!IsByteString(layout_->column(i).type)) continue;
    const uint32_t* const offsets = part.rows->columns[i].offsets;
    for (uint32_t j = 0; j < part.count; ++j) {
      const uint32_t row = part.RowOf(j);
      copied += offsets[row + 1] - offsets[row];
    }
  }
}

void TablePartition::Body::PutKeys(const BatchPart& piece, std::span<const ColumnSource> sources,
                                   const SnapshotView& snapshots) {
  uint32_t rows[kPieceRows];
  for (uint32_t i = 0; i < piece.count; ++i) rows[i] = piece.RowOf(i);
  for (uint32_t begin = 0; begin < piece.count;) {
    const uint32_t count = std::min(piece.count - begin, Room());
    const BatchPart some = piece.Piece(begin, count);
    const KeyPick keys{count, some.keys, some.seconds};
    const RowPick pick = RowPick::Of(rows + begin, count);
    begin += count;
    uint64_t words[kPieceRows];
    uint64_t there[kPieceRows];
    KeyState states[kPieceRows];
    Segment* const segment =
        ReserveDeaths(count, snapshots) ? Put(sources, pick, snapshots) : nullptr;
    if (segment == nullptr) {
      for (uint32_t i = 0; i < count; ++i) some.state(i) = KeyState::kNoMemory;
      continue;
    }
    const uint32_t first = segment->rows();
    for (uint32_t i = 0; i < count; ++i) words[i] = segment->WordOf(first + i);
    keys_->InsertIfAbsent(keys, words, there, states);
    const auto refused =
        static_cast<uint32_t>(std::count(states, states + count, KeyState::kNoMemory));
    if (refused < count) {
      Commit(*segment, count, snapshots);
      for (uint32_t i = 0; i < count; ++i) {
        // No reader will ever see it.
        if (states[i] == KeyState::kNoMemory) {
          segment->versions().Die(first + i, snapshots.epoch, nullptr);
        }
      }
      PointToNew(keys, words, there, states, snapshots);
    }
    for (uint32_t i = 0; i < count; ++i) some.state(i) = states[i];
  }
}

// For keys that existed before: their old rows die, in the order in which they were written.
void TablePartition::Body::PointToNew(const KeyPick& keys, const uint64_t* words,
                                      const uint64_t* there, const KeyState* states,
                                      const SnapshotView& snapshots) {
  uint64_t heads[kPieceRows];
  uint64_t tails[kPieceRows];
  uint64_t rows[kPieceRows];
  uint32_t count = 0;
  for (uint32_t i = 0; i < keys.count; ++i) {
    if (states[i] == KeyState::kPresent) __builtin_prefetch(Segment::Of(there[i]), 1);
  }
  for (uint32_t i = 0; i < keys.count; ++i) {
    if (states[i] != KeyState::kPresent) continue;
    uint64_t old = there[i];
    if (Segment::Of(old)->versions().Dead(Segment::RowOf(old))) {
      // If the key occurs more than twice, it now points to the previous of these rows.
      keys_->Point({count, heads, tails}, rows);
      count = 0;
      KeyState state;
      keys_->Find({1, keys.heads + i, keys.tails == nullptr ? nullptr : keys.tails + i}, &old,
                  &state);
      ERIS_CHECK(state == KeyState::kPresent);
    }
    Kill(old, snapshots);
    heads[count] = keys.heads[i];
    tails[count] = keys.tails == nullptr ? 0 : keys.tails[i];
    rows[count++] = words[i];
  }
  keys_->Point({count, heads, tails}, rows);
}

void TablePartition::Body::Kill(uint64_t word, const SnapshotView& snapshots, uint64_t epoch) {
  RowVersions& versions = Segment::Of(word)->versions();
  const uint32_t row = Segment::RowOf(word);
  DeathRecord* record = nullptr;
  if (snapshots.AnyBefore(epoch) && snapshots.Needs(versions.BirthOf(row), epoch)) {
    record = records_pool_.Take();
    if (record == nullptr) lost_before_ = std::max(lost_before_, epoch);
  }
  uint32_t bytes = 0;
  if (record != nullptr) {
    bytes = KeptBytes(*Segment::Of(word), row);
    ++records_;
    ++recorded_;
    record_bytes_ += bytes;
  }
  versions.Die(row, epoch, record, bytes);
  ++changes_;
}

uint32_t TablePartition::Body::KeptBytes(const Segment& segment, uint32_t row) const {
  size_t bytes = sizeof(DeathRecord) + row_bytes_;
  for (const SegmentColumn& column : segment.views()) {
    // Strings of a dictionary are used by other rows too.
    if (column.offsets != nullptr) bytes += column.offsets[row + 1] - column.offsets[row];
  }
  return static_cast<uint32_t>(bytes);
}

void TablePartition::Body::EraseRows(const BatchPart& part, const SnapshotView& snapshots) {
  for (uint32_t begin = 0; begin < part.count; begin += kPieceRows) {
    const uint32_t count = std::min(kPieceRows, part.count - begin);
    const KeyPick keys{count, part.keys + begin,
                       part.seconds == nullptr ? nullptr : part.seconds + begin};
    uint64_t words[kPieceRows];
    KeyState states[kPieceRows];
    keys_->Find(keys, words, states);
    // An erase always works, as on an index: without memory for its records the snapshots are given
    // up here.
    (void)ReserveDeaths(count, snapshots);
    keys_->Erase(keys, states);  // if a key occurs twice, the first occurrence finds it
    for (uint32_t i = 0; i < count; ++i) {
      if (states[i] == KeyState::kPresent) Kill(words[i], snapshots);
    }
    for (uint32_t i = 0; i < count; ++i) part.state(begin + i) = states[i];
  }
}

// --- compaction ----------------------------------------------------------------------------------

bool TablePartition::Body::Move(Segment& segment, const uint32_t* rows, uint32_t count,
                                const SnapshotView& snapshots) {
  ERIS_DCHECK(&segment != open_);
  std::array<ColumnSource, kTableColumnsMax> columns;
  for (uint32_t i = 0; i < segment.columns(); ++i) {
    columns[i] = ColumnSource::Of(segment.views()[i]);
  }
  const std::span<const ColumnSource> sources{columns.data(), segment.columns()};
  for (uint32_t begin = 0; begin < count;) {
    const RowPick pick = FixedPiece(
        sources,
        RowPick::Of(rows + begin, std::min({kPieceRows, count - begin, Room(Growth::kNone)})));
    const uint32_t some = pick.count;
    uint64_t heads[kPieceRows];
    uint64_t tails[kPieceRows];
    uint64_t words[kPieceRows];
    if (!ReserveDeaths(some, snapshots)) return false;
    Segment* const to = Put(sources, pick, snapshots, Growth::kNone);
    if (to == nullptr) return false;
    for (uint32_t i = 0; i < some; ++i) {
      const Key key = KeyOfRow(*layout_, columns.data(), rows[begin + i]);
      heads[i] = key.head;
      tails[i] = key.tail;
      words[i] = to->WordOf(to->rows() + i);
    }
    keys_->Point({some, heads, tails}, words);
    Commit(*to, some, snapshots);
    for (uint32_t i = 0; i < some; ++i) Kill(segment.WordOf(rows[begin + i]), snapshots);
    begin += some;
  }
  return true;
}

void TablePartition::Body::Abandon() {
  if (keys_) keys_->Abandon();
  segments_.Abandon();
  records_pool_.Abandon();
  open_ = nullptr;
}

}  // namespace eris::storage
