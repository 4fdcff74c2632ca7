// Columns of random values on huge pages, as segments: a table without a partition.
#ifndef ERIS_BENCH_TABLE_LAB_TABLE_H_
#define ERIS_BENCH_TABLE_LAB_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/routing/huge_buffer.h"
#include "bench/routing/machine.h"
#include "storage/table/plan/table_plan.h"
#include "storage/table/query/table_run.h"
#include "storage/table/rows/segment_view.h"
#include "storage/table/rows/table_layout.h"

namespace eris::bench {

// Fast, and good enough for unpredictable values.
class LabRandom {
 public:
  explicit LabRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    state_ += 0x9e37'79b9'7f4a'7c15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
    z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
    return z ^ (z >> 31);
  }
  uint64_t Below(uint64_t n) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>((Wide{Next()} * n) >> 64);
  }

 private:
  uint64_t state_;
};

class LabTable {
 public:
  explicit LabTable(uint64_t rows) : rows_(rows) {}

  // `value(row)` is called in row order. Bounds are kept per segment, as in partitions;
  // `tell_bounds` passes them to plans.
  template <class T, class Value>
  void Add(const std::string& name, ColumnType type, uint8_t scale, bool tell_bounds, Value value) {
    Column column{.buffer = std::make_unique<HugeBuffer>(rows_ * sizeof(T) + 64)};
    T* const to = reinterpret_cast<T*>(column.buffer->data());
    const uint64_t segments = (rows_ + storage::kSegmentRows - 1) / storage::kSegmentRows;
    column.bounds.resize(segments);
    for (uint64_t i = 0; i < rows_; ++i) {
      const T one = value(i);
      to[i] = one;
      auto& bounds = column.bounds[i / storage::kSegmentRows];
      const auto wide = static_cast<int64_t>(one);
      const bool first = i % storage::kSegmentRows == 0;
      if constexpr (std::is_same_v<T, uint64_t>) {
        bounds.min.u64 = first ? one : std::min<uint64_t>(bounds.min.u64, one);
        bounds.max.u64 = first ? one : std::max<uint64_t>(bounds.max.u64, one);
      } else {
        bounds.min.i64 = first ? wide : std::min(bounds.min.i64, wide);
        bounds.max.i64 = first ? wide : std::max(bounds.max.i64, wide);
      }
    }
    column.type = type;
    column.width = sizeof(T);
    column.tell_bounds = tell_bounds;
    schema_.columns.push_back({name, type, scale, false});
    columns_.push_back(std::move(column));
  }
  // Codes into `texts`.
  template <class Value>
  void AddStrings(const std::string& name, const std::vector<std::string>& texts, Value value) {
    Add<uint16_t>(name, ColumnType::kString, 0, false, value);
    auto dictionary = std::make_unique<Dictionary>();
    dictionary->offsets.push_back(0);
    for (const std::string& text : texts) {
      dictionary->bytes += text;
      dictionary->offsets.push_back(static_cast<uint32_t>(dictionary->bytes.size()));
    }
    dictionary->view = {static_cast<uint32_t>(texts.size()), dictionary->offsets.data(),
                        dictionary->bytes.data()};
    columns_.back().dictionary = std::move(dictionary);
  }

  uint64_t rows() const { return rows_; }
  const Schema& schema() const { return schema_; }
  const std::byte* data(size_t column) const { return columns_[column].buffer->data(); }

  // Calls what(view) for each segment in turn.
  template <class What>
  void ForSegments(What what) const {
    std::vector<storage::SegmentColumn> columns(columns_.size());
    for (uint64_t first = 0; first < rows_; first += storage::kSegmentRows) {
      for (size_t c = 0; c < columns_.size(); ++c) {
        const Column& column = columns_[c];
        columns[c] = {
            .type = column.type,
            .values = column.buffer->data() + first * column.width,
            .dictionary = column.dictionary != nullptr ? &column.dictionary->view : nullptr,
            .bounds = column.tell_bounds ? &column.bounds[first / storage::kSegmentRows] : nullptr};
      }
      what(storage::SegmentView{
          .rows = static_cast<uint32_t>(std::min<uint64_t>(storage::kSegmentRows, rows_ - first)),
          .columns = columns});
    }
  }

 private:
  struct Dictionary {
    std::vector<uint32_t> offsets;
    std::string bytes;
    storage::DictionaryView view;
  };
  struct Column {
    std::unique_ptr<HugeBuffer> buffer{};
    std::vector<storage::SegmentColumn::Bounds> bounds{};
    std::unique_ptr<Dictionary> dictionary{};
    ColumnType type = ColumnType::kInt64;
    size_t width = 8;
    bool tell_bounds = false;
  };

  const uint64_t rows_;
  Schema schema_;
  std::vector<Column> columns_;
};

// Queries of one table that share a pass, block by block.
class LabPass {
 public:
  LabPass(const LabTable& table, const std::vector<Query>& queries) : table_(table) {
    auto layout = storage::TableLayout::Create(table.schema());
    if (!layout.ok()) Die(layout.status().ToString());
    for (const Query& query : queries) {
      auto plan = storage::TablePlan::Create((*layout)->schema().columns, query);
      if (!plan.ok()) Die(plan.status().ToString());
      plans_.push_back(*plan);
    }
  }

  // Seconds of one pass; the answers are available after it.
  double Run() {
    runs_.clear();
    for (const auto& plan : plans_) {
      auto run = storage::TableRun::Create(plan);
      if (!run.ok()) Die(run.status().ToString());
      runs_.push_back(*std::move(run));
    }
    const uint64_t begin_ns = NowNs();
    std::vector<storage::TableRun*> active;
    table_.ForSegments([&](const storage::SegmentView& view) {
      active.clear();
      for (const auto& run : runs_) {
        if (run->BeginSegment(view)) active.push_back(run.get());
      }
      for (uint32_t i = 0; i < active.size(); ++i) {
        active[i]->Ride(i, static_cast<uint32_t>(active.size()));
      }
      for (uint32_t base = 0; base < view.rows; base += storage::kBlockRows) {
        for (storage::TableRun* const run : active) {
          uint32_t at = base;
          if (run->RunBlock(at, nullptr) == storage::TableRun::Outcome::kError) {
            Die(run->status().ToString());
          }
        }
      }
    });
    return static_cast<double>(NowNs() - begin_ns) * 1e-9;
  }

 private:
  const LabTable& table_;
  std::vector<std::shared_ptr<const storage::TablePlan>> plans_;
  std::vector<std::unique_ptr<storage::TableRun>> runs_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_TABLE_LAB_TABLE_H_
