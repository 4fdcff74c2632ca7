// The oracle: what happened to one key, and whether a register could have answered so. Every
// operation takes effect at one moment between the step that sent it and the step that answered it;
// one whose outcome nobody knows takes effect then, later or never. Exact, not a sample of orders.
//
// How: the operations' ends are walked in order of time with the set of all states that the key may
// be in: its value, and which of the operations under way have taken effect already (just-in-time
// linearization). What does not change the state is let take effect as soon as its answer fits,
// which loses no order, so only writes that overlap cost branches.
#ifndef ERIS_TESTS_SIM_HISTORY_H_
#define ERIS_TESTS_SIM_HISTORY_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "eris/types.h"

namespace eris::sim {

// A value of 0 stands for "no row": the simulation writes none.
inline constexpr uint64_t kNoRow = 0;
inline constexpr uint32_t kNeverAnswered = std::numeric_limits<uint32_t>::max();

struct KeyEvent {
  enum class Kind : uint8_t {
    kLookup,
    kUpsert,
    kErase,
    kInsertIfAbsent,
    kReplaceIfPresent,
    kCompareAndSet,
    kAdd,
    kCount,
  };
  Kind kind = Kind::kLookup;
  bool found = false;       // the answer: the row was there before
  uint64_t value = kNoRow;  // lookup: what was found; writes: what was to be stored, or added
  uint32_t sent = 0;        // step
  uint32_t answered = 0;    // step, or kNeverAnswered: `found` says nothing then
  // Operations of one `lane` (not 0) take effect in the order of `sequence`, whether they overlap
  // or not: one that was refused and is sent again has its place from before.
  uint32_t lane = 0;
  uint32_t sequence = 0;
  uint64_t expected = kNoRow;  // compare-and-set
  uint64_t answer = kNoRow;    // conditional writes: the row before; add: the sum
  bool swapped = false;        // compare-and-set: the answer
  ValueRange filter{};         // lookup: a row with another value counts as none

  bool conditional() const { return kind >= Kind::kInsertIfAbsent; }
  std::string Text() const;
};

// Empty when the history is possible; else what is wrong, with the events. `states_max`: gives up
// (and says so) where more states than this would have to be told apart.
std::string CheckHistory(std::vector<KeyEvent> events, size_t states_max = 20'000);

}  // namespace eris::sim

#endif  // ERIS_TESTS_SIM_HISTORY_H_
