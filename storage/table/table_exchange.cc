// Ranges of a table that change hands as copies: chunks of rows in key order, in Arrow's layout.
// What a held snapshot still needs of the range travels along: rows have the epochs of their births
// with them, and old rows those of their deaths.
#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "storage/range_ops.h"
#include "storage/table/table_body.h"
#include "storage/table/table_keys.h"

namespace eris::storage {
namespace {

// Strings of one chunk; more only where the rows of one first part have more.
constexpr uint64_t kChunkStringBytes = 16u << 20;

template <class RowAt>
ColumnSource Source(const RowAt& at, uint32_t column) {
  return ColumnSource::Of(at.segment->views()[column]);
}

template <class RowAt>
uint64_t StringBytesOf(const TableLayout& layout, const RowAt& at) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < layout.columns(); ++i) {
    if (layout.column(i).type != ColumnType::kString) continue;
    const ColumnSource source = Source(at, i);
    if (!source.IsNull(at.row)) bytes += source.StringAt(at.row).size();
  }
  return bytes;
}

// One column of the rows. Throws std::bad_alloc. False: more bytes than offsets can tell.
template <class RowAt>
bool CopyColumn(const TableLayout& layout, uint32_t column, const std::vector<RowAt>& rows,
                ColumnBuffers& out) {
  const uint32_t width = ColumnValueBytes(layout.column(column).type);
  out.validity.assign((rows.size() + 7) / 8, '\0');
  bool nulls = false;
  uint64_t bytes = 0;
  if (width > 0) out.values.resize(rows.size() * width);
  if (width == 0) out.offsets.resize((rows.size() + 1) * sizeof(uint32_t));
  const auto set_offset = [&](size_t i) {
    const auto end = static_cast<uint32_t>(bytes);
    std::memcpy(out.offsets.data() + i * sizeof end, &end, sizeof end);
  };
  if (width == 0) set_offset(0);
  for (size_t i = 0; i < rows.size(); ++i) {
    const ColumnSource source = Source(rows[i], column);
    const bool null = source.IsNull(rows[i].row);
    nulls |= null;
    if (!null) out.validity[i >> 3] = static_cast<char>(out.validity[i >> 3] | 1 << (i & 7));
    if (width > 0) {
      std::memcpy(out.values.data() + i * width,
                  static_cast<const char*>(source.values) + size_t{rows[i].row} * width, width);
      continue;
    }
    if (!null) {
      const absl::string_view text = source.StringAt(rows[i].row);
      out.values.append(text.data(), text.size());
      bytes += text.size();
    }
    if (bytes > std::numeric_limits<uint32_t>::max()) return false;
    set_offset(i + 1);
  }
  if (!nulls) out.validity.clear();
  return true;
}

}  // namespace

// The rows at the low end, as the index gives them: whole first parts.
struct TablePartition::Body::LowRows {
  std::vector<uint64_t> heads;
  std::vector<uint64_t> tails;
  std::vector<uint64_t> words;
  bool all = false;

  // Leaves those below the first part of row `i`, but the rows of one.
  void CutBefore(size_t i) {
    size_t begin = i;
    while (begin > 0 && heads[begin - 1] == heads[i]) --begin;
    if (begin == 0) {
      while (begin < heads.size() && heads[begin] == heads[0]) ++begin;
    }
    if (begin == heads.size()) return;
    heads.resize(begin);
    words.resize(begin);
    if (!tails.empty()) tails.resize(begin);
    all = false;
  }
};

// Throws std::bad_alloc.
void TablePartition::Body::ReadLow(uint32_t rows_max, LowRows& out) {
  ScanCursor cursor{.rest = range()};
  size_t rows = 0;
  // One row more, to see where a first part ends; all of the first one, however many it has.
  for (;;) {
    const size_t wanted = std::max<size_t>(rows_max + size_t{1}, 2 * rows) - rows;
    out.heads.resize(rows + wanted);
    out.words.resize(rows + wanted);
    out.tails.resize(layout_->two_words() ? rows + wanted : 0);
    ScanRows to{.keys = out.heads.data() + rows,
                .values = out.words.data() + rows,
                .capacity = static_cast<uint32_t>(wanted),
                .seconds = layout_->two_words() ? out.tails.data() + rows : nullptr};
    if (!cursor.done) keys_->partition().Scan(cursor, ScanBudget{}, to);
    rows += to.rows;
    out.heads.resize(rows);
    out.words.resize(rows);
    if (layout_->two_words()) out.tails.resize(rows);
    out.all = cursor.done;
    if (cursor.done || out.heads.front() != out.heads.back()) break;
    if (!layout_->two_words() && rows > rows_max) break;
  }
  if (rows > rows_max) out.CutBefore(rows_max);
}

