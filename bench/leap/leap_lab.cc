// Migrations of a range that is written meanwhile, compared with memcpy of the same range in the
// same pieces into the same pool. Prints a line of JSON. Paper: page_leap 5 and 6.
//
//   leap_lab [--method hold|owner|retry|kernel] [--pages huge|small|file] [--mib 1024]
//            [--area-kib 16384] [--writes-per-s 0] [--flat-out] [--skewed] [--rounds 3]
//            [--no-userfault]
//
// A writer increments words at random, so many a second or as fast as it can; skewed: nine of ten
// in a sixteenth of the range. With `owner` the migrating thread writes, between two areas. In the
// end all increments are replayed: words that differ have lost some.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/cache_line.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "eris/leap.h"
#include "leap/faults.h"
#include "leap/memory_pool.h"

namespace eris::bench {
namespace {

using nlohmann::json;

struct LabOptions {
  std::string method = "hold";
  std::string pages = "huge";
  uint32_t mib = 1024;
  uint32_t area_kib = 16384;
  uint32_t writes_per_s = 0;
  bool flat_out = false;
  bool skewed = false;
  uint32_t rounds = 3;
  bool no_userfault = false;
};

leap::Method MethodOf(const std::string& name) {
  for (const leap::Method method :
       {leap::Method::kOwner, leap::Method::kHold, leap::Method::kRetry, leap::Method::kKernel}) {
    if (name == leap::MethodName(method)) return method;
  }
  Die("no method " + name);
}
leap::Pages PagesOf(const std::string& name) {
  return name == "huge"    ? leap::Pages::kAnonymousHuge
         : name == "small" ? leap::Pages::kAnonymous
                           : leap::Pages::kFile;
}

// The range, as a program that knows nothing of this has it.
uint64_t* NewRange(size_t bytes, leap::Pages pages) {
  const int file = pages == leap::Pages::kFile ? memfd_create("leap-lab", MFD_CLOEXEC) : -1;
  if (pages == leap::Pages::kFile && ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    Die("no memory file");
  }
  void* const wide = mmap(nullptr, bytes + leap::kHugePageBytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  auto* const at = reinterpret_cast<void*>(
      base::RoundUp(reinterpret_cast<uintptr_t>(wide), leap::kHugePageBytes));
  const int flags = MAP_FIXED | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  if (wide == MAP_FAILED || mmap(at, bytes, PROT_READ | PROT_WRITE, flags, file, 0) == MAP_FAILED) {
    Die("no memory");
  }
  // The file stays open, as that of a program whose memory it is: its old pages stay with it.
  madvise(at, bytes, pages == leap::Pages::kAnonymousHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  std::memset(at, 0, bytes);
  return static_cast<uint64_t*>(at);
}

// The places of increments, one after the other; made again for the replay.
class Places {
 public:
  Places(uint64_t words, bool skewed) : words_(words), skewed_(skewed) {}
  uint64_t Next() {
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    const uint64_t high = random_ >> 20;
    return skewed_ && high % 10 != 0 ? (high / 10) % (words_ / 16) : (high / 10) % words_;
  }

 private:
  const uint64_t words_;
  const bool skewed_;
  uint64_t random_ = 1;
};

// Increments words at its pace, from a thread of its own or in pieces.
class Writer {
 public:
  Writer(uint64_t* words, uint64_t count, const LabOptions& options)
      : words_(words), places_(count, options.skewed), options_(options) {}

  void Begin() {
    end_.store(false, std::memory_order_relaxed);
    begin_ns_ = NowNs();
    in_round_ = 0;
  }
  // All that are due now.
  void WriteDue() {
    const uint64_t due = (NowNs() - begin_ns_) * options_.writes_per_s / 1'000'000'000;
    for (; in_round_ < due; ++in_round_) Write();
  }
  void Run() {
    while (!end_.load(std::memory_order_relaxed)) {
      if (options_.flat_out) {
        Write();
        ++in_round_;
      } else {
        WriteDue();
      }
    }
  }
  void End() { end_.store(true, std::memory_order_relaxed); }
  // The words whose increments are not all there.
  uint64_t CountLost() {
    Places again = Places(count(), options_.skewed);
    for (uint64_t i = 0; i < writes_; ++i) --words_[again.Next()];
    uint64_t lost = 0;
    for (uint64_t i = 0; i < count(); ++i) lost += words_[i] != 0;
    return lost;
  }
  uint64_t writes() const { return writes_; }
  uint64_t longest_ns() const { return longest_ns_; }
  bool writes_at_all() const { return options_.flat_out || options_.writes_per_s > 0; }

 private:
  uint64_t count() const { return uint64_t{options_.mib} << 17; }
  void Write() {
    // volatile: each write goes to memory.
    volatile uint64_t& word = words_[places_.Next()];
    const uint64_t before_ns = NowNs();
    word = word + 1;
    longest_ns_ = std::max(longest_ns_, NowNs() - before_ns);
    ++writes_;
  }

  uint64_t* const words_;
  Places places_;
  const LabOptions options_;
  std::atomic<bool> end_{false};
  uint64_t begin_ns_ = 0;
  uint64_t in_round_ = 0;
  uint64_t writes_ = 0;
  uint64_t longest_ns_ = 0;
};

std::unique_ptr<leap::MemoryPool> NewPool(size_t bytes, leap::Pages pages) {
  auto pool = leap::MemoryPool::Create({.bytes = bytes, .pages = pages, .bind = false},
                                       topology::NumaNode{.memory_bytes = 1});
  if (!pool.ok()) Die(pool.status().ToString());
  return *std::move(pool);
}

// The range copied in pieces of an area's size into the pool, which then is as before. In ns; of
// the slowest piece, too.
std::pair<uint64_t, uint64_t> CopyNs(const std::byte* range, size_t bytes, size_t area,
                                     leap::MemoryPool& pool) {
  std::vector<std::byte*> pieces;
  uint64_t slowest_ns = 0;
  const uint64_t begin_ns = NowNs();
  uint64_t last_ns = begin_ns;
  for (size_t at = 0; at < bytes; at += area) {
    const size_t piece = std::min(area, bytes - at);
    pieces.push_back(pool.Take(piece, range + at));
    if (pieces.back() == nullptr) Die("the pool is too small");
    std::memcpy(pieces.back(), range + at, piece);
    const uint64_t now_ns = NowNs();
    slowest_ns = std::max(slowest_ns, now_ns - last_ns);
    last_ns = now_ns;
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    pool.Give(pieces[i], std::min(area, bytes - i * area));
  }
  return {last_ns - begin_ns, slowest_ns};
}

json Measure(const LabOptions& options) {
  const leap::Pages pages = PagesOf(options.pages);
  const size_t bytes = size_t{options.mib} << 20, area = size_t{options.area_kib} << 10;
  uint64_t* const words = NewRange(bytes, pages);
  auto* const begin = reinterpret_cast<std::byte*>(words);
  const leap::Method method = MethodOf(options.method);
  const bool owner = method == leap::Method::kOwner;
  if (options.no_userfault) {
    leap::InjectedFaults().userfault.Arm(1, memory::FailurePoint::Mode::kFromThen);
  }
  Writer writer(words, bytes / sizeof(uint64_t), options);
  json rounds = json::array();
  for (uint32_t round = 0; round < options.rounds; ++round) {
    const auto pool = NewPool(bytes, pages);
    const auto [copy_ns, slowest_ns] = CopyNs(begin, bytes, area, *pool);
    writer.Begin();
    std::thread thread;
    if (!owner && writer.writes_at_all()) thread = std::thread([&] { writer.Run(); });
    const uint64_t begin_ns = NowNs();
    const auto done = leap::Migrate({words, bytes}, *pool,
                                    {.method = method, .area_bytes = area, .tell_pages = false},
                                    [&](const leap::Progress&) {
                                      if (owner) writer.WriteDue();
                                    });
    const uint64_t ns = NowNs() - begin_ns;
    writer.End();
    if (thread.joinable()) thread.join();
    if (!done.ok()) Die(done.status().ToString());
    rounds.push_back({{"ms", static_cast<double>(ns) / 1e6},
                      {"memcpy_ms", static_cast<double>(copy_ns) / 1e6},
                      {"over_memcpy", static_cast<double>(ns) / static_cast<double>(copy_ns)},
                      {"area_copy_us", static_cast<double>(slowest_ns) / 1e3},
                      {"ended", done->ended.ToString()},
                      {"how", done->how},
                      {"home_bytes", done->progress.home_bytes},
                      {"copied_over_bytes", static_cast<double>(done->progress.copied_bytes) /
                                                static_cast<double>(bytes)},
                      {"splits", done->splits},
                      {"longest_hold_us", absl::ToDoubleMicroseconds(done->longest_hold)}});
  }
  return {{"method", options.method},
          {"pages", options.pages},
          {"mib", options.mib},
          {"area_kib", options.area_kib},
          {"rounds", rounds},
          {"writes", writer.writes()},
          {"longest_write_us", static_cast<double>(writer.longest_ns()) / 1e3},
          {"lost", writer.CountLost()}};
}

int Main(int argc, char** argv) {
  LabOptions options;
  ParseFlags(argc, argv,
             {{"--method", options.method, {"hold", "owner", "retry", "kernel"}},
              {"--pages", options.pages, {"huge", "small", "file"}},
              {"--mib", options.mib, 1, 1u << 16},
              {"--area-kib", options.area_kib, 4, 1u << 20},
              {"--writes-per-s", options.writes_per_s, 0, 100'000'000},
              {"--flat-out", options.flat_out},
              {"--skewed", options.skewed},
              {"--rounds", options.rounds, 1, 100},
              {"--no-userfault", options.no_userfault}});
  std::printf("%s\n", Measure(options).dump().c_str());
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
