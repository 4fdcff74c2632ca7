// The scan benchmark's process: tables of an engine, or the machine's own limit. Reads a command
// per line and answers each with a line of JSON; run.py drives it and its peers alternately.
//
//   scan_lab --side eris  [--aeus 1] [--rows 67108864] [--placement local|interleaved|one]
//                         [--topology text] [--slice-us N]
//   scan_lab --side limit [--aeus 1] [--rows 67108864]
//
//   eris:   columns           fills a heap table of a u64, b u64 and c i32, uniformly random
//           lineitem DIR      loads columns that peers.py has written as files
//           run QUERY         sum_a count_a sum_b_where_a sum_c sum_b_where_c q1 q6
//           shared N          N scans at once, each with a different predicate
//           lookups MS 0|1    single lookups in an index, without or with concurrent full scans
//   limit:  read              a column of `rows` u64 is read by one thread per AEU
//
// `ms` is the caller's waiting time; values are exact, as text.
#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/key_order.h"
#include "bench/must.h"
#include "bench/routing/flags.h"
#include "bench/routing/huge_buffer.h"
#include "bench/routing/machine.h"
#include "eris/engine.h"
#include "eris/expression.h"

namespace eris::bench {
namespace {

using nlohmann::json;
using namespace eris::expressions;

struct LabOptions {
  uint32_t aeus = 1;
  uint64_t rows = 1 << 26;
  MemoryPlacement placement = MemoryPlacement::kLocal;
  std::string topology;
  uint32_t slice_us = Options().scan_slice_us;
};

double MsSince(uint64_t begin_ns) { return static_cast<double>(NowNs() - begin_ns) / 1e6; }

// --- the machine's limit ---

constexpr uint64_t kAheadWords = 256;  // 2 KiB

[[gnu::target("avx512f")]] uint64_t SumAvx512(const uint64_t* area, uint64_t words) {
  __m512i sums[8] = {};
  for (uint64_t i = 0; i < words; i += 64) {
    for (uint64_t j = 0; j < 8; ++j) {
      __builtin_prefetch(area + i + 8 * j + kAheadWords);
      sums[j] = _mm512_add_epi64(sums[j], _mm512_loadu_si512(area + i + 8 * j));
    }
  }
  for (uint64_t j = 1; j < 8; ++j) sums[0] = _mm512_add_epi64(sums[0], sums[j]);
  alignas(64) uint64_t parts[8];
  _mm512_store_si512(parts, sums[0]);
  return std::accumulate(parts, parts + 8, uint64_t{0});
}
[[gnu::target("avx2")]] uint64_t SumAvx2(const uint64_t* area, uint64_t words) {
  __m256i sums[8] = {};
  for (uint64_t i = 0; i < words; i += 32) {
    for (uint64_t j = 0; j < 8; ++j) {
      __builtin_prefetch(area + i + 4 * j + kAheadWords);
      sums[j] = _mm256_add_epi64(
          sums[j], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(area + i + 4 * j)));
    }
  }
  for (uint64_t j = 1; j < 8; ++j) sums[0] = _mm256_add_epi64(sums[0], sums[j]);
  alignas(32) uint64_t parts[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(parts), sums[0]);
  return parts[0] + parts[1] + parts[2] + parts[3];
}

class Limit {
 public:
  explicit Limit(const LabOptions& options) : rows_(options.rows / options.aeus / 64 * 64) {
    cpus_ = AllowedCpus();
    if (cpus_.size() < options.aeus) Die("more AEUs than cpus");
    cpus_.resize(options.aeus);
    for (const int cpu : cpus_) {
      std::thread([&] {
        PinTo(cpu);
        areas_.push_back(std::make_unique<HugeBuffer>(rows_ * sizeof(uint64_t)));
        auto* words = reinterpret_cast<uint64_t*>(areas_.back()->data());
        for (uint64_t i = 0; i < rows_; ++i) words[i] = Mix(i);
      }).join();
    }
    for (uint64_t i = 0; i < rows_; ++i) sum_ += Mix(i);
  }

