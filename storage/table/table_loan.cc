// Rows of a table that another AEU takes over: they are lent as a copy from an end of the range,
// then forgotten or taken back. A loan is only a range of keys (for a heap table rows of segments):
// the rows stay in place, and no row is compacted meanwhile. Forgetting them is an erase at the
// epoch at which they were born at the other AEU. That epoch may be in the past: a snapshot taken
// since then finds them there. Paper: ERIS 3.3.2.
#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/prefetch.h"
#include "storage/range_ops.h"
#include "storage/table/table_body.h"

namespace eris::storage {
namespace {

// Strings of one chunk; exceeded only if the rows of one first part have more.
constexpr uint64_t kChunkStringBytes = 16u << 20;

struct RowAt {
  const Segment* segment;
  uint32_t row;
};

bool HasStrings(const TableLayout& layout) {
  const auto& columns = layout.schema().columns;
  return std::any_of(columns.begin(), columns.end(),
                     [](const ColumnSchema& column) { return IsByteString(column.type); });
}

uint64_t StringBytesOf(const TableLayout& layout, const RowAt& at) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < layout.columns(); ++i) {
    if (!IsByteString(layout.column(i).type)) continue;
    const ColumnSource source = ColumnSource::Of(at.segment->views()[i]);
    if (!source.IsNull(at.row)) bytes += source.StringAt(at.row).size();
  }
  return bytes;
}

// The end of the run of rows that are adjacent to rows[i] in their segment.
size_t RunEnd(const std::vector<RowAt>& rows, size_t i) {
  size_t end = i + 1;
  while (end < rows.size() && rows[end].segment == rows[i].segment &&
         rows[end].row == rows[end - 1].row + 1) {
    ++end;
  }
  return end;
}

// Rows that were not written in key order are scattered over the segments: they are fetched ahead,
// in two steps, as RowPick does for strings.
constexpr size_t kRowsAhead = 12;
void PrefetchFrom(const std::vector<RowAt>& rows, size_t i, uint32_t column, uint32_t width) {
  if (i + 2 * kRowsAhead >= rows.size()) return;
  const auto source = [&](const RowAt& at) {
    return ColumnSource::Of(at.segment->views()[column]);
  };
  const RowAt& far = rows[i + 2 * kRowsAhead];
  const RowAt& near = rows[i + kRowsAhead];
  if (width > 0) {
    base::Prefetch(static_cast<const char*>(source(near).values) + size_t{near.row} * width);
    return;
  }
  const ColumnSource strings = source(near);
  source(far).PrefetchOffsets(far.row);
  if (!strings.IsNull(near.row)) strings.PrefetchString(near.row);
}

void PrefetchOffsets(const TableLayout& layout, uint64_t word) {
  const std::span<const SegmentColumn> views = Segment::Of(word)->views();
  for (uint32_t i = 0; i < layout.columns(); ++i) {
    if (!IsByteString(layout.column(i).type)) continue;
    ColumnSource::Of(views[i]).PrefetchOffsets(Segment::RowOf(word));
  }
}

// Copies one column of the rows. Throws std::bad_alloc. False: more bytes than offsets can
// represent.
bool CopyColumn(ColumnType type, uint32_t column, const std::vector<RowAt>& rows,
                ColumnBuffers& out) {
  const uint32_t width = ColumnValueBytes(type);
  bool nulls = false;
  out.validity.assign((rows.size() + 7) / 8, '\xff');
  if (width > 0) out.values.resize(rows.size() * width);
  if (width == 0) out.values.clear();
  if (width == 0) out.offsets.assign((rows.size() + 1) * sizeof(uint32_t), '\0');
  for (size_t i = 0; i < rows.size();) {
    const ColumnSource source = ColumnSource::Of(rows[i].segment->views()[column]);
    const size_t end = RunEnd(rows, i);
    PrefetchFrom(rows, i, column, width);
    if (width > 0) {
      std::memcpy(out.values.data() + i * width,
                  static_cast<const char*>(source.values) + size_t{rows[i].row} * width,
                  (end - i) * width);
    }
    if (width > 0 && source.validity == nullptr) {
      i = end;
      continue;
    }
    for (; i < end; ++i) {
      const bool null = source.IsNull(rows[i].row);
      nulls |= null;
      if (null) out.validity[i >> 3] = static_cast<char>(out.validity[i >> 3] & ~(1 << (i & 7)));
      if (width > 0) continue;
      if (!null) {
        const absl::string_view text = source.StringAt(rows[i].row);
        out.values.append(text.data(), text.size());
      }
      if (out.values.size() > std::numeric_limits<uint32_t>::max()) return false;
      const auto behind = static_cast<uint32_t>(out.values.size());
      std::memcpy(out.offsets.data() + (i + 1) * sizeof behind, &behind, sizeof behind);
    }
  }
  if (!nulls) out.validity.clear();
  return true;
}

