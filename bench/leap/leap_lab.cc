// Migrations of a range that is written or read meanwhile, compared with memcpy of the same range
// in the same pieces into the same pool in the same round. Prints a line of JSON. Paper: page_leap
// 3, 5 and 6.
//
//   leap_lab [--method hold|owner|retry|kernel|none] [--pages huge|small|file] [--mib 1024]
//            [--area-kib 16384] [--writes-per-s 0] [--flat-out] [--skewed] [--reader] [--fresh]
//            [--alone-ms 0] [--seconds 0] [--deadline-s 0] [--rounds 3] [--no-userfault]
//
// A writer increments words at random, so many a second or as fast as it can; skewed: three of four
// in a 32nd of the range. A reader sums up the range. Both work alone for --alone-ms before the
// migration begins. Their figures are those during the migration, or of --seconds from its begin.
// With `owner` the migrating thread writes, between two areas; with `none` nothing migrates. In the
// end all increments are replayed: words that differ have lost some.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/leap/leap_load.h"
#include "bench/leap/leap_range.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "eris/leap.h"
#include "leap/faults.h"

namespace eris::bench {
namespace {

using nlohmann::json;

struct LabOptions {
  std::string method = "hold";
  std::string pages = "huge";
  uint32_t mib = 1024;
  uint32_t area_kib = 16384;
  WriterOptions writer;
  bool reader = false;
  bool fresh = false;
  uint32_t alone_ms = 0;
  double seconds = 0;
  double deadline_s = 0;
  uint32_t rounds = 3;
  bool no_userfault = false;

  size_t bytes() const { return size_t{mib} << 20; }
  size_t area_bytes() const { return size_t{area_kib} << 10; }
};

// What the writer and the reader have done up to a moment.
struct Work {
  uint64_t at_ns;
  uint64_t writes;
  uint64_t read_bytes;
};

// The other threads of a round: a writer and a reader.
class OtherThreads {
 public:
  OtherThreads(RangeWriter& writer, RangeReader& reader, const LabOptions& options)
      : writer_(writer), reader_(reader) {
    writer.Begin();
    reader.Begin();
    if (options.writer.writes_at_all() && options.method != "owner") {
      threads_.emplace_back([&writer] { writer.Run(); });
    }
    if (options.reader) threads_.emplace_back([&reader] { reader.Run(); });
  }
  OtherThreads(const OtherThreads&) = delete;
  OtherThreads& operator=(const OtherThreads&) = delete;
  ~OtherThreads() {
    writer_.End();
    reader_.End();
    for (std::thread& thread : threads_) thread.join();
  }
  Work Now() const { return {NowNs(), writer_.writes(), reader_.bytes()}; }

