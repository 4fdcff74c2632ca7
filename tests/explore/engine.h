// Runs one execution: the scenario's threads as fibers of one real thread, one at a time, and the
// memory that they share. Every access to an atomic is a step, before which another thread may be
// chosen to move.
//
// An atomic keeps its last stores in modification order, which is the order in which they are
// executed. A load may return any store that is not older than
//   - one that happened before the load, or one that was read by what happened before it
//     (coherence), or, for a seq_cst load,
//   - the newest that a seq_cst access has read or written: the order of execution is the total
//     order of all seq_cst accesses.
// A release store carries what its thread knows; an acquire load that returns it learns that; a
// read-modify-write sees the newest store and hands on what that one carried (release sequences as
// in C++20: a plain store ends one, even by the same thread). README.md tells what this leaves out.
#ifndef ERIS_TESTS_EXPLORE_ENGINE_H_
#define ERIS_TESTS_EXPLORE_ENGINE_H_

#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "tests/explore/arena.h"
#include "tests/explore/clock.h"
#include "tests/explore/strategy.h"

namespace eris::explore {

enum class Op : uint8_t {
  kLoad,
  kStore,
  kExchange,
  kCompareExchange,
  kFetchAdd,
  kFetchSub,
  kFetchAnd,
  kFetchOr,
};
const char* NameOf(Op op);
const char* NameOf(std::memory_order order);

// A planted bug: at each access of this kind in functions whose signature contains `function`, the
// order `to` counts in place of `from`; or (split) a read-modify-write is a load and a store.
struct Weakening {
  std::string function;
  Op op;
  std::memory_order from;
  std::memory_order to;
  bool split = false;
  uint32_t line = 0;  // only there; 0: wherever it fits
};

// A place in the code that accesses atomics.
struct Site {
  std::source_location where;
  Op op;
  std::memory_order order;      // as written
  std::memory_order effective;  // after weakening
  bool split = false;
  uint64_t uses = 0;
};

// What the threads of one execution do.
class Scenario {
 public:
  virtual ~Scenario() = default;
  // Thread 1 .. threads.
  virtual void Run(uint32_t thread) = 0;
  // After all have ended, with everything that they did behind it.
  virtual void Finish() {}
};
// The scenario is made and destroyed within each execution: what it allocates must be freed by its
// end, and by nobody twice.
using ScenarioFactory = std::function<std::unique_ptr<Scenario>()>;

// The state of one atomic.
struct Location {
  static constexpr uint32_t kStoresKept = 8;
  struct Store {
    uint64_t value;
    Clock release;  // what a reader with acquire learns
    Clock seen;     // by thread: since when it knows this store; 0: does not
  };
  Store& At(uint32_t index) { return stores[index % kStoresKept]; }
  const Store& Newest() const { return stores[(count - 1) % kStoresKept]; }

  uint32_t count = 0;           // stores so far
  uint32_t seq_cst_newest = 0;  // index of the newest that a seq_cst access read or wrote
  Store stores[kStoresKept];
};

class Engine {
 public:
  static Engine& Get() { return *engine_; }
  // Before operator new may ask for memory here: never within an execution.
  static void Start();

  // One execution. False: it failed, see failure().
  bool Run(const ScenarioFactory& factory, uint32_t threads, Strategy& strategy, bool trace);
  const std::string& failure() const { return failure_; }
  const std::vector<std::string>& trace() const { return trace_; }
  uint32_t steps() const { return steps_; }

  void SetWeakenings(std::vector<Weakening> weakenings);
  const std::vector<Site>& sites() const { return sites_; }
  void ClearUses();

  // For the scenario: ends the execution (in a thread: does not return).
  void Fail(std::string_view what);
  // Waits for another thread to do something.
  void GiveWay();
  // The thread that moves; 0: none.
  uint32_t current() const { return current_; }

  // For ModelMemory. Values as 64 bits.
  void Construct(Location& location, uint64_t value);
  uint64_t Load(Location& location, std::memory_order order, const std::source_location& where);
  void Store(Location& location, uint64_t value, std::memory_order order,
             const std::source_location& where);
  uint64_t Modify(Location& location, Op op, uint64_t operand, uint64_t mask,
                  std::memory_order order, const std::source_location& where);
  bool CompareExchange(Location& location, uint64_t& expected, uint64_t desired,
                       std::memory_order success, std::memory_order failure, bool weak,
                       const std::source_location& where);
  void FutexWait(Location& location, uint64_t expected);
  void FutexWakeAll(Location& location);
  void PlainRead(const void* memory, size_t bytes, const std::source_location& where);
  void PlainWrite(const void* memory, size_t bytes, const std::source_location& where);

  // For operator new and delete.
  static void* Allocate(size_t bytes, size_t alignment) noexcept;
  static bool Free(void* memory) noexcept;  // false: not of the arena

 private:
  friend class HostMemory;
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<std::byte[]> stack;
    const void* waits_on = nullptr;  // asleep on this location
    bool finished = false;
    void* asan_stack = nullptr;
  };

  Engine();
  static void Enter();
  void SwitchTo(uint32_t thread, bool for_good = false);
  void Schedule(bool give_way);
  void BeforeAccess(const Location& location);
  Site& SiteOf(const std::source_location& where, Op op, std::memory_order order);
  void Weaken(Site& site) const;
  uint32_t OldestVisible(Location& location, bool seq_cst);
  uint64_t Read(Location& location, uint32_t index, std::memory_order order);
  void Append(Location& location, uint64_t value, const Clock& carried, std::memory_order order);
  Clock& Knowledge() { return clocks_[current_]; }
  void Tick() { ++clocks_[current_].at[current_]; }
  void Trace(const Site* site, const char* what, const void* memory, uint64_t value);

  static inline Engine* engine_ = nullptr;

  Arena arena_;
  bool in_scenario_ = false;  // memory comes from the arena
  std::vector<Site> sites_;
  std::vector<uint32_t> site_table_;  // open addressing; index into sites_ + 1
  std::vector<Weakening> weakenings_;

  // The scenario of the current execution.
  Scenario* scenario_ = nullptr;
  Strategy* strategy_ = nullptr;
  uint32_t threads_ = 0;
  uint32_t current_ = 0;
  uint32_t enabled_ = 0;  // mask
  uint32_t steps_ = 0;
  uint32_t steps_of_turn_ = 0;
  Clock clocks_[kThreadsMax];
  Fiber fibers_[kThreadsMax];  // 0: the real thread
  bool failed_ = false;
  std::string failure_;
  bool tracing_ = false;
  std::vector<std::string> trace_;
};

// While it lives, allocations are none of the scenario's (for what must outlive the execution).
class HostMemory {
 public:
  HostMemory() : before_(Engine::Get().in_scenario_) { Engine::Get().in_scenario_ = false; }
  ~HostMemory() { Engine::Get().in_scenario_ = before_; }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

 private:
  const bool before_;
};

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_ENGINE_H_
