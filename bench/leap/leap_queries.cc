// Queries 1 and 6 of TPC-H over columns that migrate meanwhile. Prints a line of JSON. Paper:
// page_leap 7.
//
//   leap_queries [--method hold|owner|retry|kernel] [--pages huge|small] [--rows 16777216]
//                [--area-kib 16384] [--written] [--rounds 3]
//
// One thread runs a query again and again, in morsels; the main thread migrates all columns after
// the third query, once in a round. Written: a third thread increments order keys at random, which
// no query reads, as fast as it can. A query's time while the columns migrate is taken from the
// morsels that ended meanwhile. Every answer is compared with the first one, and in the end all
// increments are replayed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bench/leap/leap_load.h"
#include "bench/leap/leap_range.h"
#include "bench/leap/lineitem.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "eris/leap.h"

namespace eris::bench {
namespace {

using nlohmann::json;

constexpr uint64_t kMorselRows = 1 << 16;
// Before the migration and after it; the paper runs five after it.
constexpr uint64_t kQueriesBefore = 3;
constexpr uint64_t kQueriesAfter = 5;

struct QueryOptions {
  std::string method = "hold";
  std::string pages = "huge";
  uint32_t rows = 1 << 24;
  uint32_t area_kib = 16384;
  bool written = false;
  uint32_t rounds = 3;
};

// Runs a query until End, from a thread of its own.
class QueryLoop {
 public:
  using Query = void (*)(const Lineitem&, uint64_t, uint64_t, QueryAnswer&);

  QueryLoop(const Lineitem& table, Query query) : table_(table), query_(query) {
    morsels_per_query_ = (table.rows() + kMorselRows - 1) / kMorselRows;
    thread_ = std::thread([this] { Run(); });
  }
  QueryLoop(const QueryLoop&) = delete;
  QueryLoop& operator=(const QueryLoop&) = delete;
  ~QueryLoop() { End(); }

