// Measures plans and kernels on one core, compared with the machine's read limit, which is measured
// in between: sums, filters and shared passes over columns of uniformly random values larger than
// the last cache, and the shapes of TPC-H's queries 1 and 6. Nothing is pruned: plans do not get
// the bounds of filtered columns, except in the two TPC-H shapes, where they exclude nothing.
//
//   kernel_lab [--gib=2] [--rounds=5] [--only=<part of a name>]
//
// Prints a line per case: its name, GB/s (or ms), its fraction of the read limit (or of one run),
// and the spread of the rounds.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/routing/flags.h"
#include "bench/table/lab_table.h"
#include "bench/table/plain_read.h"
#include "eris/query.h"
#include "storage/table/kernels/kernels.h"

namespace eris::bench {
namespace {

using namespace expressions;  // NOLINT: as their users do

struct Flags {
  double gib = 2;
  int rounds = 5;
  std::string only;
};

AggregateColumn Count() { return {.function = AggregateFunction::kCount, .name = ""}; }
AggregateColumn Of(AggregateFunction function, Expression argument) {
  return {.function = function, .argument = std::move(argument), .name = ""};
}
AggregateColumn Sum(Expression argument) {
  return Of(AggregateFunction::kSum, std::move(argument));
}

Query Ask(std::optional<Expression> filter, std::vector<AggregateColumn> aggregates,
          std::vector<std::string> group_by = {}) {
  Query query;
  query.filter = std::move(filter);
  query.aggregates = std::move(aggregates);
  query.group_by = std::move(group_by);
  return query;
}

class Lab {
 public:
  explicit Lab(const Flags& flags) : flags_(flags) {}

  bool Wanted(const std::string& name) const {
    return flags_.only.empty() || name.find(flags_.only) != std::string::npos;
  }

  // GB/s of `bytes` per pass, alternating with plain reads of `words`, so that both see the same
  // machine.
  void Bandwidth(const std::string& name, const LabTable& table, std::vector<Query> queries,
                 double bytes, const uint64_t* words, size_t count) {
    if (!Wanted(name)) return;
    LabPass pass(table, queries);
    pass.Run();
    std::vector<double> limits, speeds, shares;
    for (int round = 0; round < flags_.rounds; ++round) {
      const uint64_t begin_ns = NowNs();
      sink_ = sink_ ^ PlainRead(words, count);
      const double seconds = static_cast<double>(NowNs() - begin_ns) * 1e-9;
      limits.push_back(static_cast<double>(count) * 8e-9 / seconds);
      speeds.push_back(bytes * 1e-9 / pass.Run());
      shares.push_back(speeds.back() / limits.back());
    }
    std::printf("%-34s %7.1f GB/s  limit %6.1f  share %5.1f %%  (%.1f to %.1f)\n", name.c_str(),
                MedianOf(speeds), MedianOf(limits), 100 * MedianOf(shares),
                100 * *std::min_element(shares.begin(), shares.end()),
                100 * *std::max_element(shares.begin(), shares.end()));
    std::fflush(stdout);
  }

  void Shared(const std::string& name, const LabTable& table, const std::vector<Query>& all) {
    if (!Wanted(name)) return;
    LabPass one(table, {all[0]});
    LabPass many(table, all);
    one.Run();
    std::vector<double> ratios, alone, together;
    for (int round = 0; round < flags_.rounds; ++round) {
      alone.push_back(one.Run());
      together.push_back(many.Run());
      ratios.push_back(together.back() / alone.back());
    }
    std::printf("%-34s %7.1f ms  one %6.1f ms  ratio %5.2f  (%.2f to %.2f)\n", name.c_str(),
                MedianOf(together) * 1e3, MedianOf(alone) * 1e3, MedianOf(ratios),
                *std::min_element(ratios.begin(), ratios.end()),
                *std::max_element(ratios.begin(), ratios.end()));
    std::fflush(stdout);
  }

  void Time(const std::string& name, const LabTable& table, const Query& query) {
    if (!Wanted(name)) return;
    LabPass pass(table, {query});
    pass.Run();
    std::vector<double> times;
    for (int round = 0; round < flags_.rounds; ++round) times.push_back(pass.Run() * 1e3);
    std::printf("%-34s %7.2f ms  (%.2f to %.2f)\n", name.c_str(), MedianOf(times),
                *std::min_element(times.begin(), times.end()),
                *std::max_element(times.begin(), times.end()));
    std::fflush(stdout);
  }

