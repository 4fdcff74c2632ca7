// Reading a table's rows: by key, into reply columns, and segment by segment for scans.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "storage/byte_value.h"
#include "storage/table/table_body.h"

namespace eris::storage {
namespace {

// The strings of one group of answers, in one piece of the request's reply memory.
class StringRoom {
 public:
  StringRoom(BytesSink* sink, size_t wanted) {
    if (sink != nullptr && wanted > 0) at_ = sink->Take(1, wanted, left_);
  }
  // False: there is no room.
  bool Put(absl::string_view text, uint64_t& word) {
    if (text.size() <= kShortBytesMax) {
      word = ShortWord(text);
      return true;
    }
    const size_t needed = RecordBytes(text.size());
    if (needed > left_) return false;
    word = WriteRecord(at_, text);
    at_ += needed;
    left_ -= needed;
    copied_ += text.size();
    return true;
  }
  uint64_t copied() const { return copied_; }

 private:
  std::byte* at_ = nullptr;
  size_t left_ = 0;
  uint64_t copied_ = 0;
};

struct Found {
  uint32_t count = 0;
  const uint64_t* words = nullptr;
  KeyState* states = nullptr;
  const uint32_t* rows = nullptr;  // in the output columns

  bool present(uint32_t i) const { return states[i] == KeyState::kPresent; }
  ColumnSource Source(uint32_t i, uint32_t column) const {
    return ColumnSource::Of(Segment::Of(words[i])->views()[column]);
  }
};

template <class T>
void Answer(const Found& found, const OutputColumn& out) {
  constexpr uint32_t kAhead = 8;
  T* const values = static_cast<T*>(out.values);
  for (uint32_t i = 0; i < found.count; ++i) {
    if (i + kAhead < found.count && found.present(i + kAhead)) {
      const uint64_t word = found.words[i + kAhead];
      const SegmentColumn& column = Segment::Of(word)->views()[out.column];
      __builtin_prefetch(static_cast<const T*>(column.values) + Segment::RowOf(word));
    }
    const uint32_t position = found.rows[i];
    values[position] = T{};
    out.valid[position] = 0;
    if (!found.present(i)) continue;
    const ColumnSource source = found.Source(i, out.column);
    const uint32_t row = Segment::RowOf(found.words[i]);
    if (source.IsNull(row)) continue;
    values[position] = source.At<T>(row);
    out.valid[position] = 1;
  }
}

// Answers kNoRoom for a row whose strings have no room.
uint64_t AnswerStrings(const Found& found, std::span<const OutputColumn> columns,
                       const TableLayout& layout, BytesSink* sink) {
  size_t wanted = 0;
  const auto each = [&](auto function) {
    for (const OutputColumn& out : columns) {
      if (IsByteString(layout.column(out.column).type)) function(out);
    }
  };
  each([&](const OutputColumn& out) {
    for (uint32_t i = 0; i < found.count; ++i) {
      if (!found.present(i)) continue;
      const ColumnSource source = found.Source(i, out.column);
      const uint32_t row = Segment::RowOf(found.words[i]);
      if (!source.IsNull(row)) wanted += LongRecordBytes(source.StringAt(row).size());
    }
  });
  StringRoom room(sink, wanted);
  each([&](const OutputColumn& out) {
    auto* const values = static_cast<uint64_t*>(out.values);
    for (uint32_t i = 0; i < found.count; ++i) {
      const uint32_t position = found.rows[i];
      values[position] = ShortWord({});
      out.valid[position] = 0;
      if (!found.present(i)) continue;
      const ColumnSource source = found.Source(i, out.column);
      const uint32_t row = Segment::RowOf(found.words[i]);
      if (source.IsNull(row)) continue;
      if (room.Put(source.StringAt(row), values[position])) {
        out.valid[position] = 1;
      } else {
        found.states[i] = KeyState::kNoRoom;
      }
    }
  });
  return room.copied();
}

}  // namespace

void TablePartition::Body::LookupRows(const BatchPart& part, uint64_t& copied) {
  const std::span<const OutputColumn> columns = part.columns_out->columns;
  for (uint32_t begin = 0; begin < part.count; begin += kPieceRows) {
    const uint32_t count = std::min(kPieceRows, part.count - begin);
    uint64_t words[kPieceRows];
    KeyState states[kPieceRows];
    keys_->Find(
        {count, part.keys + begin, part.seconds == nullptr ? nullptr : part.seconds + begin}, words,
        states);
    uint32_t rows[kPieceRows];
    for (uint32_t i = 0; i < count; ++i) rows[i] = part.RowOf(begin + i);
    const Found found{count, words, states, rows};
    // Strings first: a row whose strings are refused gets no other columns.
    copied += AnswerStrings(found, columns, *layout_, part.bytes_out);
    for (const OutputColumn& out : columns) {
      switch (ColumnValueBytes(layout_->column(out.column).type)) {
        case 4:
          Answer<uint32_t>(found, out);
          break;
        case 8:
          Answer<uint64_t>(found, out);
          break;
        default:  // strings
          break;
      }
    }
    copied += uint64_t{count} * sizeof(uint64_t) * columns.size();
    for (uint32_t i = 0; i < count; ++i) part.state(begin + i) = states[i];
  }
}

bool TablePartition::Body::FindSegment(uint64_t snapshot, uint64_t& number, SegmentMask& mask,
                                       SegmentView& view) const {
  if (snapshot == 0) snapshot = SegmentMask::kNow;
  for (uint32_t i = segments_.LowerBound(number); i < segments_.size(); ++i) {
    const Segment& segment = *segments_[i];
    const RowVersions& versions = segment.versions();
    const uint32_t rows = versions.RowsAt(snapshot, segment.rows());
    // Dead rows are visible as long as they have records.
    if (rows == 0 || (segment.live() == 0 && versions.records() == 0)) continue;
    number = segment.number();
    view = {.rows = rows, .columns = segment.views(), .ever = segment.rows(), .id = segment.id()};
    if (versions.dead() > 0) {
      mask.Begin(segment.id(), versions, snapshot, rows);
      view.kept = mask.words();
    }
    return true;
  }
  return false;
}

}  // namespace eris::storage