  // Blocks until so many queries have ended since the loop began.
  void AwaitQueries(uint64_t count) const {
    while (queries() < count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  uint64_t queries() const { return queries_.load(std::memory_order_relaxed); }
  void End() {
    end_.store(true, std::memory_order_relaxed);
    if (thread_.joinable()) thread_.join();
  }

  // After End. Medians in ms; 0 if none was measured.
  double BeforeMs(uint64_t begin_ns) const { return MedianMs(0, begin_ns); }
  double AfterMs(uint64_t end_ns) const { return MedianMs(end_ns, UINT64_MAX); }
  // From the morsels that ended in between: what a query would have taken at their pace.
  double DuringMs(uint64_t begin_ns, uint64_t end_ns) const {
    const auto ended =
        static_cast<double>(std::max<uint64_t>(1, EndedBy(end_ns) - EndedBy(begin_ns)));
    return static_cast<double>(end_ns - begin_ns) / 1e6 * static_cast<double>(morsels_per_query_) /
           ended;
  }
  // From `begin_ns` until as many morsels as so many queries have had ended.
  double MsOf(uint64_t queries, uint64_t begin_ns) const {
    const uint64_t last = EndedBy(begin_ns) + queries * morsels_per_query_ - 1;
    if (last >= morsel_ends_ns_.size()) Die("too few queries ran");
    return static_cast<double>(morsel_ends_ns_[last] - begin_ns) / 1e6;
  }

 private:
  void Run() {
    QueryAnswer first;
    for (uint64_t n = 0; !end_.load(std::memory_order_relaxed); ++n) {
      QueryAnswer answer;
      query_begins_ns_.push_back(NowNs());
      for (uint64_t row = 0; row < table_.rows(); row += kMorselRows) {
        query_(table_, row, std::min(row + kMorselRows, table_.rows()), answer);
        morsel_ends_ns_.push_back(NowNs());
      }
      if (n == 0) first = answer;
      if (!(answer == first))
        Die("query " + std::to_string(n) + " has another answer than the first");
      // Relaxed: what the loop has written is read after the thread has ended.
      queries_.store(n + 1, std::memory_order_relaxed);
    }
  }
  uint64_t EndedBy(uint64_t ns) const {
    return static_cast<uint64_t>(
        std::upper_bound(morsel_ends_ns_.begin(), morsel_ends_ns_.end(), ns) -
        morsel_ends_ns_.begin());
  }
  // Queries that began and ended between the two.
  double MedianMs(uint64_t from_ns, uint64_t to_ns) const {
    std::vector<double> found;
    for (uint64_t i = 0; i < queries(); ++i) {
      const uint64_t end_ns = morsel_ends_ns_[(i + 1) * morsels_per_query_ - 1];
      if (query_begins_ns_[i] >= from_ns && end_ns <= to_ns) {
        found.push_back(static_cast<double>(end_ns - query_begins_ns_[i]) / 1e6);
      }
    }
    return MedianOf(found);
  }

  const Lineitem& table_;
  const Query query_;
  uint64_t morsels_per_query_;
  std::vector<uint64_t> query_begins_ns_;
  std::vector<uint64_t> morsel_ends_ns_;
  std::atomic<bool> end_{false};
  std::atomic<uint64_t> queries_{0};
  std::thread thread_;
};

json Round(const QueryOptions& options, const Lineitem& table, std::byte* range,
           QueryLoop::Query query, RangeWriter& writer) {
  const size_t bytes = Lineitem::BytesFor(table.rows());
  const auto pool = NewPool(bytes, PagesOf(options.pages));
  writer.Begin();
  std::thread writing;
  if (options.written) writing = std::thread([&] { writer.Run(); });
  QueryLoop loop(table, query);
  loop.AwaitQueries(kQueriesBefore);
  const uint64_t begin_ns = NowNs();
  const uint64_t begin_writes = writer.writes();
  const auto done = leap::Migrate({range, bytes}, *pool,
                                  {.method = MethodOf(options.method),
                                   .area_bytes = size_t{options.area_kib} << 10,
                                   .tell_pages = false});
  const uint64_t end_ns = NowNs();
  const uint64_t end_writes = writer.writes();
  if (!done.ok()) Die(done.status().ToString());
  // The one that runs now began earlier.
  loop.AwaitQueries(loop.queries() + 1 + kQueriesAfter);
  loop.End();
  writer.End();
  if (writing.joinable()) writing.join();
  const double seconds = static_cast<double>(end_ns - begin_ns) / 1e9;
  return {{"migration_ms", seconds * 1e3},
          {"ended", done->ended.ToString()},
          {"before_ms", loop.BeforeMs(begin_ns)},
          {"during_ms", loop.DuringMs(begin_ns, end_ns)},
          {"after_ms", loop.AfterMs(end_ns)},
          {"five_ms", loop.MsOf(kQueriesAfter, begin_ns)},
          {"writes_s", static_cast<double>(end_writes - begin_writes) / seconds}};
}

json Measure(const QueryOptions& options) {
  const size_t bytes = Lineitem::BytesFor(options.rows);
  std::byte* const range = NewRange(bytes, PagesOf(options.pages));
  Lineitem table(range, options.rows);
  table.Generate();
  RangeWriter writer(table.orderkey(), table.rows(), {.flat_out = options.written});
  json rounds = {{"q1", json::array()}, {"q6", json::array()}};
  for (uint32_t round = 0; round < options.rounds; ++round) {
    rounds["q1"].push_back(Round(options, table, range, RunQuery1, writer));
    rounds["q6"].push_back(Round(options, table, range, RunQuery6, writer));
  }
  return {{"method", options.method},  {"pages", options.pages},       {"rows", options.rows},
          {"mib", bytes >> 20},        {"area_kib", options.area_kib}, {"queries", rounds},
          {"writes", writer.writes()}, {"lost", writer.CountLost()}};
}

int Main(int argc, char** argv) {
  QueryOptions options;
  ParseFlags(argc, argv,
             {{"--method", options.method, {"hold", "owner", "retry", "kernel"}},
              {"--pages", options.pages, {"huge", "small"}},
              {"--rows", options.rows, 1024, 1u << 30},
              {"--area-kib", options.area_kib, 4, 1u << 20},
              {"--written", options.written},
              {"--rounds", options.rounds, 1, 100}});
  if (options.written && options.method == "owner") Die("the owner alone may write");
  std::printf("%s\n", Measure(options).dump().c_str());
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