  json Ask(const std::vector<std::string>& words) {
    if (words[0] != "read") Die("the limit has no " + words[0]);
    std::barrier together(static_cast<std::ptrdiff_t>(cpus_.size()));
    std::vector<std::thread> threads;
    // By the readers' own clocks: a thread that waits for them has no cpu when they begin.
    std::vector<uint64_t> begin_ns(cpus_.size()), end_ns(cpus_.size());
    for (size_t t = 0; t < cpus_.size(); ++t) {
      threads.emplace_back([&, t] {
        PinTo(cpus_[t]);
        const auto* area = reinterpret_cast<const uint64_t*>(areas_[t]->data());
        together.arrive_and_wait();
        begin_ns[t] = NowNs();
        const uint64_t sum =
            __builtin_cpu_supports("avx512f") ? SumAvx512(area, rows_) : SumAvx2(area, rows_);
        end_ns[t] = NowNs();
        if (sum != sum_) Die("a wrong sum");
      });
    }
    for (std::thread& thread : threads) thread.join();
    const double ms = static_cast<double>(*std::max_element(end_ns.begin(), end_ns.end()) -
                                          *std::min_element(begin_ns.begin(), begin_ns.end())) /
                      1e6;
    const double bytes = static_cast<double>(rows_ * sizeof(uint64_t) * cpus_.size());
    return {{"ms", ms}, {"gb_s", bytes / ms / 1e6}};
  }

