// The object whose ranges the balancer's benchmarks copy: rows with keys from 0 on, in an object of
// any kind. One thread at a time.
#ifndef ERIS_BENCH_BALANCER_LAB_OBJECT_H_
#define ERIS_BENCH_BALANCER_LAB_OBJECT_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/must.h"
#include "eris/engine.h"

namespace eris::bench {

struct LabShape {
  std::string kind = "index";  // index, two_part, bytes, hash, table, heap
  uint64_t rows = 0;
  // Columns of a table, all numbers, including the key.
  uint32_t columns = 8;
  // Bytes of a string: for byte strings of the values; for tables of one more column, 0: none.
  uint32_t string = 0;
  // Every second string is one of eight. Otherwise all differ.
  bool alike = false;

  bool is_table() const { return kind == "table" || kind == "heap"; }
};
inline const std::vector<std::string> kLabKinds = {"index", "two_part", "bytes",
                                                   "hash",  "table",    "heap"};

class LabObject {
 public:
  static constexpr char kName[] = "rows";

  explicit LabObject(const LabShape& shape) : shape_(shape) {}

  // If empty: the first half of the keys belongs to AEU 0, the second half to AEU 1.
  void Create(Engine& engine, Session& session) {
    CreateOptions options{.schema = SchemaOf()};
    if (shape_.kind == "hash") options.kind = ObjectKind::kHash;
    if (shape_.kind == "table") options.kind = ObjectKind::kTable;
    if (shape_.kind == "heap") {
      options.kind = ObjectKind::kHeapTable;
    } else {
      options.split_points = {shape_.rows / 2};
    }
    Must(engine.Create(kName, options));
    object_ = Must(session.Open(kName));
  }
  const Object& object() const { return object_; }

  // Writes all rows, or some of them.
  void Fill(Session& session) { Fill(session, 0, shape_.rows); }
  void Fill(Session& session, uint64_t first, uint64_t end) {
    const bool heap = shape_.kind == "heap";
    const uint64_t row_bytes = (shape_.is_table() ? 8 * shape_.columns : 16) + shape_.string;
    const uint64_t most = std::clamp<uint64_t>((8u << 20) / row_bytes, 1, heap ? 1024 : 65536);
    for (; first < end; first += most) {
      const RowBatch rows = RowsOf(first, std::min(end, first + most));
      Must(session
               .Write(object_,
                      {.mode = heap ? WriteMode::kAppend : WriteMode::kUpsert, .rows = rows})
               .status);
      // Each append is a piece, and the AEUs take turns: nearly all rows go to one of them.
      if (heap)
        Must(
            session.Write(object_, {.mode = WriteMode::kAppend, .rows = {1, rows.columns}}).status);
    }
  }
  void Erase(Session& session) {
    constexpr uint64_t kBatch = 65536;
    for (uint64_t first = 0; first < shape_.rows; first += kBatch) {
      RowBatch rows = RowsOf(first, std::min(shape_.rows, first + kBatch));
      rows.columns = rows.columns.first(object_.schema().key.size());
      Must(session.Write(object_, {.mode = WriteMode::kErase, .rows = rows}).status);
    }
  }

 private:
  static constexpr uint64_t kSecondParts = 4;  // rows of a first part

  // Adjacent values look unrelated, and all values differ.
  static uint64_t ValueOf(uint64_t row) { return row * 0x9e3779b97f4a7c15; }

  Schema SchemaOf() const {
    if (shape_.kind == "two_part")
      return KeyValueSchema({ColumnType::kUint64, ColumnType::kUint64});
    if (shape_.kind == "bytes") return KeyValueSchema({}, ColumnType::kBytes);
    if (!shape_.is_table()) return KeyValueSchema();
    Schema schema{.columns = {{.name = "key", .type = ColumnType::kUint64}}};
    if (shape_.kind == "table") schema.key = {0};
    for (uint32_t i = 1; i < shape_.columns; ++i) {
      schema.columns.push_back({.name = absl::StrCat("c", i), .type = ColumnType::kUint64});
    }
    if (shape_.string > 0) schema.columns.push_back({.name = "text", .type = ColumnType::kString});
    return schema;
  }

  // Valid until the next call.
  RowBatch RowsOf(uint64_t first, uint64_t end) {
    const bool two_parts = shape_.kind == "two_part";
    keys_.clear(), seconds_.clear(), numbers_.clear(), text_.clear();
    offsets_.assign(1, 0);
    for (uint64_t row = first; row < end; ++row) {
      keys_.push_back(two_parts ? row / kSecondParts * kSecondParts : row);
      seconds_.push_back(row % kSecondParts);
      numbers_.push_back(ValueOf(row));
      const size_t end_of_text = text_.size() + shape_.string;
      while (text_.size() < end_of_text) {
        absl::StrAppend(&text_, ValueOf(shape_.alike && row % 2 == 0 ? row % 16 : row));
      }
      text_.resize(end_of_text);
      offsets_.push_back(static_cast<uint32_t>(end_of_text));
    }
    views_ = {{.values = keys_.data()}};
    if (two_parts) views_.push_back({.values = seconds_.data()});
    for (size_t i = views_.size(); i < object_.schema().columns.size(); ++i) {
      if (IsByteString(object_.schema().columns[i].type)) {
        views_.push_back({.values = text_.data(), .offsets = offsets_.data()});
      } else {
        views_.push_back({.values = numbers_.data()});
      }
    }
    return {end - first, views_};
  }

  const LabShape shape_;
  Object object_;
  std::vector<uint64_t> keys_, seconds_, numbers_;
  std::string text_;
  std::vector<uint32_t> offsets_;
  std::vector<ColumnView> views_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_BALANCER_LAB_OBJECT_H_
