// Aggregates of runs against the oracle: random rows in a few segments, random queries, each
// answered both ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/table/query/table_run.h"
#include "tests/support/seed.h"
#include "tests/unit/table/query_maker.h"
#include "tests/unit/table/random_runs.h"

namespace eris::storage {
namespace {

struct OracleGroup {
  uint64_t rows = 0;
  struct Sum {
    uint64_t count = 0;
    Int128 number = 0;
    double real = 0;
    double size = 0;  // of the doubles, without their signs
    Float128 wide = 0, wide_size = 0;
    OracleValue min, max;
    std::vector<OracleValue> values{};
  };
  std::vector<Sum> sums;
};

int64_t RealKey(double value) {
  if (std::isnan(value)) return INT64_MAX;
  int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits ^ ((bits >> 63) & INT64_MAX);
}
bool Below(const OracleValue& a, const OracleValue& b) {
  if (a.IsText()) return a.text < b.text;
  return a.IsReal() ? RealKey(a.real) < RealKey(b.real) : a.number < b.number;
}

// Ascending, nulls first; the doubles -0.0 and 0.0 are one group, and so are NaNs.
struct GroupOrder {
  static OracleValue Canonical(OracleValue value) {
    if (value.IsReal() && value.real == 0) value.real = 0;
    return value;
  }
  bool operator()(const QueryOracle::Row& a, const QueryOracle::Row& b) const {
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].null != b[i].null) return a[i].null;
      if (a[i].null) continue;
      const OracleValue x = Canonical(a[i]), y = Canonical(b[i]);
      if (Below(x, y)) return true;
      if (Below(y, x)) return false;
    }
    return false;
  }
};

struct Answer {
  std::map<QueryOracle::Row, OracleGroup, GroupOrder> groups{};
  bool fails = false;
  bool uncertain = false;
};

void AddTo(OracleGroup::Sum& sum, const OracleValue& value) {
  if (value.null) return;
  if (sum.count == 0 || Below(value, sum.min)) sum.min = value;
  if (sum.count == 0 || Below(sum.max, value)) sum.max = value;
  sum.values.push_back(value);
  ++sum.count;
  sum.number =
      static_cast<Int128>(static_cast<Uint128>(sum.number) + static_cast<Uint128>(value.number));
  const auto wide = static_cast<Float128>(value.number);
  sum.wide += wide;
  sum.wide_size += wide < 0 ? -wide : wide;
  sum.real += value.real;
  sum.size += std::abs(value.real);
}

// Sums that 128 bits do not hold fail. Those that do not hold a part of the values may.
void CheckSums(const Query& query, Answer& answer) {
  const auto limit = static_cast<Float128>(kInt128Max);
  for (const auto& [key, group] : answer.groups) {
    for (size_t i = 0; i < group.sums.size(); ++i) {
      const AggregateFunction function = query.aggregates[i].function;
      if (function != AggregateFunction::kSum && function != AggregateFunction::kAverage) continue;
      answer.uncertain |= group.sums[i].wide_size > limit * 0.99;
      answer.fails |= std::abs(static_cast<double>(group.sums[i].wide / limit)) > 1.01;
    }
  }
}

Answer WantedGroups(const Query& query, const Segments& segments) {
  QueryOracle oracle(QuerySchema());
  Answer answer;
  if (query.group_by.empty()) answer.groups[{}].sums.resize(query.aggregates.size());
  for (const auto& segment : segments) {
    for (const uint32_t i : PassingRows(oracle, query, *segment)) {
      const QueryOracle::Row& row = segment->row(i);
      QueryOracle::Row key;
      for (const std::string& name : query.group_by) {
        key.push_back(oracle.ValueOf(expressions::Column(name), row));
      }
      OracleGroup& group = answer.groups[key];
      group.sums.resize(query.aggregates.size());
      ++group.rows;
      for (size_t a = 0; a < query.aggregates.size(); ++a) {
        const AggregateColumn& aggregate = query.aggregates[a];
        if (!aggregate.argument) continue;
        AddTo(group.sums[a], oracle.ValueOf(*aggregate.argument, row));
        // What is never null need not be computed to be counted.
        const bool overflow = oracle.TakeOverflow();
        const bool counted = aggregate.function == AggregateFunction::kCount;
        (counted ? answer.uncertain : answer.fails) |= overflow;
      }
    }
  }
  answer.uncertain |= oracle.TakeUncertain();
  CheckSums(query, answer);
  return answer;
}

OracleValue MedianOf(OracleValue value, std::vector<OracleValue> values) {
  std::sort(values.begin(), values.end(), Below);
  const OracleValue& low = values[(values.size() - 1) / 2];
  const OracleValue& high = values[values.size() / 2];
  if (low.IsReal()) {
    const bool zeros = low.real == 0 && high.real == 0;  // of either sign
    value.real = low.real == high.real && !zeros ? low.real : low.real / 2 + high.real / 2;
  } else if (value.IsReal()) {
    // Five times the sum has one digit more, which is behind the point.
    constexpr Int128 kSmall = Int128{1} << 120;
    const Int128 sum = low.number / 2 + high.number / 2;
    const bool small = sum < kSmall && -sum < kSmall;
    value.real =
        small ? Digits((low.number + high.number) * 5, 1).Nearest() : Digits(sum, 0).Nearest();
  } else {
    const bool odd = ((low.number ^ high.number) & 1) != 0;
    value.number = (low.number >> 1) + (high.number >> 1) + (low.number & high.number & 1);
    if (odd && value.number < 0) ++value.number;  // towards 0
  }
  return value;
}