 private:
  RangeWriter& writer_;
  RangeReader& reader_;
  std::vector<std::thread> threads_;
};

void SleepUntil(uint64_t ns) {
  const uint64_t now_ns = NowNs();
  if (ns > now_ns) std::this_thread::sleep_for(std::chrono::nanoseconds(ns - now_ns));
}

double PerSecond(uint64_t count, const Work& from, const Work& to) {
  return to.at_ns == from.at_ns
             ? 0
             : static_cast<double>(count) * 1e9 / static_cast<double>(to.at_ns - from.at_ns);
}

leap::Options MigrationOptions(const LabOptions& options) {
  leap::Options wanted{
      .method = MethodOf(options.method), .area_bytes = options.area_bytes(), .tell_pages = false};
  if (options.deadline_s > 0) wanted.deadline = absl::Now() + absl::Seconds(options.deadline_s);
  return wanted;
}

// What a migration has done; of none, that nothing was to do.
leap::Result Moved(const LabOptions& options, std::byte* range, leap::MemoryPool& pool,
                   RangeWriter& writer) {
  if (options.method == "none") return {};
  const bool owner = options.method == "owner";
  auto done = leap::Migrate({range, options.bytes()}, pool, MigrationOptions(options),
                            [&](const leap::Progress&) {
                              if (owner) writer.WriteDue();
                            });
  if (!done.ok()) Die(done.status().ToString());
  return *std::move(done);
}

json Round(const LabOptions& options, std::byte* range, RangeWriter& writer, RangeReader& reader) {
  const leap::Pages pages = PagesOf(options.pages);
  const size_t bytes = options.bytes();
  const auto pool = NewPool(bytes, pages);
  const auto [copy_ns, slowest_ns] = CopyNs(range, bytes, options.area_bytes(), *pool);
  const uint64_t fresh_ns =
      options.fresh ? FreshCopyNs(range, bytes, options.area_bytes(), pages) : 0;
  OtherThreads others(writer, reader, options);
  const Work first = others.Now();
  SleepUntil(first.at_ns + uint64_t{options.alone_ms} * 1'000'000);
  const Work begin = others.Now();
  writer.ForgetLongest();
  reader.ForgetLongest();
  const leap::Result done = Moved(options, range, *pool, writer);
  const uint64_t ns = NowNs() - begin.at_ns;
  SleepUntil(begin.at_ns + static_cast<uint64_t>(options.seconds * 1e9));
  const Work end = others.Now();
  const double copied =
      static_cast<double>(done.progress.copied_bytes) / static_cast<double>(bytes);
  return {{"ms", static_cast<double>(ns) / 1e6},
          {"memcpy_ms", static_cast<double>(copy_ns) / 1e6},
          {"fresh_memcpy_ms", static_cast<double>(fresh_ns) / 1e6},
          {"over_memcpy", static_cast<double>(ns) / static_cast<double>(copy_ns)},
          {"area_copy_us", static_cast<double>(slowest_ns) / 1e3},
          {"ended", done.ended.ToString()},
          {"how", done.how},
          {"home_bytes", done.progress.home_bytes},
          {"left_bytes", done.progress.left_bytes},
          {"copied_over_bytes", copied},
          {"splits", done.splits},
          {"longest_hold_us", absl::ToDoubleMicroseconds(done.longest_hold)},
          {"alone_writes_s", PerSecond(begin.writes - first.writes, first, begin)},
          {"writes_s", PerSecond(end.writes - begin.writes, begin, end)},
          {"longest_write_us", static_cast<double>(writer.longest_ns()) / 1e3},
          {"alone_read_gb_s", PerSecond(begin.read_bytes - first.read_bytes, first, begin) / 1e9},
          {"read_gb_s", PerSecond(end.read_bytes - begin.read_bytes, begin, end) / 1e9},
          {"longest_read_us", static_cast<double>(reader.longest_ns()) / 1e3}};
}

json Measure(const LabOptions& options) {
  if (options.no_userfault) {
    leap::InjectedFaults().userfault.Arm(1, memory::FailurePoint::Mode::kFromThen);
  }
  std::byte* const range = NewRange(options.bytes(), PagesOf(options.pages));
  auto* const words = reinterpret_cast<uint64_t*>(range);
  const uint64_t count = options.bytes() / sizeof(uint64_t);
  RangeWriter writer(words, count, options.writer);
  RangeReader reader(words, count);
  json rounds = json::array();
  double longest_us = 0;
  for (uint32_t round = 0; round < options.rounds; ++round) {
    rounds.push_back(Round(options, range, writer, reader));
    longest_us = std::max(longest_us, rounds.back()["longest_write_us"].get<double>());
  }
  return {
      {"method", options.method},       {"pages", options.pages},    {"mib", options.mib},
      {"area_kib", options.area_kib},   {"rounds", rounds},          {"writes", writer.writes()},
      {"longest_write_us", longest_us}, {"lost", writer.CountLost()}};
}

int Main(int argc, char** argv) {
  LabOptions options;
  ParseFlags(argc, argv,
             {{"--method", options.method, {"hold", "owner", "retry", "kernel", "none"}},
              {"--pages", options.pages, {"huge", "small", "file"}},
              {"--mib", options.mib, 1, 1u << 16},
              {"--area-kib", options.area_kib, 4, 1u << 20},
              {"--writes-per-s", options.writer.writes_per_s, 0, 100'000'000},
              {"--flat-out", options.writer.flat_out},
              {"--skewed", options.writer.skewed},
              {"--reader", options.reader},
              {"--fresh", options.fresh},
              {"--alone-ms", options.alone_ms, 0, 60'000},
              {"--seconds", options.seconds, 0, 3600},
              {"--deadline-s", options.deadline_s, 0, 3600},
              {"--rounds", options.rounds, 1, 100},
              {"--no-userfault", options.no_userfault}});
  std::printf("%s\n", Measure(options).dump().c_str());
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
