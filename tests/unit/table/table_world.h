// A partition of a clustered table beside its model: for now and for each snapshot that is held a
// map from key to row. Every step is a turn of an AEU: the epoch and the held snapshots are read,
// then something is done. Scans that are under way go on between other steps.
#ifndef ERIS_TESTS_UNIT_TABLE_TABLE_WORLD_H_
#define ERIS_TESTS_UNIT_TABLE_TABLE_WORLD_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/byte_value.h"
#include "storage/table/output_columns.h"
#include "storage/table/table_partition.h"
#include "tests/unit/storage/storage_fixture.h"
#include "tests/unit/table/table_rows.h"

namespace eris::storage {

using TableModel = std::map<Key, Row>;

class HeapSink final : public BytesSink {
 public:
  std::byte* Take(size_t, size_t wanted, size_t& given) override {
    if (refuses) return nullptr;
    given = wanted;
    pieces_.push_back(std::make_unique<std::byte[]>(wanted));
    return pieces_.back().get();
  }
  bool refuses = false;

 private:
  std::vector<std::unique_ptr<std::byte[]>> pieces_;
};

class TableWorld {
 public:
  TableWorld(const Schema& schema, uint64_t seed, uint64_t limit_bytes = uint64_t{1} << 30)
      : memory(limit_bytes), random(seed) {
    layout = *TableLayout::Create(schema);
    partition = *TablePartition::Create(Range{}, memory.cache, layout);
    partition->SetSnapshots(&view);
  }

  // --- snapshots

  struct Held {
    uint64_t epoch;
    TableModel rows;
  };
  struct Scan {
    uint64_t epoch;
    uint64_t number = 0;
    uint32_t row = 0;
    TableModel seen{};
    SegmentMask mask{};  // kept from call to call, whatever is written meanwhile
  };

  void BeginTurn() {
    view.epoch = epoch;
    view.active.clear();
    for (const Held& each : held) view.active.push_back(each.epoch);
  }
  void TakeSnapshot() { held.push_back({epoch++, model}); }
  void ReleaseSnapshot(size_t i) {
    const uint64_t s = held[i].epoch;
    std::erase_if(scans, [&](const Scan& scan) { return scan.epoch == s; });
    held.erase(held.begin() + static_cast<ptrdiff_t>(i));
  }

  // --- rows

  Row RandomRow(uint64_t keys) {
    Row row;
    for (const ColumnSchema& column : layout->schema().columns) {
      row.push_back(RandomCell(column.type, column.nullable, random));
    }
    // Few enough that keys come again.
    for (const uint32_t column : layout->schema().key) {
      const uint64_t few = random() % keys;
      switch (layout->column(column).type) {
        case ColumnType::kInt32:
        case ColumnType::kDate:
          row[column] = CellOf(static_cast<int32_t>(few) - 20);
          break;
        case ColumnType::kFloat64:
          row[column] = CellOf(static_cast<double>(few) - 20.5);
          break;
        default:
          row[column] = CellOf(static_cast<int64_t>(few) - (random() % 4 == 0 ? 0 : 20));
          break;
      }
    }
    return row;
  }
  std::vector<Row> RandomRows(size_t count, uint64_t keys) {
    std::vector<Row> rows;
    for (size_t i = 0; i < count; ++i) rows.push_back(RandomRow(keys));
    return rows;
  }

  // Positions are in order or, now and then, not.
  std::vector<uint32_t> Positions(size_t count) {
    std::vector<uint32_t> positions(count);
    for (uint32_t i = 0; i < count; ++i) positions[i] = i;
    if (random() % 4 == 0) std::shuffle(positions.begin(), positions.end(), random);
    return positions;
  }
  struct Keys {
    std::vector<uint64_t> heads;
    std::vector<uint64_t> tails;
  };
  Keys InOrder(const RowColumns& columns, const std::vector<uint32_t>& positions) {
    Keys keys;
    for (const uint32_t at : positions) {
      keys.heads.push_back(columns.key(at).head);
      keys.tails.push_back(columns.key(at).tail);
    }
    return keys;
  }

