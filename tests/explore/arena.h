// The memory of one execution. Whatever a scenario allocates (operator new is replaced in these
// tests) comes from here, at the same addresses in every execution, and is not used again before
// the next. So the arena sees leaks, double frees and uses after free, and keeps for every 8 bytes
// who read and wrote them last: two accesses of which one writes, and neither happened before the
// other, are a data race. One real thread.
#ifndef ERIS_TESTS_EXPLORE_ARENA_H_
#define ERIS_TESTS_EXPLORE_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/explore/clock.h"

namespace eris::explore {

class Arena {
 public:
  static constexpr size_t kBytes = size_t{1} << 20;

  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Forgets everything: a new execution begins.
  void Reset();

  // nullptr: full. By `thread` with what it knows.
  void* Allocate(size_t bytes, size_t alignment, uint32_t thread, const Clock& clock);
  bool Contains(const void* memory) const {
    const auto* at = static_cast<const std::byte*>(memory);
    return at >= memory_ && at < memory_ + kBytes;
  }

  // Each tells what is wrong; nullptr: nothing. Memory outside the arena is not looked at.
  const char* Free(void* memory, uint32_t thread, const Clock& clock);
  const char* Read(const void* memory, size_t bytes, uint32_t thread, const Clock& clock);
  const char* Write(const void* memory, size_t bytes, uint32_t thread, const Clock& clock);

  uint32_t live() const { return live_; }
  // "allocation 3 (96 bytes) + 16", the same in every execution of a scenario.
  std::string Name(const void* memory) const;

 private:
  struct Cell {
    uint32_t execution = 0;  // older: nothing has happened here in this one
    uint32_t write_time = 0;
    uint8_t write_thread = 0;
    bool usable = false;
    uint32_t read_times[kThreadsMax] = {};
  };
  struct Allocation {
    size_t begin;
    size_t bytes;
    bool freed;
  };
  Cell& CellAt(size_t index);
  const char* WriteCells(size_t begin, size_t bytes, uint32_t thread, const Clock& clock);

  std::byte* const memory_;
  std::vector<Cell> cells_;
  std::vector<Allocation> allocations_;
  size_t used_bytes_ = 0;
  uint32_t execution_ = 1;
  uint32_t live_ = 0;
};

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_ARENA_H_