absl::Status TablePartition::Body::Extract(uint32_t rows_max, ExchangeChunk& out) {
  if (!keys_) return absl::FailedPreconditionError("the segments of a heap table leave whole");
  if (leaving_ && leaving_->lo != range().lo) {
    return absl::FailedPreconditionError("rows leave as copies from the low end only");
  }
  ExchangeChunk chunk;
  std::vector<RowAt> rows;
  LowRows low;
  Range leaves = range();
  try {  // the copy stands on the general heap, whose only word for "no" is an exception
    // A caller that wants all says so with any number.
    rows_max = static_cast<uint32_t>(std::min<uint64_t>(rows_max, size()));
    if (rows_max > 0) ReadLow(rows_max, low);
    low.all = low.heads.size() == size();
    uint64_t bytes = 0;
    for (size_t i = 0; i < low.heads.size(); ++i) {
      const RowAt at{Segment::Of(low.words[i]), Segment::RowOf(low.words[i])};
      bytes += StringBytesOf(*layout_, at);
      if (i > 0 && bytes > kChunkStringBytes) {
        low.CutBefore(i);
        if (low.heads.size() <= i) break;
      }
      rows.push_back(at);
    }
    rows.resize(low.heads.size());
    if (!low.all) {
      leaves.hi = Key::FromU64(low.heads.empty() ? range().lo.head : low.heads.back() + 1);
    }
    AddVersions(leaves, rows, chunk.rows.deaths);
    chunk.rows.births.reserve(rows.size());
    for (const RowAt& at : rows) {
      chunk.rows.births.push_back(at.segment->versions().BirthOf(at.row));
    }
    chunk.rows.columns.resize(layout_->columns());
    for (uint32_t i = 0; i < layout_->columns(); ++i) {
      if (!CopyColumn(*layout_, i, rows, chunk.rows.columns[i])) {
        return NoMemory(absl::StrCat("extract strings of more than 4 GiB with one first part"));
      }
    }
  } catch (const std::bad_alloc&) {
    return NoMemory(absl::StrCat("extract ", rows_max, " rows"));
  }
  ExchangeChunk index;
  const auto count = static_cast<uint32_t>(low.heads.size());
  if (absl::Status status = keys_->partition().Extract(count, index); !status.ok()) return status;
  ERIS_CHECK(index.keys == low.heads);
  ERIS_CHECK(index.covers == leaves);
  chunk.covers = index.covers;
  chunk.keys = std::move(index.keys);
  chunk.seconds = std::move(index.seconds);
  for (const uint64_t word : low.words) {
    // Nobody sees it here any more: whom it concerns asks where it went.
    Segment::Of(word)->versions().Leave(Segment::RowOf(word));
  }
  DropVersions(leaves);
  ++changes_;
  chunk.versions.lost_before = lost_before_;
  if (leaving_) {
    if (leaving_->hi && *leaving_->hi <= range().lo) {
      CancelExtract().IgnoreError();
    } else {
      leaving_->lo = range().lo;
    }
  }
  out = std::move(chunk);
  return absl::OkStatus();
}

// Throws std::bad_alloc.
void TablePartition::Body::AddVersions(const Range& leaves, std::vector<RowAt>& rows,
                                       std::vector<uint64_t>& deaths) const {
  if (records_ == 0) return;
  for (uint32_t i = 0; i < segments_.size(); ++i) {
    const Segment& segment = *segments_[i];
    if (segment.versions().records() == 0) continue;
    const std::vector<ColumnSource> sources = SourcesOf(segment);
    segment.versions().ForRecords([&](const DeathRecord& record) {
      if (!leaves.ContainsU64(KeyOfRow(*layout_, sources.data(), record.row).head)) return;
      rows.push_back({&segment, record.row});
      deaths.push_back(record.epoch);
    });
  }
}

void TablePartition::Body::DropVersions(const Range& leaves) {
  if (records_ == 0) return;
  for (uint32_t i = 0; i < segments_.size(); ++i) {
    Segment& segment = *segments_[i];
    const uint32_t before = segment.versions().records();
    if (before == 0) continue;
    record_bytes_ -= segment.versions().record_bytes();
    std::array<ColumnSource, kTableColumnsMax> sources;
    for (uint32_t j = 0; j < segment.columns(); ++j) {
      sources[j] = ColumnSource::Of(segment.views()[j]);
    }
    segment.versions().RemoveRecords(records_pool_, [&](const DeathRecord& record) {
      return leaves.ContainsU64(KeyOfRow(*layout_, sources.data(), record.row).head);
    });
    records_ -= before - segment.versions().records();
    record_bytes_ += segment.versions().record_bytes();
  }
}