 private:
  const uint64_t rows_;  // of each thread
  std::vector<int> cpus_;
  std::vector<std::unique_ptr<HugeBuffer>> areas_;
  uint64_t sum_ = 0;
};

// --- tables of an engine ---

// The queries' parameters, as in peers.py: a tenth of the rows.
constexpr uint64_t kBelowA = ~uint64_t{0} / 10;
constexpr int32_t kBelowC = -1717986918;  // -2^31 + 2^32 / 10

AggregateColumn Sum(Expression argument, std::string name) {
  return {AggregateFunction::kSum, std::move(argument), std::move(name)};
}
AggregateColumn Average(Expression argument, std::string name) {
  return {AggregateFunction::kAverage, std::move(argument), std::move(name)};
}
AggregateColumn Count() { return {AggregateFunction::kCount, std::nullopt, "count"}; }

int32_t DayOf(int year, unsigned month, unsigned day) {
  const auto days = std::chrono::sys_days(std::chrono::year(year) / static_cast<int>(month) /
                                          static_cast<int>(day));
  return static_cast<int32_t>(days.time_since_epoch().count());
}

Expression DateOf(int year, unsigned month, unsigned day) {
  return Literal(Value(Date{DayOf(year, month, day)}));
}
Expression Cents(int64_t cents) { return Literal(Value(Decimal{cents, 2})); }

struct NamedQuery {
  const char* table;
  Query query;
};

NamedQuery QueryOf(const std::string& name) {
  const Expression a = Column("a"), b = Column("b"), c = Column("c");
  if (name == "sum_a") return {"columns", {.aggregates = {Sum(a, "sum")}}};
  if (name == "sum_c") return {"columns", {.aggregates = {Sum(c, "sum")}}};
  if (name == "count_a") {
    return {"columns", {.filter = a < Literal(kBelowA), .aggregates = {Count()}}};
  }
  if (name == "sum_b_where_a") {
    return {"columns", {.filter = a < Literal(kBelowA), .aggregates = {Sum(b, "sum")}}};
  }
  if (name == "sum_b_where_c") {
    return {"columns", {.filter = c < Literal(kBelowC), .aggregates = {Sum(b, "sum")}}};
  }
  const Expression price = Column("l_extendedprice"), discount = Column("l_discount"),
                   one = Literal(1);
  if (name == "q1") {
    const Expression discounted = price * (one - discount);
    return {"lineitem",
            {.filter = Column("l_shipdate") <= DateOf(1998, 9, 2),
             .group_by = {"l_returnflag", "l_linestatus"},
             .aggregates = {Sum(Column("l_quantity"), "sum_qty"), Sum(price, "sum_base_price"),
                            Sum(discounted, "sum_disc_price"),
                            Sum(discounted * (one + Column("l_tax")), "sum_charge"),
                            Average(Column("l_quantity"), "avg_qty"), Average(price, "avg_price"),
                            Average(discount, "avg_disc"), Count()}}};
  }
  if (name == "q6") {
    return {"lineitem",
            {.filter = Column("l_shipdate") >= DateOf(1994, 1, 1) &&
                       Column("l_shipdate") < DateOf(1995, 1, 1) &&
                       Between(discount, Cents(5), Cents(7)) && Column("l_quantity") < Literal(24),
             .aggregates = {Sum(price * discount, "revenue")}}};
  }
  Die("no query " + name);
}

__extension__ typedef __int128 Int128;

std::string TextOf(Int128 value) {
  if (value == 0) return "0";
  const bool negative = value < 0;
  std::string digits;
  for (; value != 0; value /= 10) {
    const int digit = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (digit < 0 ? -digit : digit));
  }
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

// Decimals as their unscaled numbers.
std::string Cell(const ColumnView& column, ColumnType type, uint64_t row) {
  if (column.validity != nullptr && (column.validity[row / 8] >> row % 8 & 1) == 0) return "null";
  return VisitColumnType(type, [&]<class T>(ColumnTraits<T>) -> std::string {
    const auto* const bytes = static_cast<const char*>(column.values);
    if constexpr (std::is_void_v<T>) {
      return {bytes + column.offsets[row], bytes + column.offsets[row + 1]};
    } else {
      std::conditional_t<std::is_arithmetic_v<T>, T, Int128> value;
      std::memcpy(&value, bytes + row * sizeof value, sizeof value);
      if constexpr (std::is_integral_v<T>) return std::to_string(value);
      if constexpr (!std::is_arithmetic_v<T>) return TextOf(value);
      char text[40];
      std::snprintf(text, sizeof text, "%.17g", static_cast<double>(value));
      return text;
    }
  });
}

std::vector<std::vector<std::string>> Rows(Scan& scan) {
  std::vector<std::vector<std::string>> rows;
  for (;;) {
    const auto chunk = Must(scan.Next());
    if (chunk == nullptr) return rows;
    for (uint64_t row = 0; row < chunk->rows(); ++row) {
      auto& cells = rows.emplace_back();
      for (size_t i = 0; i < chunk->schema().columns.size(); ++i) {
        cells.push_back(Cell(chunk->column(i), chunk->schema().columns[i].type, row));
      }
    }
  }
}

std::vector<char> FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) Die("cannot read " + path);
  std::vector<char> bytes(static_cast<size_t>(file.tellg()));
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

class Tables {
 public:
  explicit Tables(const LabOptions& options) : options_(options) {
    engine_ = Must(Engine::Open({.topology = options.topology,
                                 .aeu_count = options.aeus,
                                 .memory_placement = options.placement,
                                 .scan_slice_us = options.slice_us}));
    session_ = engine_->NewSession();
  }
  ~Tables() {
    session_.reset();
    engine_->Close();
  }

  json Ask(const std::vector<std::string>& words) {
    const std::string& name = words[0];
    if (name == "columns") return FillColumns();
    if (name == "lineitem" && words.size() == 2) return LoadLineitem(words[1]);
    if (name == "run" && words.size() == 2) return Run(QueryOf(words[1]));
    if (name == "shared" && words.size() == 2) return Shared(std::stoul(words[1]));
    if (name == "lookups" && words.size() == 3) {
      return Lookups(std::stoul(words[1]), words[2] == "1");
    }
    Die("no command " + name);
  }

