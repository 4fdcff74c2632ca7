// Measures one allocator. run.py starts one process for each, with the peers' libraries preloaded,
// and sends them commands in turn.
//
//   allocator_lab [--tiny] --trace <file> --way <way> [--cpu n]
//     reads commands on standard input and answers each with a line of JSON:
//       build        runs the trace's build-up; memory before and after
//       collapse     puts all memory onto huge pages (MADV_COLLAPSE), whatever the allocator asked
//                    for
//       round <i>    runs section i, in nanoseconds per record
//       random       a small working set: random slots among 65536, median over chunks
//       pairs        allocate, write, free, at once: median, for each class of the trace
//       foreign      one thread allocates, another one frees
//       erase <n>    frees all but every n-th block at random; memory then and later
//       drop         frees the rest (ours: drops the object); memory then and later
//     --tiny: little of each, and no waiting; the figures mean nothing
//   allocator_lab --paper --way <way> --threads <n> --operations <n> [--seed n]
//     the micro-benchmark of the allocators' paper (paper_load.h), once
//
// Ways: none (the floor), cache (ours), malloc, sdallocx, mi_sized, tc_sized,
// scalable. Memory is of this process, above what it had before the allocator's first
// block.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/memory/allocators.h"
#include "bench/memory/foreign_frees.h"
#include "bench/memory/our_memory.h"
#include "bench/memory/paper_load.h"
#include "bench/memory/process_memory.h"
#include "bench/memory/replay.h"
#include "bench/memory/small_loads.h"
#include "bench/memory/trace.h"
#include "bench/routing/flags.h"
#include "bench/routing/huge_buffer.h"
#include "bench/routing/machine.h"

namespace eris::bench {
namespace {

// A NumaNode's memory is taken only for our own allocator.
struct Lab {
  ClassBytes class_bytes{};
  std::unique_ptr<OurMemory> ours;
  memory::LocalCache& cache(size_t i) { return ours->cache(i); }
};

// Calls `use` with a factory of the way's allocators: make(i) is for the i-th thread.
template <class Use>
void WithAllocator(const std::string& way, Lab& lab, const Use& use) {
  const ClassBytes& bytes = lab.class_bytes;
  if (way == "none") {
    use([](size_t) { return NoAllocator(); });
  } else if (way == "cache") {
    use([&](size_t i) { return Cache(bytes, lab.cache(i)); });
  } else if (way == "malloc") {
    use([&](size_t) { return Malloc(bytes, "malloc", "free"); });
  } else if (way == "sdallocx") {
    use([&](size_t) { return SdallocxMalloc(bytes); });
  } else if (way == "mi_sized") {
    use([&](size_t) { return SizedMalloc(bytes, "mi_malloc", "mi_free_size"); });
  } else if (way == "tc_sized") {
    use([&](size_t) { return SizedMalloc(bytes, "tc_malloc", "tc_free_sized"); });
  } else if (way == "scalable") {
    use([&](size_t) { return Malloc(bytes, "scalable_malloc", "scalable_free"); });
  } else {
    Die("no way " + way);
  }
}

bool IsOurs(const std::string& way) { return way == "cache"; }

// The slot table of the trace, and for the floor the blocks.
class TraceRun {
 public:
  TraceRun(const std::string& path, std::string way, bool tiny)
      : way_(std::move(way)),
        tiny_(tiny),
        trace_(path),
        slots_(trace_.header().slots * sizeof(void*)),
        classes_(trace_.header().slots) {
    lab_.class_bytes = trace_.header().class_bytes;
    if (way_ == "none") PlaceBlocks();
    before_ = ProcessMemory::Now();
    if (IsOurs(way_)) lab_.ours = std::make_unique<OurMemory>(2);
  }

