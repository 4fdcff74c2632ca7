// Random rows as segments and as plain values, and result memory: what the tests of plans and runs
// share.
#ifndef ERIS_TESTS_UNIT_TABLE_QUERY_WORLD_H_
#define ERIS_TESTS_UNIT_TABLE_QUERY_WORLD_H_

#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/cache_line.h"
#include "storage/table/query/result_rows.h"
#include "storage/table/rows/segment_view.h"
#include "tests/unit/table/query_oracle.h"

namespace eris::storage {

using QueryRandom = std::mt19937_64;

// Aligned as columns are, and exactly as long, so that the address sanitizer sees reads behind.
class ColumnMemory {
 public:
  explicit ColumnMemory(size_t bytes)
      : bytes_(base::RoundUp(std::max<size_t>(bytes, 1), 64)),
        data_(static_cast<std::byte*>(::operator new (bytes_, std::align_val_t{64}))) {
    std::memset(data_, 0x6b, bytes_);
  }
  ~ColumnMemory() { ::operator delete (data_, std::align_val_t{64}); }
  ColumnMemory(const ColumnMemory&) = delete;
  ColumnMemory& operator=(const ColumnMemory&) = delete;
  template <class T>
  T* As() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  const size_t bytes_;
  std::byte* const data_;
};

inline const Schema& QuerySchema() {
  static const Schema schema{.columns = {
                                 {"i32", ColumnType::kInt32},
                                 {"i32n", ColumnType::kInt32, 0, true},
                                 {"i64", ColumnType::kInt64},
                                 {"u64", ColumnType::kUint64},
                                 {"f64", ColumnType::kFloat64},
                                 {"f64n", ColumnType::kFloat64, 0, true},
                                 {"date", ColumnType::kDate},
                                 {"dec2", ColumnType::kDecimal, 2},
                                 {"dec4n", ColumnType::kDecimal, 4, true},
                                 {"few", ColumnType::kString, 0, true},
                                 {"text", ColumnType::kString, 0, true},
                                 {"u64n", ColumnType::kUint64, 0, true},
                                 {"daten", ColumnType::kDate, 0, true},
                                 {"utf", ColumnType::kString, 0, true},
                                 {"i64n", ColumnType::kInt64, 0, true},
                                 {"dec18", ColumnType::kDecimal, 18},
                                 {"some", ColumnType::kString},
                                 {"i32m", ColumnType::kInt32},
                             }};
  return schema;
}

// How far a segment's numbers reach: near ones let arithmetic go unchecked.
enum class Spread { kNear, kFar, kExtreme };

// One segment's rows, twice.
class QuerySegment {
 public:
  QuerySegment(QueryRandom& random, uint32_t rows, Spread spread, bool with_bounds, bool some_dead)
      : rows_(rows) {
    const auto& columns = QuerySchema().columns;
    later_ = static_cast<uint32_t>(random() % 2);
    later_nulls_ = later_ == 0 ? 0 : static_cast<uint32_t>(random() % 2);
    // Some nullable columns have no nulls, some have nothing else.
    for (size_t c = 0; c < columns.size(); ++c) nullness_.push_back(random() % 6);
    values_.resize(rows);
    segment_columns_.resize(columns.size());
    bounds_.resize(columns.size());
    dictionaries_.resize(columns.size());
    with_dictionaries_ = random() % 2 == 0;
    for (size_t c = 0; c < columns.size(); ++c) {
      for (uint32_t i = 0; i < rows; ++i) {
        values_[i].push_back(OneValue(random, columns[c], spread));
        if (!columns[c].nullable || nullness_[c] > 1) continue;
        OracleValue& value = values_[i].back();
        value = OracleValue{.type = value.type, .scale = value.scale};
        value.null = nullness_[c] == 1;
      }
      Store(c, with_bounds);
    }
    counts_.assign(rows, true);
    for (uint32_t i = 0; i < rows && some_dead; ++i) counts_[i] = random() % 4 != 0;
    MakeView(with_bounds, some_dead);
  }
  // Rows that all count, with bounds; strings with or without dictionaries, but for `few`.
  QuerySegment(std::vector<QueryOracle::Row> rows, bool with_dictionaries)
      : rows_(static_cast<uint32_t>(rows.size())),
        values_(std::move(rows)),
        with_dictionaries_(with_dictionaries) {
    const size_t columns = QuerySchema().columns.size();
    segment_columns_.resize(columns);
    bounds_.resize(columns);
    dictionaries_.resize(columns);
    for (size_t c = 0; c < columns; ++c) Store(c, true);
    counts_.assign(rows_, true);
    MakeView(true, false);
  }

  const SegmentView& view() const { return view_; }
  uint32_t rows() const { return rows_; }
  bool counts(uint32_t row) const { return counts_[row]; }
  const QueryOracle::Row& row(uint32_t i) const { return values_[i]; }