 private:
  const Object& Create(const std::string& name, const CreateOptions& options) {
    Must(engine_->Create(name, options));
    return objects_[name] = Must(session_->Open(name));
  }

  json FillColumns() {
    const Object& columns =
        Create("columns", {.kind = ObjectKind::kHeapTable,
                           .schema = {{{.name = "a", .type = ColumnType::kUint64},
                                       {.name = "b", .type = ColumnType::kUint64},
                                       {.name = "c", .type = ColumnType::kInt32}}}});
    constexpr uint64_t kBatch = 1 << 18;
    std::vector<uint64_t> a(kBatch), b(kBatch);
    std::vector<int32_t> c(kBatch);
    const uint64_t begin_ns = NowNs();
    for (uint64_t at = 0; at < options_.rows; at += kBatch) {
      const uint64_t rows = std::min(kBatch, options_.rows - at);
      for (uint64_t i = 0; i < rows; ++i) {
        a[i] = Mix(at + i);
        b[i] = Mix(at + i + (uint64_t{1} << 40));
        c[i] = static_cast<int32_t>(Mix(at + i + (uint64_t{1} << 41)) >> 32);
      }
      const ColumnView views[] = {{a.data()}, {b.data()}, {c.data()}};
      Must(session_->Write(columns, {.mode = WriteMode::kAppend, .rows = {rows, views}}).status);
    }
    return {{"ms", MsSince(begin_ns)}, {"rows", options_.rows}};
  }

  // Only the columns needed by the two queries, and the key, exist as files.
  json LoadLineitem(const std::string& directory) {
    const auto decimal = [](const char* name) {
      return ColumnSchema{.name = name, .type = ColumnType::kDecimal, .scale = 2};
    };
    const Schema schema{{{.name = "l_orderkey", .type = ColumnType::kInt64},
                         {.name = "l_linenumber", .type = ColumnType::kInt32},
                         decimal("l_quantity"),
                         decimal("l_extendedprice"),
                         decimal("l_discount"),
                         decimal("l_tax"),
                         {.name = "l_returnflag", .type = ColumnType::kString},
                         {.name = "l_linestatus", .type = ColumnType::kString},
                         {.name = "l_shipdate", .type = ColumnType::kDate}},
                        {0, 1}};
    std::vector<std::vector<char>> files;
    for (const ColumnSchema& column : schema.columns) {
      files.push_back(FileBytes(directory + "/" + column.name));
    }
    const uint64_t rows = files[0].size() / sizeof(int64_t);
    int64_t last;
    std::memcpy(&last, &files[0][(rows - 1) * sizeof last], sizeof last);
    const uint64_t zero = uint64_t{1} << 63;  // the encoding of 0
    const Object& lineitem =
        Create("lineitem", {.kind = ObjectKind::kTable,
                            .schema = schema,
                            .expected = {zero, zero + static_cast<uint64_t>(last) + 1}});
    constexpr uint64_t kBatch = 1 << 16;
    std::vector<uint32_t> offsets(kBatch + 1);  // of strings of one byte
    for (uint32_t i = 0; i <= kBatch; ++i) offsets[i] = i;
    const uint64_t begin_ns = NowNs();
    for (uint64_t at = 0; at < rows; at += kBatch) {
      std::vector<ColumnView> columns;
      for (size_t i = 0; i < files.size(); ++i) {
        const bool string = IsByteString(schema.columns[i].type);
        const uint64_t width = string ? 1 : ColumnValueBytes(schema.columns[i].type);
        columns.push_back(
            {.values = files[i].data() + at * width, .offsets = string ? offsets.data() : nullptr});
      }
      Must(session_->Write(lineitem, {.rows = {std::min(kBatch, rows - at), columns}}).status);
    }
    return {{"ms", MsSince(begin_ns)}, {"rows", rows}};
  }

  json Run(const NamedQuery& named) {
    const uint64_t begin_ns = NowNs();
    const auto scan = Must(session_->OpenScan(objects_.at(named.table), named.query));
    const auto rows = Rows(*scan);
    return {{"ms", MsSince(begin_ns)}, {"rows", rows}};
  }