// Throws std::bad_alloc. Errors: ResourceExhausted (strings).
absl::Status CopyRows(const TableLayout& layout, const std::vector<RowAt>& rows,
                      ExchangeRows& out) {
  out.count = rows.size();
  out.columns.resize(layout.columns());
  for (uint32_t i = 0; i < layout.columns(); ++i) {
    if (!CopyColumn(layout.column(i).type, i, rows, out.columns[i])) {
      return NoMemory("lend strings of more than 4 GiB with one first part");
    }
  }
  return absl::OkStatus();
}

}  // namespace

// Rows at one end, in the order of the index: from that end on, whole first parts.
struct TablePartition::Body::EndRows {
  std::vector<uint64_t> heads{};
  std::vector<uint64_t> tails{};
  std::vector<uint64_t> words{};
  bool all = false;  // there are no more rows

  // Keeps the rows before the first part of row `i`, but at least those of one first part.
  void CutBefore(size_t i) {
    size_t end = i;
    while (end > 0 && heads[end - 1] == heads[i]) --end;
    if (end == 0) {
      while (end < heads.size() && heads[end] == heads[0]) ++end;
    }
    if (end == heads.size()) return;
    Resize(end);
    all = false;
  }
  void Resize(size_t rows) {
    heads.resize(rows);
    words.resize(rows);
    if (!tails.empty()) tails.resize(rows);
  }
  void Reverse() {
    for (auto* const column : {&heads, &tails, &words})
      std::reverse(column->begin(), column->end());
  }
};

void TablePartition::Body::ReadEnd(const Range& leaving, End from, uint32_t rows_max,
                                   EndRows& out) {
  ScanCursor cursor{.rest = leaving};
  if (from == End::kHigh) cursor.query.direction = ScanDirection::kBackward;
  const bool two_words = layout_->two_words();
  size_t rows = 0;
  // Read one more row to see where a first part ends; the first one is read completely, whatever
  // its size.
  do {
    const size_t wanted = std::max<size_t>(rows_max + size_t{1}, 2 * rows) - rows;
    out.tails.resize(two_words ? rows + wanted : 0);
    out.Resize(rows + wanted);
    ScanRows to{.keys = out.heads.data() + rows,
                .values = out.words.data() + rows,
                .capacity = static_cast<uint32_t>(wanted),
                .seconds = two_words ? out.tails.data() + rows : nullptr};
    keys_->Scan(cursor, to);
    rows += to.rows;
    out.Resize(rows);
  } while (!cursor.done && out.heads.front() == out.heads.back());
  out.all = cursor.done;
  if (rows > rows_max) out.CutBefore(rows_max);
}

absl::Status TablePartition::Body::CheckLeaving(const Range& leaving) const {
  if (!keys_) return absl::OkStatus();  // a heap table's rows leave by number
  if (absl::Status status = CheckWidth(leaving); !status.ok()) return status;
  const bool low =
      leaving.lo == range_.lo && (!range_.hi || (leaving.hi && *leaving.hi <= *range_.hi));
  const bool high = leaving.hi == range_.hi && leaving.lo >= range_.lo;
  if (!leaving.Empty() && (low || high)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Text(leaving), " is not an end of ", Text(range_)));
}

absl::Status TablePartition::Body::Lend(const Range& leaving, End from, const ChunkLimit& limit,
                                        ExchangeChunk& out) {
  if (loan_) {
    return absl::FailedPreconditionError(
        absl::StrCat(loan_->rows, " rows of ", Text(loan_->before), " are lent already"));
  }
  if (absl::Status status = CheckLeaving(leaving); !status.ok()) return status;
  if (keys_ && (from == End::kLow ? leaving.lo != range_.lo : leaving.hi != range_.hi)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Text(leaving), " is the other end of ", Text(range_)));
  }
  // A caller that wants all rows may pass any number.
  const auto rows_max =
      static_cast<uint32_t>(std::clamp<uint64_t>(limit.rows, 1, std::max<uint64_t>(size(), 1)));
  const uint64_t bytes_max = std::min(limit.bytes, kChunkStringBytes);
  ExchangeChunk chunk;
  chunk.rows = std::exchange(out.rows, {});  // reuse its memory
  try {  // the copy is on the general heap, which reports "no memory" by an exception
    if (!keys_) return LendLast({rows_max, bytes_max}, std::move(chunk), out);
    EndRows end{.heads = std::exchange(out.keys, {}),
                .tails = std::exchange(out.seconds, {}),
                .words = std::exchange(out.values, {})};
    ReadEnd(leaving, from, rows_max, end);
    uint64_t bytes = 0;
    if (HasStrings(*layout_)) {
      for (size_t i = 0; i < end.heads.size(); ++i) {
        if (i + kRowsAhead < end.words.size()) PrefetchOffsets(*layout_, end.words[i + kRowsAhead]);
        bytes += StringBytesOf(*layout_, {Segment::Of(end.words[i]), Segment::RowOf(end.words[i])});
        if (i == 0 || bytes <= bytes_max) continue;
        end.CutBefore(i);
        break;
      }
    }
    if (from == End::kHigh) end.Reverse();
    chunk.covers = leaving;
    if (!end.all && from == End::kLow) chunk.covers.hi = Key::FromU64(end.heads.back() + 1);
    if (!end.all && from == End::kHigh) chunk.covers.lo = Key::FromU64(end.heads.front());
    std::vector<RowAt> rows;
    rows.reserve(end.words.size());
    for (const uint64_t word : end.words) {
      rows.push_back({Segment::Of(word), Segment::RowOf(word)});
    }
    if (absl::Status status = CopyRows(*layout_, rows, chunk.rows); !status.ok()) return status;
    chunk.keys = std::move(end.heads);
    chunk.seconds = std::move(end.tails);
    chunk.values = std::move(end.words);  // for the next chunk
    chunk.values.clear();
  } catch (const std::bad_alloc&) {
    return NoMemory(absl::StrCat("lend ", rows_max, " rows"));
  }
  loan_.emplace(Loan{.before = range_, .lent = chunk.covers, .rows = chunk.keys.size()});
  CutOff(range_, chunk.covers);
  out = std::move(chunk);
  return absl::OkStatus();
}

