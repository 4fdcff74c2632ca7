// Random rows as segments and as plain values, random queries over them, and result memory: what
// the tests of plans and runs share.
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
    kept_.assign((rows + 63) / 64 + 1, 0);
    counts_.assign(rows, true);
    for (uint32_t i = 0; i < rows; ++i) {
      if (some_dead) counts_[i] = random() % 4 != 0;
      if (counts_[i]) kept_[i / 64] |= uint64_t{1} << i % 64;
    }
    static uint64_t segments = 0;
    // Where nulls are counted, also such as came later.
    view_ = {.rows = rows,
             .columns = segment_columns_,
             .kept = some_dead ? kept_.data() : nullptr,
             .ever = with_bounds ? rows + later_ : 0,
             .id = with_bounds ? ++segments : 0};
  }

  const SegmentView& view() const { return view_; }
  uint32_t rows() const { return rows_; }
  bool counts(uint32_t row) const { return counts_[row]; }
  const QueryOracle::Row& row(uint32_t i) const { return values_[i]; }

 private:
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
        const auto length = column.name == "few" ? any % 3 : any % 12;
        for (uint64_t i = 0; i < length; ++i) {
          value.text.push_back(static_cast<char>('a' + random() % (column.name == "few" ? 2 : 5)));
        }
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
    if (column.type == ColumnType::kString) {
      column.name == "few" ? StoreDictionary(c) : StoreText(c);
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
    dictionary_ = {static_cast<uint32_t>(texts.size()), offsets, bytes};
    segment_columns_[c].values = codes;
    segment_columns_[c].dictionary = &dictionary_;
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
  std::vector<std::unique_ptr<ColumnMemory>> memory_;
  std::vector<SegmentColumn> segment_columns_;
  std::vector<SegmentColumn::Bounds> bounds_;
  DictionaryView dictionary_;
  std::vector<uint64_t> kept_;
  std::vector<bool> counts_;
  SegmentView view_;
};

// Random expressions, well typed.
class QueryMaker {
 public:
  explicit QueryMaker(QueryRandom& random) : random_(random) {}

  Expression Number(int depth) {
    using namespace expressions;
    if (depth > 0 && random_() % 3 != 0) {
      if (random_() % 8 == 0) {
        return PartOf(static_cast<DatePart>(random_() % 4),
                      Column(random_() % 2 == 0 ? "date" : "daten"));
      }

      const auto kinds = {Expression::Kind::kAdd, Expression::Kind::kSubtract,
                          Expression::Kind::kMultiply, Expression::Kind::kDivide};
      Expression left = Number(depth - 1);
      Expression right =
          left.kind == Expression::Kind::kLiteral ? NumberColumn() : Number(depth - 1);
      return Pair(*(kinds.begin() + random_() % 4), std::move(left), std::move(right));
    }
    return random_() % 4 == 0 ? Literal(NumberLiteral()) : NumberColumn();
  }
  Expression NumberColumn() {
    constexpr const char* kNumbers[] = {"i32",  "i32n", "i64",   "u64", "f64",
                                        "f64n", "dec2", "dec4n", "u64n"};
    return expressions::Column(kNumbers[random_() % 9]);
  }
  Expression AnyColumn() {
    const auto& columns = QuerySchema().columns;
    return expressions::Column(columns[random_() % columns.size()].name);
  }

  Expression Condition(int depth) {
    using namespace expressions;
    using Kind = Expression::Kind;
    if (depth > 0 && random_() % 2 == 0) {
      if (random_() % 4 == 0) return !Condition(depth - 1);
      std::vector<Expression> parts;
      for (uint64_t i = 2 + random_() % 2; i > 0; --i) parts.push_back(Condition(depth - 1));
      return Of(random_() % 2 == 0 ? Kind::kAnd : Kind::kOr, std::move(parts));
    }
    const uint64_t family = random_() % 6;
    if (family == 0 && random_() % 3 == 0) {
      Expression text = Column(random_() % 2 == 0 ? "few" : "text");
      if (random_() % 16 == 0) return Pair(Kind::kLike, std::move(text), Literal(Value()));
      return Like(std::move(text), Pattern());
    }
    const auto value = [&] {
      return family == 0   ? Column(random_() % 2 == 0 ? "few" : "text")
             : family == 1 ? Column(random_() % 2 == 0 ? "date" : "daten")
             : family == 2 ? Number(2)
                           : NumberColumn();
    };
    const auto literal = [&]() -> Value {
      if (random_() % 16 == 0) return {};
      return family == 0 ? Value(Text()) : family == 1 ? Value(DateLiteral()) : NumberLiteral();
    };
    switch (random_() % 8) {
      case 0:
        return IsNull(value());
      case 1:
        return Between(value(), Literal(literal()), Literal(literal()));
      case 2: {
        std::vector<Value> values;
        for (uint64_t i = 1 + random_() % (random_() % 3 == 0 ? 20 : 3); i > 0; --i) {
          values.push_back(literal());
        }
        return In(value(), values);
      }
      case 3:
        return Pair(Comparison(), value(), value());
      case 4:
        return Pair(Comparison(), Literal(literal()), value());
      default:
        return Pair(Comparison(), value(), Literal(literal()));
    }
  }

 private:
  Expression::Kind Comparison() {
    return static_cast<Expression::Kind>(static_cast<int>(Expression::Kind::kEqual) +
                                         random_() % 6);
  }
  Value NumberLiteral() {
    const auto small = static_cast<int64_t>(random_() % 21) - 10;
    switch (random_() % 12) {
      case 0:
        return Value(static_cast<double>(small) / 4);
      case 1:
        return Value(0.1);
      case 2:
        return Value(Decimal{small * 10 + 5, 1});
      case 3:
        return Value(Decimal{small * 1000 + 5, 3});
      case 4:
        return Value(static_cast<uint64_t>(small < 0 ? -small : small));
      case 5:
        return random_() % 8 == 0 ? Value(UINT64_MAX) : Value(small);
      case 6:
        return random_() % 8 == 0 ? Value(INT64_MIN) : Value(small);
      case 7:
        return random_() % 8 == 0 ? Value(std::numeric_limits<double>::quiet_NaN())
                                  : Value(1e30 * static_cast<double>(small));
      default:
        return Value(small);
    }
  }
  Date DateLiteral() { return {static_cast<int32_t>(random_() % 21) - 10}; }
  std::string Pattern() {
    std::string text;
    for (uint64_t i = random_() % 5; i > 0; --i) text.push_back("ab%_"[random_() % 4]);
    return text;
  }
  std::string Text() {
    std::string text;
    for (uint64_t i = random_() % 3; i > 0; --i) {
      text.push_back(static_cast<char>('a' + random_() % 2));
    }
    return text;
  }

  QueryRandom& random_;
};

// Result columns of a schema, exactly as long as they say.
class ResultMemory {
 public:
  ResultMemory(const Schema& schema, uint32_t capacity, uint32_t string_bytes) {
    for (const ColumnSchema& column : schema.columns) {
      const bool text = column.type == ColumnType::kString;
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
    if (column.type == ColumnType::kString) {
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