  // Each predicate keeps a different eighth; all of them count.
  json Shared(uint64_t scans) {
    std::vector<std::unique_ptr<Scan>> open;
    std::vector<std::string> counts;
    const uint64_t begin_ns = NowNs();
    for (uint64_t i = 0; i < scans; ++i) {
      const uint64_t from = i << 61;
      open.push_back(Must(session_->OpenScan(
          objects_.at("columns"),
          {.filter = Between(Column("a"), Literal(from), Literal(from + (uint64_t{1} << 61) - 1)),
           .aggregates = {Count()}})));
    }
    for (const auto& scan : open) counts.push_back(Rows(*scan)[0][0]);
    return {{"ms", MsSince(begin_ns)}, {"rows", counts}};
  }

  json Lookups(uint64_t ms, bool scanning) {
    constexpr uint64_t kKeys = 1 << 20;
    if (!objects_.contains("index")) {
      std::vector<uint64_t> keys(kKeys);
      std::iota(keys.begin(), keys.end(), 0);
      Must(session_->Upsert(Create("index", {.expected = {0, kKeys}}), keys, keys));
    }
    const Object& index = objects_.at("index");
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> scans{0};
    std::thread scanner;
    if (scanning) {
      scanner = std::thread([&] {
        const auto session = engine_->NewSession();
        const Query count = QueryOf("count_a").query;
        while (!stop.load(std::memory_order_relaxed)) {
          const auto scan = Must(session->OpenScan(objects_.at("columns"), count));
          Rows(*scan);
          scans.fetch_add(1, std::memory_order_relaxed);
        }
      });
    }
    std::vector<double> us;
    const uint64_t end_ns = NowNs() + ms * 1'000'000;
    for (uint64_t i = 0; i == 0 || NowNs() < end_ns; ++i) {
      const uint64_t key = Mix(i) % kKeys;
      uint64_t value = 0;
      uint8_t found = 0;
      const uint64_t begin_ns = NowNs();
      Must(session_->Lookup(index, absl::MakeConstSpan(&key, 1), absl::MakeSpan(&value, 1),
                            absl::MakeSpan(&found, 1)));
      us.push_back(static_cast<double>(NowNs() - begin_ns) / 1e3);
      if (value != key) Die("a wrong value");
    }
    stop = true;
    if (scanner.joinable()) scanner.join();
    std::sort(us.begin(), us.end());
    return {{"lookups", us.size()},
            {"slice_us", options_.slice_us},
            {"p50_us", us[us.size() / 2]},
            {"p99_us", us[us.size() * 99 / 100]},
            {"p999_us", us[us.size() * 999 / 1000]},
            {"scans", scans.load()}};
  }

  const LabOptions options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  std::map<std::string, Object> objects_;  // by name
};

template <class Side>
int Serve(Side& side) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::vector<std::string> command;
    for (std::string word; words >> word;) command.push_back(word);
    if (command.empty()) continue;
    std::printf("%s\n", side.Ask(command).dump().c_str());
    std::fflush(stdout);
  }
  return 0;
}

int Main(int argc, char** argv) {
  LabOptions options;
  std::string side = "eris", placement = "local";
  ParseFlags(argc, argv,
             {{"--side", side, {"eris", "limit"}},
              {"--aeus", options.aeus, 1},
              {"--rows", options.rows, 1024},
              {"--slice-us", options.slice_us, 0},
              {"--topology", options.topology},
              {"--placement", placement, {"local", "interleaved", "one"}}});
  if (placement == "interleaved") options.placement = MemoryPlacement::kInterleaved;
  if (placement == "one") options.placement = MemoryPlacement::kOneNumaNode;
  if (side == "limit") {
    Limit limit(options);
    return Serve(limit);
  }
  Tables tables(options);
  return Serve(tables);
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