  // How many rows were refused.
  size_t Put(const std::vector<Row>& rows) { return PutTo(*partition, rows); }
  size_t PutTo(TablePartition& table, const std::vector<Row>& rows) {
    EXPECT_TRUE(layout->Check(RowColumns(*layout, rows).batch(), false).ok());
    return WriteTo(table, Operation::kPutRows, rows, [&](const Key& key, const Row& row) {
      return !model.insert_or_assign(key, row).second;
    });
  }
  size_t Erase(const std::vector<Row>& rows) { return EraseFrom(*partition, rows); }
  size_t EraseFrom(TablePartition& table, const std::vector<Row>& rows) {
    return WriteTo(table, Operation::kErase, rows,
                   [&](const Key& key, const Row&) { return model.erase(key) > 0; });
  }
  // change(key, row): does the same to the model; whether the key was there.
  template <class Change>
  size_t WriteTo(TablePartition& table, Operation operation, const std::vector<Row>& rows,
                 Change change) {
    BeginTurn();
    const RowColumns columns(*layout, rows);
    const std::vector<uint32_t> positions = Positions(rows.size());
    const Keys keys = InOrder(columns, positions);
    std::vector<KeyState> states(rows.size());
    const BatchPart part{.count = static_cast<uint32_t>(rows.size()),
                         .keys = keys.heads.data(),
                         .positions = positions.data(),
                         .states_out = states.data(),
                         .seconds = layout->two_words() ? keys.tails.data() : nullptr,
                         .rows = operation == Operation::kPutRows ? &columns.batch() : nullptr};
    table.Execute(Batch{.operation = operation, .parts = {&part, 1}, .snapshots = &view});
    size_t refused = 0;
    for (const uint32_t at : positions) {
      if (states[at] == KeyState::kNoMemory) {
        ++refused;
        continue;
      }
      const bool was = change(columns.key(at), rows[at]);
      EXPECT_EQ(states[at], was ? KeyState::kPresent : KeyState::kAbsent);
    }
    return refused;
  }

  // Looks keys up, all columns in some order.
  void Lookup(const std::vector<Row>& rows, bool room = true) { LookupIn(*partition, rows, room); }
  void LookupIn(TablePartition& table, const std::vector<Row>& rows, bool room = true) {
    BeginTurn();
    const RowColumns columns(*layout, rows);
    const std::vector<uint32_t> positions = Positions(rows.size());
    const Keys keys = InOrder(columns, positions);
    std::vector<KeyState> states(rows.size());
    std::vector<std::string> values;
    std::vector<std::vector<uint8_t>> valid;
    std::vector<OutputColumn> outputs;
    for (uint32_t c = 0; c < layout->columns(); ++c) {
      values.emplace_back(rows.size() * 8, '\x55');
      valid.emplace_back(rows.size(), uint8_t{7});
    }
    for (uint32_t c = 0; c < layout->columns(); ++c) {
      outputs.push_back({c, values[c].data(), valid[c].data()});
    }
    std::shuffle(outputs.begin(), outputs.end(), random);
    const OutputColumns output{outputs};
    HeapSink sink;
    sink.refuses = !room;
    const BatchPart part{.count = static_cast<uint32_t>(rows.size()),
                         .keys = keys.heads.data(),
                         .positions = positions.data(),
                         .states_out = states.data(),
                         .seconds = layout->two_words() ? keys.tails.data() : nullptr,
                         .bytes_out = &sink,
                         .columns_out = &output};
    table.Execute(
        Batch{.operation = Operation::kLookupRows, .parts = {&part, 1}, .snapshots = &view});
    for (size_t at = 0; at < rows.size(); ++at) {
      const auto found = model.find(columns.key(at));
      if (found == model.end()) {
        ASSERT_EQ(states[at], KeyState::kAbsent);
      } else if (states[at] == KeyState::kNoRoom) {
        ASSERT_FALSE(room);
        continue;
      } else {
        ASSERT_EQ(states[at], KeyState::kPresent);
      }
      for (uint32_t c = 0; c < layout->columns(); ++c) {
        const Cell expected = found == model.end() ? Cell() : found->second[c];
        ASSERT_EQ(valid[c][at], expected ? 1 : 0);
        if (!expected) continue;
        const uint32_t width = ColumnValueBytes(layout->column(c).type);
        if (width == 0) {
          uint64_t word;
          std::memcpy(&word, values[c].data() + at * 8, 8);
          const absl::string_view text = BytesOf(word);
          ASSERT_EQ(std::string(text.data(), text.size()), *expected);
        } else {
          ASSERT_EQ(values[c].substr(at * width, width), *expected);
        }
      }
    }
  }

  // --- scans