namespace {

// Whether the buffers are as long as they say.
absl::Status CheckBuffers(const TableLayout& layout, const ExchangeRows& rows, uint64_t count) {
  if (rows.columns.size() != layout.columns() || rows.births.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("a chunk of ", count, " rows with ",
                                                   rows.columns.size(), " columns and ",
                                                   rows.births.size(), " births"));
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

ColumnView ViewOf(const ColumnBuffers& buffers, ColumnType type) {
  ColumnView view{.values = buffers.values.data()};
  if (!buffers.validity.empty()) {
    view.validity = reinterpret_cast<const uint8_t*>(buffers.validity.data());
  }
  if (type == ColumnType::kString) {
    view.offsets = reinterpret_cast<const uint32_t*>(buffers.offsets.data());
  }
  return view;
}

}  // namespace

absl::Status TablePartition::Body::Ingest(const ExchangeChunk& chunk) {
  if (!keys_) return absl::FailedPreconditionError("the segments of a heap table leave whole");
  if (leaving_) {
    return absl::FailedPreconditionError(absl::StrCat(Text(*leaving_), " is being prepared"));
  }
  const uint64_t living = chunk.keys.size();
  const uint64_t count = living + chunk.rows.deaths.size();
  if (absl::Status status = CheckBuffers(*layout_, chunk.rows, count); !status.ok()) return status;
  std::vector<uint64_t> words;
  try {  // as in Extract
    std::vector<ColumnView> views;
    std::vector<ColumnSource> sources;
    for (uint32_t i = 0; i < layout_->columns(); ++i) {
      views.push_back(ViewOf(chunk.rows.columns[i], layout_->column(i).type));
      sources.push_back(ColumnSource::Of(views.back()));
    }
    const RowBatch batch{count, views};
    if (absl::Status status = layout_->Check(batch, false); !status.ok()) return status;
    ExchangeChunk index{chunk.covers, chunk.keys, std::vector<uint64_t>(living)};
    index.seconds = chunk.seconds;
    if (absl::Status status = CheckChunk(index, layout_->two_words()); !status.ok()) return status;
    for (uint64_t i = 0; i < count; ++i) {
      const Key key = KeyOfRow(*layout_, sources.data(), static_cast<uint32_t>(i));
      const bool right = i < living ? key.head == chunk.keys[i] &&
                                          (!layout_->two_words() || key.tail == chunk.seconds[i])
                                    : chunk.covers.ContainsU64(key.head);
      if (!right) {
        return absl::InvalidArgumentError(absl::StrCat("chunk's row ", i, " has another key"));
      }
    }
    if (!Adjacent(chunk.covers, range())) {
      return absl::InvalidArgumentError(
          absl::StrCat("chunk ", Text(chunk.covers), " is not adjacent to ", Text(range())));
    }
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return chunk.rows.births[a] < chunk.rows.births[b];
    });
    words.assign(count, 0);
    if (!records_pool_.Reserve(cache_, static_cast<uint32_t>(chunk.rows.deaths.size())) ||
        !PutChunk(chunk.rows, sources, order, words)) {
      TakeBack(words);
      return NoMemory(absl::StrCat("ingest ", count, " rows"));
    }
    std::copy_n(words.begin(), living, index.values.begin());
    if (absl::Status status = keys_->partition().Ingest(index); !status.ok()) {
      TakeBack(words);
      return status;
    }
    for (uint64_t i = 0; i < count; ++i) {
      Segment& segment = *Segment::Of(words[i]);
      segment.WidenHeads(KeyOfRow(*layout_, sources.data(), static_cast<uint32_t>(i)).head);
      if (i < living) continue;
      const uint32_t row = Segment::RowOf(words[i]);
      const uint32_t bytes = KeptBytes(segment, row);
      segment.versions().Die(row, chunk.rows.deaths[i - living], records_pool_.Take(), bytes);
      ++records_;
      record_bytes_ += bytes;
      ++recorded_;
      ++changes_;
    }
  } catch (const std::bad_alloc&) {
    TakeBack(words);
    return NoMemory(absl::StrCat("ingest ", count, " rows"));
  }
  lost_before_ = std::max(lost_before_, chunk.versions.lost_before);
  return absl::OkStatus();
}

// Appends the rows in the order of their births. False: no memory; those with a word are there.
bool TablePartition::Body::PutChunk(const ExchangeRows& rows, std::span<const ColumnSource> sources,
                                    const std::vector<uint32_t>& order,
                                    std::vector<uint64_t>& words) {
  for (size_t begin = 0; begin < order.size();) {
    const uint64_t birth = rows.births[order[begin]];
    const size_t most = std::min<size_t>({kPieceRows, order.size() - begin, Room(kStays)});
    size_t end = begin + 1;
    while (end < begin + most && rows.births[order[end]] == birth) ++end;
    const auto count = static_cast<uint32_t>(end - begin);
    Segment* const segment =
        Put(sources, RowPick::Of(order.data() + begin, count), kStays, snapshots(), birth);
    if (segment == nullptr) return false;
    for (uint32_t i = 0; i < count; ++i) {
      words[order[begin + i]] = segment->WordOf(segment->rows() + i);
    }
    Commit(*segment, count, snapshots(), birth);
    begin = end;
  }
  return true;
}

void TablePartition::Body::TakeBack(const std::vector<uint64_t>& words) {
  for (const uint64_t word : words) {
    if (word != 0) Segment::Of(word)->versions().Leave(Segment::RowOf(word));
  }
  ++changes_;
}

}  // namespace eris::storage