std::string WantedText(const AggregateColumn& aggregate, const OracleGroup& group, size_t i,
                       const ColumnSchema& column, const OracleValue& got) {
  const OracleGroup::Sum& sum = group.sums[i];
  OracleValue value{.type = column.type, .scale = column.scale};
  if (aggregate.function == AggregateFunction::kCount) {
    value.number = aggregate.argument ? sum.count : group.rows;
    return TextOf(value);
  }
  value.null = sum.count == 0;
  if (value.null) return TextOf(value);
  const bool real = sum.min.IsReal();
  const auto near = [&](double exact, double size) {
    // Doubles are added in some order.
    if (std::isnan(exact) ? std::isnan(got.real)
                          : exact == got.real || std::abs(exact - got.real) <= size * 1e-12) {
      return TextOf(got);
    }
    value.real = exact;
    return TextOf(value);
  };
  switch (aggregate.function) {
    case AggregateFunction::kSum:
      if (real) return near(sum.real, sum.size);
      value.number = sum.number;
      break;
    case AggregateFunction::kAverage:
      if (real) return near(sum.real / static_cast<double>(sum.count), sum.size);
      value.real = Digits(sum.number, sum.min.scale).Nearest() / static_cast<double>(sum.count);
      break;
    case AggregateFunction::kMin:
      value = sum.min;
      break;
    case AggregateFunction::kMedian:
      value = MedianOf(value, sum.values);
      break;
    default:
      value = sum.max;
      break;
  }
  return TextOf(value);
}

// As the parts of two AEUs, merged. False: it failed, with `status`.
bool RunAll(const std::shared_ptr<const TablePlan>& plan, const Segments& segments, bool merged,
            std::unique_ptr<TableRun>& out, absl::Status& status) {
  std::unique_ptr<TableRun> runs[2];
  for (auto& run : runs) run = *TableRun::Create(plan);
  for (size_t s = 0; s < segments.size(); ++s) {
    TableRun& run = *runs[merged ? s % 2 : 0];
    if (segments[s]->rows() == 0 || !run.BeginSegment(segments[s]->view())) continue;
    for (uint32_t at = 0; at < segments[s]->rows();) {
      if (run.RunBlock(at, nullptr) != TableRun::Outcome::kError) continue;
      status = run.status();
      return false;
    }
  }
  status = runs[0]->Merge(*runs[1]);
  out = std::move(runs[0]);
  return status.ok();
}

void ExpectGroups(const Query& query, const Schema& result, TableRun& run, const Answer& wanted,
                  QueryRandom& random) {
  const auto count = run.FinishGroups();
  ASSERT_TRUE(count.ok());
  ASSERT_EQ(*count, wanted.groups.size());
  auto at = wanted.groups.begin();
  const size_t keys = query.group_by.size();
  for (uint64_t first = 0; first < *count;) {
    ResultMemory memory(result, 1 + static_cast<uint32_t>(random() % 50), 200);
    const uint64_t before = first;
    run.TakeGroups(first, memory.rows);
    ASSERT_GT(first, before);
    ASSERT_EQ(first - before, memory.rows.rows);
    for (uint32_t i = 0; i < memory.rows.rows; ++i, ++at) {
      for (size_t c = 0; c < result.columns.size(); ++c) {
        const ColumnSchema& column = result.columns[c];
        const OracleValue got = memory.At(c, i, column.scale);
        SCOPED_TRACE(column.name);
        if (c < keys) {
          ASSERT_EQ(TextOf(got), TextOf(GroupOrder::Canonical(at->first[c])));
          continue;
        }
        ASSERT_EQ(TextOf(got),
                  WantedText(query.aggregates[c - keys], at->second, c - keys, column, got));
        ASSERT_TRUE(!got.null || column.nullable);
      }
    }
  }
}

Query SomeQuery(QueryRandom& random) {
  QueryMaker maker(random);
  Query query;
  if (random() % 3 != 0) query.filter = maker.Condition(2);
  std::vector<std::string> names;
  for (const ColumnSchema& column : QuerySchema().columns) names.push_back(column.name);
  std::shuffle(names.begin(), names.end(), random);
  names.resize(random() % 8 == 0 ? random() % (kGroupColumnsMax + 1) : random() % 4);
  query.group_by = std::move(names);
  for (uint64_t i = 1 + random() % 4; i > 0; --i) {
    AggregateColumn aggregate;
    aggregate.function = static_cast<AggregateFunction>(1 + random() % 6);
    const int depth = static_cast<int>(random() % 4);
    if (aggregate.function == AggregateFunction::kSum ||
        aggregate.function == AggregateFunction::kAverage ||
        aggregate.function == AggregateFunction::kMedian) {
      aggregate.argument = maker.Number(depth);
    } else if (aggregate.function != AggregateFunction::kCount || random() % 2 == 0) {
      aggregate.argument = maker.Any(depth);
    }
    query.aggregates.push_back(std::move(aggregate));
  }
  return query;
}

TEST(TableRunTest, AggregatesAreThoseOfTheOracle) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  QueryRandom random(seed + 1);
  uint32_t compared = 0;
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(round);
    const Query query = SomeQuery(random);
    const auto plan = TablePlan::Create(QueryLayout()->schema().columns, query);
    if (!plan.ok()) {
      ASSERT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << plan.status();
      continue;
    }
    SCOPED_TRACE(TextOf(query));
    const Segments segments = SomeSegments(random);
    const Answer wanted = WantedGroups(query, segments);
    std::unique_ptr<TableRun> run;
    absl::Status status;
    if (!RunAll(*plan, segments, random() % 4 != 0, run, status)) {
      EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
      ASSERT_TRUE(wanted.fails || wanted.uncertain) << status;
    } else if (!wanted.uncertain) {
      ++compared;
      ASSERT_FALSE(wanted.fails);
      ExpectGroups(query, (*plan)->result(), *run, wanted, random);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(compared, 500u);
}

}  // namespace
}  // namespace eris::storage