  // Reads `rows_max` rows of the scan at most. True: it is at its end.
  bool Advance(Scan& scan, uint32_t rows_max) { return Advance(*partition, scan, rows_max); }
  bool Advance(const TablePartition& table, Scan& scan, uint32_t rows_max) {
    EXPECT_TRUE(scan.mask.Allocate());
    while (rows_max > 0) {
      uint64_t number = scan.number;
      SegmentView segment;
      if (!table.FindSegment(scan.epoch, number, scan.mask, segment)) return true;
      EXPECT_LT(number, table.segment_end());
      if (number != scan.number) scan.row = 0;
      scan.number = number;
      for (; scan.row < segment.rows && rows_max > 0; ++scan.row, --rows_max) {
        const uint32_t row = scan.row;
        if (segment.kept != nullptr) scan.mask.Make(row);
        if (segment.kept != nullptr && (segment.kept[row / 64] >> row % 64 & 1) == 0) continue;
        const Row read = ReadRow(segment, row);
        for (size_t c = 0; c < read.size(); ++c) {
          if (!WithinBounds(segment.columns[c], read[c])) ++out_of_bounds;
          const uint32_t nulls = segment.columns[c].nulls;
          if (read[c] ? nulls >= segment.ever : nulls == 0) ++out_of_bounds;
        }
        if (!scan.seen.emplace(KeyIn(*layout, segment, row), read).second) ++twice;
      }
      if (segment.kept != nullptr && segment.rows % 64 != 0) {
        scan.mask.Make(segment.rows - 1);
        EXPECT_EQ(segment.kept[segment.rows / 64] >> segment.rows % 64, 0u);
      }
      if (scan.row < segment.rows) return false;
      ++scan.number;
      scan.row = 0;
    }
    return false;
  }
  // What is wrong with the rows that a whole scan sees; empty: nothing.
  std::string Difference(uint64_t snapshot, const TableModel& expected) {
    Scan scan{snapshot};
    while (!Advance(scan, 1u << 30)) {
    }
    return Difference(scan, expected);
  }
  std::string Difference(const Scan& scan, const TableModel& expected) {
    if (twice > 0) return "a row came twice";
    if (out_of_bounds > 0) return "a value lies outside the bounds of its segment";
    if (scan.seen == expected) return "";
    return "snapshot " + std::to_string(scan.epoch) + ": " + std::to_string(scan.seen.size()) +
           " rows seen, " + std::to_string(expected.size()) + " there, or other values";
  }
  // Compares the current rows and those of all held snapshots.
  std::string Differences() {
    if (partition->size() != model.size()) return "the size is wrong";
    std::string wrong = Difference(0, model);
    for (size_t i = 0; i < held.size() && wrong.empty(); ++i) {
      if (!partition->Lost(held[i].epoch)) wrong = Difference(held[i].epoch, held[i].rows);
    }
    return wrong;
  }

  // Compares several partitions as one table. A partition that does not own a lent row's key still
  // shows the row: so current rows count where they are owned, rows of snapshots in any partition.
  std::string Differences(const std::vector<const TablePartition*>& parts) {
    const auto owned = [&](const Key& key) {
      return std::any_of(parts.begin(), parts.end(), [&](const TablePartition* part) {
        return part->range().ContainsU64(key.head);
      });
    };
    uint64_t size = 0;
    Scan now{0};
    for (const TablePartition* part : parts) {
      size += part->size();
      Scan here{0};
      while (!Advance(*part, here, 1u << 30)) {
      }
      std::erase_if(here.seen,
                    [&](const auto& row) { return !part->range().ContainsU64(row.first.head); });
      if (here.seen.size() != part->size()) return "the size is wrong";
      for (auto& row : here.seen) {
        if (!now.seen.insert(row).second) ++twice;
      }
    }
    TableModel of_now = model;
    std::erase_if(of_now, [&](const auto& row) { return !owned(row.first); });
    if (size != of_now.size()) return "the size is wrong";
    std::string wrong = Difference(now, of_now);
    for (size_t i = 0; i < held.size() && wrong.empty(); ++i) {
      Scan scan{held[i].epoch};
      for (const TablePartition* part : parts) {
        if (part->Lost(held[i].epoch)) return "a snapshot is lost";
        scan.number = 0;
        scan.row = 0;
        while (!Advance(*part, scan, 1u << 30)) {
        }
      }
      wrong = Difference(scan, held[i].rows);
    }
    return wrong;
  }

  TreeMemory memory;
  Random random;
  std::shared_ptr<const TableLayout> layout;
  std::unique_ptr<TablePartition> partition;
  SnapshotView view;
  uint64_t epoch = 1;
  TableModel model;
  std::vector<Held> held;
  std::vector<Scan> scans;
  uint64_t twice = 0;
  uint64_t out_of_bounds = 0;
};

// A schema with all types, nullable where that may be, and a key of these types before.
inline Schema AllTypes(const std::vector<ColumnType>& key) {
  Schema schema;
  const auto add = [&](ColumnType type, bool nullable) {
    schema.columns.push_back({.name = "c" + std::to_string(schema.columns.size()),
                              .type = type,
                              .scale = static_cast<uint8_t>(type == ColumnType::kDecimal ? 2 : 0),
                              .nullable = nullable});
  };
  add(ColumnType::kString, true);
  for (const ColumnType type : key) {
    schema.key.push_back(static_cast<uint32_t>(schema.columns.size()));
    add(type, false);
  }
  for (const ColumnType type :
       {ColumnType::kInt32, ColumnType::kInt64, ColumnType::kUint64, ColumnType::kFloat64,
        ColumnType::kDate, ColumnType::kDecimal, ColumnType::kTimestamp}) {
    add(type, true);
  }
  add(ColumnType::kString, false);
  return schema;
}

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_TABLE_TABLE_WORLD_H_