  void Build() {
    const double ns = Run(trace_.BuildUp());
    std::printf("{\"ns\": %.3f, \"live\": %llu, \"seed\": %llu, ", ns,
                static_cast<unsigned long long>(trace_.header().live_bytes),
                static_cast<unsigned long long>(trace_.header().seed));
    PrintMemory();
    std::printf("}\n");
  }
  void Collapse() {
    const uint64_t collapsed = CollapseAll();
    std::printf("{\"collapsed\": %llu, ", static_cast<unsigned long long>(collapsed));
    PrintMemory();
    std::printf("}\n");
  }
  void Round(uint64_t section) {
    if (section != sections_done_ || section >= trace_.header().sections) {
      Die("not the next section");
    }
    const double ns = Run(trace_.Section(section));
    ++sections_done_;
    std::printf("{\"ns\": %.3f, ", ns);
    PrintMemory();
    std::printf("}\n");
  }
  void Random() {
    std::vector<double> ns;
    WithAllocator(way_, lab_, [&](const auto& make) {
      auto allocator = make(0);
      SmallLoads loads(trace_, way_ == "none", tiny_ ? 4 : 400);
      ns = loads.Random(allocator);
    });
    std::printf("{\"ns\": %.3f}\n", MedianOf(ns));
  }
  void Pairs() {
    std::vector<double> ns;
    WithAllocator(way_, lab_, [&](const auto& make) {
      auto allocator = make(0);
      SmallLoads loads(trace_, way_ == "none", tiny_ ? 4 : 400);
      ns = loads.Pairs(allocator);
    });
    std::printf("{\"ns\": [");
    for (size_t i = 0; i < ns.size(); ++i) std::printf("%s%.3f", i == 0 ? "" : ", ", ns[i]);
    std::printf("]}\n");
  }
  void Foreign() {
    if (way_ == "none") {
      std::printf("{\"possible\": false}\n");
      return;
    }
    WithAllocator(way_, lab_, [&](const auto& make) {
      auto owner = make(0);
      auto other = make(1);
      const auto end_turn = [&](size_t thread) {
        if (lab_.ours != nullptr) OurMemory::EndTurn(lab_.cache(thread));
      };
      PrintForeignFrees(MeasureForeignFrees(trace_, tiny_ ? 4 : 600, owner, other, end_turn));
    });
  }
  // The executed records determine which slots are live.
  void Erase(uint64_t keep_every) {
    FollowRecords();
    uint64_t live_bytes = 0;
    for (uint32_t slot = 0; slot < slot_count(); ++slot) {
      if (classes()[slot] != kDead) live_bytes += lab_.class_bytes[classes()[slot]];
    }
    std::printf("{\"live_before\": %llu, \"before\": {",
                static_cast<unsigned long long>(live_bytes));
    PrintMemory();
    std::mt19937_64 random(trace_.header().seed);
    uint64_t left = 0;
    WithAllocator(way_, lab_, [&](const auto& make) {
      auto allocator = make(0);
      for (uint32_t slot = 0; slot < slot_count(); ++slot) {
        uint8_t& size_class = classes()[slot];
        if (size_class == kDead) continue;
        if (keep_every != 0 && random() % keep_every == 0) {
          left += lab_.class_bytes[size_class];
        } else {
          allocator.Free(slots()[slot], size_class);
          size_class = kDead;
        }
      }
    });
    if (IsOurs(way_)) OurMemory::EndIdleTurn(lab_.cache(0));
    std::printf("}, \"live\": %llu, ", static_cast<unsigned long long>(left));
    PrintMemoryOverTime();
  }
  void Drop() {
    if (IsOurs(way_)) {
      lab_.ours->DropObject();
    } else {
      WithAllocator(way_, lab_, [&](const auto& make) {
        auto allocator = make(0);
        for (uint32_t slot = 0; slot < slot_count(); ++slot) {
          if (classes()[slot] != kDead) allocator.Free(slots()[slot], classes()[slot]);
        }
      });
    }
    std::printf("{\"live\": 0, ");
    PrintMemoryOverTime();
  }

 private:
  static constexpr uint8_t kDead = 0xff;