 private:
  const Flags flags_;
  volatile uint64_t sink_ = 0;
};

void Columns(Lab& lab, const Flags& flags) {
  const auto bytes = static_cast<uint64_t>(flags.gib * (uint64_t{1} << 30));
  {
    LabTable table(bytes / 8);
    LabRandom random(1);
    table.Add<uint64_t>("x", ColumnType::kUint64, 0, false,
                        [&](uint64_t) { return random.Next(); });
    const auto* const words = reinterpret_cast<const uint64_t*>(table.data(0));
    const auto size = static_cast<double>(table.rows()) * 8;
    const auto at = [](double share) {
      return Literal(static_cast<uint64_t>(share * 18446744073709551615.0));
    };
    const auto run = [&](const std::string& name, std::vector<Query> queries) {
      lab.Bandwidth(name, table, std::move(queries), size, words, table.rows());
    };
    run("sum(u64)", {Ask({}, {Sum(Column("x"))})});
    run("u64 < 10 %: count", {Ask(Column("x") < at(0.1), {Count()})});
    run("u64 < 10 %: sum", {Ask(Column("x") < at(0.1), {Sum(Column("x"))})});
    run("u64 < 50 %: sum, count", {Ask(Column("x") < at(0.5), {Sum(Column("x")), Count()})});
    run("u64 < 1 %: sum", {Ask(Column("x") < at(0.01), {Sum(Column("x"))})});
    run("min, max, avg(u64)", {Ask({}, {Of(AggregateFunction::kMin, Column("x")),
                                        Of(AggregateFunction::kMax, Column("x")),
                                        Of(AggregateFunction::kAverage, Column("x"))})});
    std::vector<Query> counts, sums;
    for (int i = 1; i <= 8; ++i) {
      counts.push_back(Ask(Between(Column("x"), at(0.01 * i), at(0.1 * i)), {Count()}));
      sums.push_back(Ask(Column("x") < at(0.1 * i), {Sum(Column("x"))}));
    }
    lab.Shared("8 shared: count of a range", table, counts);
    lab.Shared("8 shared: filter and sum", table, sums);
  }
  LabTable table(bytes / 4 / 2);
  LabRandom random(2);
  table.Add<int32_t>("a", ColumnType::kInt32, 0, false,
                     [&](uint64_t) { return static_cast<int32_t>(random.Next()); });
  table.Add<int32_t>("b", ColumnType::kInt32, 0, false,
                     [&](uint64_t) { return static_cast<int32_t>(random.Next()); });
  const auto* const words = reinterpret_cast<const uint64_t*>(table.data(0));
  const auto size = static_cast<double>(table.rows()) * 4;
  const size_t count = table.rows() / 2;
  lab.Bandwidth("sum(int32)", table, {Ask({}, {Sum(Column("a"))})}, size, words, count);
  lab.Bandwidth("int32 < 50 %: count", table, {Ask(Column("a") < Literal(0), {Count()})}, size,
                words, count);
  lab.Bandwidth("int32 < 50 %: sum of another", table,
                {Ask(Column("a") < Literal(0), {Sum(Column("b"))})}, 2 * size, words, count);
}

// Columns of lineitem as queries 1 and 6 use them, with its distributions, at scale factor 1.
void Lineitem(Lab& lab) {
  constexpr uint64_t kRows = 6'001'215;
  LabTable table(kRows);
  LabRandom random(3);
  const auto decimal = [&](const char* name, uint64_t lo, uint64_t hi) {
    table.Add<int64_t>(name, ColumnType::kDecimal, 2, true, [&, lo, hi](uint64_t) {
      return static_cast<int64_t>(lo + random.Below(hi - lo + 1));
    });
  };
  table.Add<int64_t>("l_quantity", ColumnType::kDecimal, 2, true,
                     [&](uint64_t) { return static_cast<int64_t>(100 * (1 + random.Below(50))); });
  decimal("l_extendedprice", 90'100, 10'494'950);
  decimal("l_discount", 0, 10);
  decimal("l_tax", 0, 8);
  std::vector<int32_t> shipped(kRows);
  table.Add<int32_t>("l_shipdate", ColumnType::kDate, 0, true, [&](uint64_t row) {
    shipped[row] = 8037 + static_cast<int32_t>(random.Below(2526));  // from 1992-01-02
    return shipped[row];
  });
  constexpr int32_t kCurrent = 9298;  // 1995-06-17
  table.AddStrings("l_returnflag", {"N", "A", "R"}, [&](uint64_t row) {
    return static_cast<uint16_t>(shipped[row] > kCurrent - 15 ? 0 : 1 + random.Below(2));
  });
  table.AddStrings("l_linestatus", {"O", "F"}, [&](uint64_t row) {
    return static_cast<uint16_t>(shipped[row] > kCurrent ? 0 : 1);
  });

  const auto price = [] { return Column("l_extendedprice"); };
  const auto one = [] { return Literal(1); };
  const auto discounted = [&] { return price() * (one() - Column("l_discount")); };
  lab.Time("TPC-H Q6 shape, 6 M rows", table,
           Ask(Column("l_shipdate") >= Literal(Date{8766}) &&
                   Column("l_shipdate") < Literal(Date{9131}) &&
                   Between(Column("l_discount"), Literal(Decimal{5, 2}), Literal(Decimal{7, 2})) &&
                   Column("l_quantity") < Literal(24),
               {Sum(price() * Column("l_discount"))}));
  lab.Time("TPC-H Q1 shape, 6 M rows", table,
           Ask(Column("l_shipdate") <= Literal(Date{10471}),
               {Sum(Column("l_quantity")), Sum(price()), Sum(discounted()),
                Sum(discounted() * (one() + Column("l_tax"))),
                Of(AggregateFunction::kAverage, Column("l_quantity")),
                Of(AggregateFunction::kAverage, price()),
                Of(AggregateFunction::kAverage, Column("l_discount")), Count()},
               {"l_returnflag", "l_linestatus"}));
  lab.Time("50 groups, 3 sums, 6 M rows", table,
           Ask({}, {Sum(price()), Sum(Column("l_tax")), Count()}, {"l_quantity"}));
  lab.Time("2526 groups, 2 sums, 6 M rows", table,
           Ask({}, {Sum(price()), Sum(Column("l_tax"))}, {"l_shipdate"}));
}

int Main(int argc, char** argv) {
  Flags flags;
  ParseFlags(
      argc, argv,
      {{"--gib", flags.gib, 0.001, 1024}, {"--rounds", flags.rounds, 1}, {"--only", flags.only}});
  const std::vector<int> cpus = AllowedCpus();
  PinTo(cpus.back());
  OtherLoad others({cpus.back()});
  std::printf("%s, %s vectors, %s build, %.2g GiB, %d rounds\n", CpuModel().c_str(),
              storage::kernels::TargetName(), ERIS_BENCH_BUILD_TYPE, flags.gib, flags.rounds);
  Lab lab(flags);
  Columns(lab, flags);
  Lineitem(lab);
  std::printf("other load on this cpu: %.2f\n", others.Cpus());
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
