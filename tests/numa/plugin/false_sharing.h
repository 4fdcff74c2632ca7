// Lines that a cpu takes from another one's cache for nothing: false sharing. Such a take brings a
// line that another cpu has written, and until the cpu loses the line and takes it anew it touches
// no byte that the writer wrote. Then only the layout made the line move.
//
// A line's words are shared by the cpus' threads; what a cpu has taken, and used none of it so far,
// is its own.
//
// The figure is a lower bound. What it leaves out:
// - A writer's bytes are all those that it stored since another cpu's last store to the line. If it
//   has once written the whole line, no take of it is for nothing until somebody else writes.
// - Only the first that takes a line after a store takes it dirty, and counts. Others take a clean
//   line, for nothing or not.
// - If two cpus race for a line, the directory may hear of a store before its bytes are noted here.
//   Then a take counts as one of need.
// - An access across two lines is one to the first.
#ifndef ERIS_TESTS_NUMA_PLUGIN_FALSE_SHARING_H_
#define ERIS_TESTS_NUMA_PLUGIN_FALSE_SHARING_H_

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <tuple>
#include <unordered_map>

#include "tests/numa/plugin/line_directory.h"

namespace eris::numa_lab {

// The bytes of an access within its line, a bit for each. `bytes`: 1 or more.
constexpr uint64_t BytesOfLine(uint64_t address, uint64_t bytes) {
  const uint64_t first = address % 64;
  return (bytes >= 64 ? ~uint64_t{0} : (uint64_t{1} << bytes) - 1) << first;
}

class FalseSharing {
 public:
  // Where a take happened: phase, instruction, virtual page.
  using Place = std::tuple<uint8_t, uint64_t, uint64_t>;

  // What one cpu has taken. Used by the cpu's thread alone.
  class Taken {
   public:
    // Takes that turned out false, or have not turned out true so far, by place.
    std::map<Place, uint64_t> CountFalse() const {
      std::map<Place, uint64_t> all = false_;
      for (const auto& [line, take] : open_) ++all[take.place];
      return all;
    }

   private:
    friend class FalseSharing;
    struct Take {
      uint64_t written;  // by the cpu that had the line
      Place place;
    };
    std::unordered_map<uint64_t, Take> open_;  // by line: no written byte touched so far
    std::map<Place, uint64_t> false_;
  };

  // Ends the program if the system gives no address space.
  explicit FalseSharing(uint64_t lines)
      : bytes_(lines * sizeof(Line)),
        lines_(static_cast<Line*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    if (lines_ == MAP_FAILED) {
      std::perror("false sharing");
      std::abort();
    }
  }
  ~FalseSharing() { munmap(lines_, bytes_); }
  FalseSharing(const FalseSharing&) = delete;
  FalseSharing& operator=(const FalseSharing&) = delete;

  // An access by `cpu` to some bytes of a line (BytesOfLine), and what the directory said of it.
  // Any thread, but for one cpu one at a time.
  void Access(size_t cpu, Taken& taken, uint64_t line, uint64_t bytes, bool store,
              const LineAccess& moved, const Place& place) {
    Line& words = lines_[line];
    const std::atomic_ref<uint64_t> open(words.open), written(words.written);
    const std::atomic_ref<uint64_t> writer(words.writer);
    const uint64_t own = uint64_t{1} << cpu;
    // relaxed, as everywhere here: threads that race for a line race for it in the guest, too.
    const bool is_open = (open.load(std::memory_order_relaxed) & own) != 0;
    const uint64_t others = written.load(std::memory_order_relaxed);
    bool open_now = is_open;
    if (moved.taken && is_open) {
      Close(taken, line);
      open_now = false;
    }
    if (moved.from_dirty && (others & bytes) == 0) {
      taken.open_.insert({line, {others, place}});
      open_now = true;
    } else if (open_now && Uses(taken, line, bytes)) {
      open_now = false;
    }
    if (open_now && !is_open) open.fetch_or(own, std::memory_order_relaxed);
    if (!open_now && is_open) open.fetch_and(~own, std::memory_order_relaxed);
    if (!store) return;
    if (writer.load(std::memory_order_relaxed) != cpu + 1) {
      writer.store(cpu + 1, std::memory_order_relaxed);
      written.store(bytes, std::memory_order_relaxed);
    } else if ((others & bytes) != bytes) {
      written.fetch_or(bytes, std::memory_order_relaxed);
    }
  }

 private:
  struct Line {
    uint64_t open;     // a bit for each cpu that has an open take of it
    uint64_t written;  // bytes that the last writer wrote
    uint64_t writer;   // its cpu + 1; 0: nobody
  };

  // Whether the open take of the line was one of need after all: then it is open no more.
  static bool Uses(Taken& taken, uint64_t line, uint64_t bytes) {
    const auto take = taken.open_.find(line);
    if (take == taken.open_.end() || (take->second.written & bytes) == 0) return false;
    taken.open_.erase(take);
    return true;
  }
  static void Close(Taken& taken, uint64_t line) {
    const auto take = taken.open_.find(line);
    if (take == taken.open_.end()) return;
    ++taken.false_[take->second.place];
    taken.open_.erase(take);
  }

  const size_t bytes_;
  Line* const lines_;  // by line; shared by all cpus' threads
};

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_PLUGIN_FALSE_SHARING_H_