 private:
  void MakeView(bool with_bounds, bool some_dead) {
    kept_.assign((rows_ + 63) / 64 + 1, 0);
    for (uint32_t i = 0; i < rows_; ++i) {
      if (counts_[i]) kept_[i / 64] |= uint64_t{1} << i % 64;
    }
    static uint64_t segments = 0;
    // Where nulls are counted, also such as came later.
    view_ = {.rows = rows_,
             .columns = segment_columns_,
             .kept = some_dead ? kept_.data() : nullptr,
             .ever = with_bounds ? rows_ + later_ : 0,
             .id = with_bounds ? ++segments : 0};
  }

  static OracleValue OneValue(QueryRandom& random, const ColumnSchema& column, Spread spread) {
    OracleValue value{.type = column.type, .scale = column.scale};
    value.null = column.nullable && random() % 5 == 0;
    if (value.null) return value;
    const bool special = spread == Spread::kExtreme && random() % 8 == 0;
    const uint64_t any = random();
    switch (column.type) {
      case ColumnType::kFloat64: {
        constexpr double kSpecial[] = {0.0,
                                       -0.0,
                                       std::numeric_limits<double>::quiet_NaN(),
                                       std::numeric_limits<double>::infinity(),
                                       -std::numeric_limits<double>::infinity(),
                                       0.1,
                                       1e-300};
        value.real = special ? kSpecial[any % 7] : static_cast<double>(any % 41) / 4 - 5;
        break;
      }
      case ColumnType::kString: {
        value.text = OneText(random, column.name);
        break;
      }
      case ColumnType::kUint64:
        value.number = special                   ? Int128{UINT64_MAX - any % 3}
                       : spread == Spread::kNear ? Int128{any % 20}
                                                 : Int128{any >> random() % 64};
        break;
      default: {
        const bool narrow = ColumnValueBytes(column.type) == 4;
        const int64_t least = narrow ? INT32_MIN : INT64_MIN;
        const int64_t most = narrow ? INT32_MAX : INT64_MAX;
        if (special) {
          value.number = random() % 2 == 0 ? least : most;
        } else if (spread == Spread::kNear) {
          value.number = static_cast<int64_t>(any % 21) - 10;
        } else {
          const int64_t far = static_cast<int64_t>(any) >> random() % 64;
          value.number = narrow ? static_cast<int64_t>(static_cast<int32_t>(far)) : far;
        }
        break;
      }
    }
    return value;
  }

  static std::string OneText(QueryRandom& random, const std::string& column) {
    constexpr const char* kLetters[] = {"a",      "b",      "c",          "d",     "e",
                                        "\u00e9", "\u20ac", "\U0001f600", "\u00df"};
    const bool few = column == "few" || column == "some";
    const uint64_t length = random() % (few ? 3 : column == "utf" ? 7 : 12);
    std::string text;
    for (uint64_t i = 0; i < length; ++i) {
      text += kLetters[random() % (column == "utf" ? 9 : few ? 2 : 5)];
    }
    return text;
  }

  template <class T>
  T* Room(size_t elements) {
    memory_.push_back(std::make_unique<ColumnMemory>(elements * sizeof(T)));
    return memory_.back()->As<T>();
  }

  void Store(size_t c, bool with_bounds) {
    const ColumnSchema& column = QuerySchema().columns[c];
    SegmentColumn& out = segment_columns_[c];
    out.type = column.type;
    if (column.nullable) {
      uint64_t* const validity = Room<uint64_t>((rows_ + 63) / 64);
      std::memset(validity, 0, (rows_ + 63) / 64 * 8);
      for (uint32_t i = 0; i < rows_; ++i) {
        if (!values_[i][c].null) validity[i / 64] |= uint64_t{1} << i % 64;
      }
      out.validity = validity;
      out.nulls = later_nulls_;
      for (uint32_t i = 0; i < rows_; ++i) out.nulls += values_[i][c].null;
    }
    if (IsByteString(column.type)) {
      // Those of other columns than `few` and `text` have one in some segments.
      const bool coded = column.name == "few" || (column.name != "text" && with_dictionaries_);
      coded ? StoreDictionary(c) : StoreText(c);
      return;
    }
    bool nan = false;
    bool first = true;
    SegmentColumn::Bounds& bounds = bounds_[c];
    // Where nothing is, the least is above the most.
    bounds.min.i64 = INT64_MAX;
    bounds.max.i64 = INT64_MIN;
    const uint32_t width = ColumnValueBytes(column.type);
    std::byte* const to = Room<std::byte>(size_t{rows_} * width);
    out.values = to;
    for (uint32_t i = 0; i < rows_; ++i) {
      const OracleValue& value = values_[i][c];
      if (value.null) continue;  // something stays there
      if (column.type == ColumnType::kFloat64) {
        std::memcpy(to + size_t{i} * width, &value.real, width);
        nan |= std::isnan(value.real);
        bounds.min.f64 = first ? value.real : std::min(bounds.min.f64, value.real);
        bounds.max.f64 = first ? value.real : std::max(bounds.max.f64, value.real);
      } else {
        const auto bits = static_cast<uint64_t>(value.number);
        std::memcpy(to + size_t{i} * width, &bits, width);
        const bool positive = column.type == ColumnType::kUint64;
        const auto number = static_cast<int64_t>(value.number);
        if (first) {
          bounds.min.u64 = bounds.max.u64 = bits;
        } else if (positive) {
          bounds.min.u64 = std::min(bounds.min.u64, bits);
          bounds.max.u64 = std::max(bounds.max.u64, bits);
        } else {
          bounds.min.i64 = std::min(bounds.min.i64, number);
          bounds.max.i64 = std::max(bounds.max.i64, number);
        }
      }
      first = false;
    }
    if (with_bounds && !nan) out.bounds = &bounds;
  }