absl::Status TablePartition::Body::LendLast(const ChunkLimit& limit, ExchangeChunk chunk,
                                            ExchangeChunk& out) {
  uint32_t rows_max = limit.rows;
  Loan loan{.before = range_, .lent = {range_.lo, range_.lo}};
  std::vector<RowAt> rows;
  uint64_t bytes = 0;
  const bool strings = HasStrings(*layout_);
  for (uint32_t i = segments_.size(); i-- > 0 && rows.size() < rows_max;) {
    Segment& segment = *segments_[i];
    if (segment.live() == 0) continue;
    // Otherwise Forget might find no memory for it.
    if (!segment.MayDie(cache_)) return NoMemory(absl::StrCat("lend ", rows_max, " rows"));
    uint32_t row = segment.rows();
    for (; row > 0 && rows.size() < rows_max; --row) {
      const RowAt at{&segment, row - 1};
      if (segment.versions().Dead(at.row)) continue;
      if (strings) bytes += StringBytesOf(*layout_, at);
      if (bytes > limit.bytes && !rows.empty()) rows_max = 0;  // stop before this row
      if (rows_max == 0) break;
      rows.push_back(at);
    }
    loan.heap.push_back({segment.number(), row, segment.rows()});
  }
  std::reverse(rows.begin(), rows.end());
  chunk.covers = loan.lent;
  if (absl::Status status = CopyRows(*layout_, rows, chunk.rows); !status.ok()) return status;
  loan.rows = rows.size();
  loan_ = std::move(loan);
  out = std::move(chunk);
  return absl::OkStatus();
}

void TablePartition::Body::TakeBack() {
  if (!loan_) return;
  range_ = loan_->before;
  loan_.reset();
}

void TablePartition::Body::Forget(const SnapshotView& snapshots) {
  if (!loan_) return;
  const Loan loan = *std::exchange(loan_, std::nullopt);
  const uint64_t died = loan.died.value_or(snapshots.epoch);
  uint64_t words[kPieceRows];
  // In the order of the index, which Kill does not change; the scan is behind the erased keys.
  ScanCursor cursor{.rest = loan.lent, .done = !keys_ || loan.rows == 0};
  while (!cursor.done) {
    uint64_t heads[kPieceRows];
    uint64_t tails[kPieceRows];
    KeyState states[kPieceRows];
    ScanRows rows{.keys = heads,
                  .values = words,
                  .capacity = kPieceRows,
                  .seconds = layout_->two_words() ? tails : nullptr};
    keys_->Scan(cursor, rows);
    (void)ReserveDeaths(rows.rows, snapshots);
    keys_->Erase({rows.rows, heads, tails}, states);
    for (uint32_t i = 0; i < rows.rows; ++i) Kill(words[i], snapshots, died);
  }
  for (const HeapRows& lent : loan.heap) {
    Segment& segment = *segments_[segments_.LowerBound(lent.number)];
    ERIS_DCHECK(segment.number() == lent.number);  // it has live rows
    for (uint32_t row = lent.first; row < lent.end;) {
      const uint32_t end = std::min(row + kPieceRows, lent.end);
      (void)ReserveDeaths(end - row, snapshots);
      for (; row < end; ++row) {
        if (!segment.versions().Dead(row)) Kill(segment.WordOf(row), snapshots, died);
      }
    }
  }
  if (!keys_) heap_rows_ -= loan.rows;
}

}  // namespace eris::storage
