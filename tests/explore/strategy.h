// Who moves next, and which of the stores that it may see a load returns. Two ways: exhaustive,
// depth first, within bounds; and random, from a seed. Alternative 0 is always the one that an
// obedient machine would take: the same thread goes on, a load sees the newest store.
#ifndef ERIS_TESTS_EXPLORE_STRATEGY_H_
#define ERIS_TESTS_EXPLORE_STRATEGY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/explore/clock.h"

namespace eris::explore {

struct Turn {
  uint32_t current;  // who asks
  uint32_t enabled;  // mask of the threads that can move; not empty
  bool give_way;     // the current thread waits for another, or cannot move itself
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // Before each execution; false: there is none left.
  virtual bool Begin() = 0;
  virtual uint32_t NextThread(const Turn& turn) = 0;
  // 0: the newest, 1: the one before, ...; `count` >= 2.
  virtual uint32_t Store(uint32_t count, uint32_t thread) = 0;
  // A CAS that fails, or a sleep that ends, without a reason.
  virtual bool Spurious() = 0;
  // What runs the present execution again.
  virtual std::string Replay() const = 0;
};

// Every execution with at most so many preemptions, loads of an older store and spurious events.
// Where a thread gives way, all others are tried, in a fair order: one that has given way moves no
// more (but by a preemption) until the others have, too.
class ExhaustiveStrategy : public Strategy {
 public:
  struct Bounds {
    uint32_t preemptions = 2;
    uint32_t old_stores = 2;
    uint32_t spurious = 0;
  };
  // `replay`: the one execution to run; empty: all.
  ExhaustiveStrategy(const Bounds& bounds, const std::string& replay);

  bool Begin() override;
  uint32_t NextThread(const Turn& turn) override;
  uint32_t Store(uint32_t count, uint32_t thread) override;
  bool Spurious() override;
  std::string Replay() const override;

 private:
  struct Choice {
    uint8_t taken;
    uint8_t count;
  };
  uint32_t Choose(uint32_t count);

  const Bounds bounds_;
  const bool once_;
  bool begun_ = false;
  Bounds left_;
  uint32_t yielded_ = 0;
  std::vector<Choice> choices_;
  size_t at_ = 0;
};

// Per execution one of: threads with priorities that change at a few random steps (PCT, Burckhardt
// et al. 2010), a random walk, a random walk in which one thread at a time is stopped for long. And
// one of several inclinations to old stores.
class RandomStrategy : public Strategy {
 public:
  // length: of an execution, in steps, about.
  RandomStrategy(uint64_t seed, uint64_t executions, uint32_t length)
      : seed_(seed), end_(seed + executions), length_(length) {}

  bool Begin() override;
  uint32_t NextThread(const Turn& turn) override;
  uint32_t Store(uint32_t count, uint32_t thread) override;
  bool Spurious() override;
  std::string Replay() const override;

 private:
  enum class Kind : uint8_t { kPriorities, kWalk, kWalkWithStops };
  uint32_t Random(uint32_t below);
  uint32_t Any(uint32_t mask);

  uint64_t seed_;
  const uint64_t end_;
  const uint32_t length_;
  bool begun_ = false;
  uint64_t state_ = 0;
  Kind kind_ = Kind::kWalk;
  uint32_t step_ = 0;
  uint32_t old_in_256_ = 0;
  uint32_t spurious_in_256_ = 0;
  uint32_t switch_in_256_ = 0;
  uint32_t stopped_ = 0;
  uint32_t stopped_until_ = 0;
  int32_t priorities_[kThreadsMax] = {};
  int32_t lowest_ = 0;
  std::vector<uint32_t> changes_;  // steps at which the running thread loses its priority
  uint32_t old_in_a_row_[kThreadsMax] = {};
};

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_STRATEGY_H_