  void StoreDictionary(size_t c) {
    std::vector<std::string> texts;
    uint16_t* const codes = Room<uint16_t>(rows_);
    for (uint32_t i = 0; i < rows_; ++i) {
      const OracleValue& value = values_[i][c];
      if (value.null) continue;
      const auto found = std::find(texts.begin(), texts.end(), value.text);
      codes[i] = static_cast<uint16_t>(found - texts.begin());
      if (found == texts.end()) texts.push_back(value.text);
    }
    uint32_t* const offsets = Room<uint32_t>(texts.size() + 1);
    std::string all;
    offsets[0] = 0;
    for (size_t i = 0; i < texts.size(); ++i) {
      all += texts[i];
      offsets[i + 1] = static_cast<uint32_t>(all.size());
    }
    char* const bytes = Room<char>(all.size());
    std::memcpy(bytes, all.data(), all.size());
    dictionaries_[c] = {static_cast<uint32_t>(texts.size()), offsets, bytes};
    segment_columns_[c].values = codes;
    segment_columns_[c].dictionary = &dictionaries_[c];
  }

  void StoreText(size_t c) {
    uint32_t* const offsets = Room<uint32_t>(rows_ + 1);
    std::string all;
    offsets[0] = 0;
    for (uint32_t i = 0; i < rows_; ++i) {
      all += values_[i][c].text;
      offsets[i + 1] = static_cast<uint32_t>(all.size());
    }
    char* const bytes = Room<char>(all.size());
    std::memcpy(bytes, all.data(), all.size());
    segment_columns_[c].values = bytes;
    segment_columns_[c].offsets = offsets;
  }

  const uint32_t rows_;
  uint32_t later_ = 0;
  uint32_t later_nulls_ = 0;
  std::vector<uint64_t> nullness_;  // by column: 0: no nulls, 1: nulls alone, else some
  std::vector<QueryOracle::Row> values_;
  bool with_dictionaries_ = false;
  std::vector<std::unique_ptr<ColumnMemory>> memory_;
  std::vector<SegmentColumn> segment_columns_;
  std::vector<SegmentColumn::Bounds> bounds_;
  std::vector<DictionaryView> dictionaries_;
  std::vector<uint64_t> kept_;
  std::vector<bool> counts_;
  SegmentView view_;
};

// Result columns of a schema, exactly as long as they say.
class ResultMemory {
 public:
  ResultMemory(const Schema& schema, uint32_t capacity, uint32_t string_bytes) {
    for (const ColumnSchema& column : schema.columns) {
      const bool text = IsByteString(column.type);
      const auto room = [&](size_t bytes) {
        memory_.push_back(std::make_unique<ColumnMemory>(bytes));
        return memory_.back()->As<std::byte>();
      };
      ResultColumn out{.type = column.type};
      out.values = room(text ? string_bytes : size_t{capacity} * ColumnValueBytes(column.type));
      out.validity = reinterpret_cast<uint64_t*>(room((capacity + 63) / 64 * 8));
      if (text) {
        out.offsets = reinterpret_cast<uint32_t*>(room((capacity + 1) * 4));
        out.bytes_max = string_bytes;
      }
      columns_.push_back(out);
    }
    rows.columns = columns_;
    rows.capacity = capacity;
  }

  OracleValue At(size_t c, uint32_t row, uint8_t scale) const {
    const ResultColumn& column = columns_[c];
    OracleValue value{.type = column.type, .scale = scale};
    value.null = ((column.validity[row / 64] >> row % 64) & 1) == 0;
    if (value.null) return value;
    const auto* const bytes = static_cast<const char*>(column.values);
    if (IsByteString(column.type)) {
      value.text.assign(bytes + column.offsets[row], column.offsets[row + 1] - column.offsets[row]);
    } else if (column.type == ColumnType::kFloat64) {
      std::memcpy(&value.real, bytes + size_t{row} * 8, 8);
    } else if (column.type == ColumnType::kInt128) {
      std::memcpy(&value.number, bytes + size_t{row} * 16, 16);
    } else if (ColumnValueBytes(column.type) == 4) {
      int32_t number = 0;
      std::memcpy(&number, bytes + size_t{row} * 4, 4);
      value.number = number;
    } else {
      uint64_t number = 0;
      std::memcpy(&number, bytes + size_t{row} * 8, 8);
      value.number = column.type == ColumnType::kUint64 ? Int128{number}
                                                        : Int128{static_cast<int64_t>(number)};
    }
    return value;
  }

  ResultRows rows;

 private:
  std::vector<std::unique_ptr<ColumnMemory>> memory_;
  std::vector<ResultColumn> columns_;
};

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_TABLE_QUERY_WORLD_H_