  uint64_t slot_count() const { return trace_.header().slots; }
  uint8_t* classes() { return reinterpret_cast<uint8_t*>(classes_.data()); }
  void** slots() { return reinterpret_cast<void**>(slots_.data()); }
  // CPU time of this thread, including the kernel's: other programs' time does not count.
  static uint64_t ThreadNs() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  }
  double Run(std::span<const TraceRecord> records) {
    double ns = 0;
    WithAllocator(way_, lab_, [&](const auto& make) {
      auto allocator = make(0);
      const uint64_t begin_ns = ThreadNs();
      sum_ += Replay(allocator, records, slots());
      ns = static_cast<double>(ThreadNs() - begin_ns) / static_cast<double>(records.size());
    });
    return ns;
  }
  // One after the other, in the order of their first use, as bump allocation would place them;
  // leaves adjacent, TreeNodes on their own cache lines.
  void PlaceBlocks() {
    const TraceHeader& header = trace_.header();
    std::vector<uint8_t> class_of(header.slots, kDead);
    const auto learn = [&](std::span<const TraceRecord> records) {
      for (const TraceRecord record : records) {
        class_of[record.slot()] = static_cast<uint8_t>(record.size_class());
      }
    };
    learn(trace_.BuildUp());
    for (uint64_t i = 0; i < header.sections; ++i) learn(trace_.Section(i));
    std::array<size_t, kTraceClassesMax> begin{};
    std::array<size_t, kTraceClassesMax> count{};
    for (const uint8_t size_class : class_of) ++count[size_class % kTraceClassesMax];
    size_t bytes = 0;
    for (size_t i = 0; i < header.classes; ++i) {
      begin[i] = bytes;
      bytes += base::RoundUp(count[i] * header.class_bytes[i], 64);
    }
    blocks_.emplace(bytes);
    for (uint64_t slot = 0; slot < header.slots; ++slot) {
      size_t& at = begin[class_of[slot]];
      slots()[slot] = blocks_->data() + at;
      at += header.class_bytes[class_of[slot]];
    }
  }
  // Determines which blocks are live after the executed records.
  void FollowRecords() {
    std::memset(classes(), kDead, slot_count());
    const auto follow = [&](std::span<const TraceRecord> records) {
      for (const TraceRecord record : records) {
        classes()[record.slot()] =
            record.is_free() ? kDead : static_cast<uint8_t>(record.size_class());
      }
    };
    follow(trace_.BuildUp());
    for (uint64_t section = 0; section < sections_done_; ++section) {
      follow(trace_.Section(section));
    }
  }
  void PrintMemory() const {
    const ProcessMemory now = ProcessMemory::Now();
    std::printf("\"anonymous\": %lld, \"huge\": %lld",
                static_cast<long long>(now.anonymous - before_.anonymous),
                static_cast<long long>(now.huge - before_.huge));
  }
  void PrintMemoryOverTime() const {
    std::printf("\"now\": {");
    PrintMemory();
    std::this_thread::sleep_for(std::chrono::milliseconds(tiny_ ? 10 : 4500));
    std::printf("}, \"later\": {");
    PrintMemory();
    std::printf("}}\n");
  }

  const std::string way_;
  const bool tiny_;
  const Trace trace_;
  HugeBuffer slots_;
  HugeBuffer classes_;  // by slot: the class of its live block, or kDead
  std::optional<HugeBuffer> blocks_;
  Lab lab_;
  ProcessMemory before_;
  uint64_t sections_done_ = 0;
  uint64_t sum_ = 0;
};

void Serve(TraceRun& run) {
  char line[128];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    char command[32] = {};
    unsigned long long number = 0;
    std::sscanf(line, "%31s %llu", command, &number);
    const std::string name = command;
    if (name == "build") {
      run.Build();
    } else if (name == "collapse") {
      run.Collapse();
    } else if (name == "round") {
      run.Round(number);
    } else if (name == "random") {
      run.Random();
    } else if (name == "pairs") {
      run.Pairs();
    } else if (name == "foreign") {
      run.Foreign();
    } else if (name == "erase") {
      run.Erase(number);
    } else if (name == "drop") {
      run.Drop();
    } else {
      Die("no command " + name);
    }
    std::fflush(stdout);
  }
}

void RunPaperLoad(const std::string& way, uint32_t threads, uint64_t operations, uint64_t seed) {
  Lab lab;
  lab.class_bytes = PaperLoad::kClassBytes;
  PaperLoad load(threads, operations, seed);
  const ProcessMemory before = ProcessMemory::Now();
  if (IsOurs(way)) lab.ours = std::make_unique<OurMemory>(threads);
  double seconds = 0;
  WithAllocator(way, lab, [&](const auto& make) { seconds = load.Run(make); });
  std::printf("{\"seconds\": %.6f, \"requested\": %llu, \"peak\": %lld}\n", seconds,
              static_cast<unsigned long long>(load.requested_bytes_peak()),
              static_cast<long long>(ProcessMemory::PeakResident() - before.resident));
}

int Main(int argc, char** argv) {
  std::string trace, way;
  uint32_t threads = 1, operations = 20'000'000, seed = 1, cpu = 0;
  bool paper = false, tiny = false;
  ParseFlags(argc, argv,
             {{"--paper", paper},
              {"--tiny", tiny},
              {"--trace", trace},
              {"--way", way},
              {"--threads", threads, 1, 256},
              {"--operations", operations, 1000, 1'000'000'000},
              {"--seed", seed, 0},
              {"--cpu", cpu, 0, 1023}});
  if (paper) {
    RunPaperLoad(way, threads, operations, seed);
    return 0;
  }
  const std::vector<int> cpus = AllowedCpus();
  PinTo(cpus[cpu % cpus.size()]);
  TraceRun run(trace, way, tiny);
  Serve(run);
  std::fflush(stdout);
  std::_Exit(0);  // skip the allocator's own shutdown
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
