#include "tests/sim/history.h"

#include <algorithm>
#include <bit>
#include <map>

namespace eris::sim {
namespace {

using Kind = KeyEvent::Kind;

// Operations under way at one time.
constexpr uint32_t kOpenMax = 64;

constexpr uint64_t kUnseen = ~uint64_t{0};

struct State {
  uint64_t value;
  uint64_t done;  // by place: operations under way that have taken effect
  friend bool operator==(const State&, const State&) = default;
};

class Checker {
 public:
  // `events`: in the order in which they were sent; scratch after Run.
  Checker(std::vector<KeyEvent>& events, size_t states_max)
      : events_(events), states_max_(states_max) {}

  // Empty, or why not.
  std::string Run() {
    ForgetUnseenValues();
    std::vector<const KeyEvent*> ends;
    for (const KeyEvent& event : events_) {
      if (event.answered != kNeverAnswered) ends.push_back(&event);
    }
    std::stable_sort(ends.begin(), ends.end(), [](const KeyEvent* a, const KeyEvent* b) {
      return a->answered < b->answered;
    });
    states_ = {{kNoRow, 0}};
    size_t next = 0;
    for (const KeyEvent* end : ends) {
      // What was sent in the step of an answer overlaps it.
      for (; next < events_.size() && events_[next].sent <= end->answered; ++next) {
        const KeyEvent& event = events_[next];
        if (Overtaken(event)) {
          return "event " + std::to_string(next) +
                 " was sent behind the answer to a later one of its lane";
        }
        if (!Open(&event)) return "too many operations under way";
      }
      if (!Close(end)) return "too many states";
      if (states_.empty()) return "no order explains event " + std::to_string(end - events_.data());
      if (end->lane == 0) continue;
      uint32_t& last = last_of_lane_[end->lane];
      last = std::max(last, end->sequence);
    }
    return "";
  }

 private:
  // Values that no lookup has found cannot be told apart, so they are made one: then writes that
  // overlap and that nobody saw need not be tried in all orders. Sums hide what was added to.
  void ForgetUnseenValues() {
    std::vector<uint64_t> seen;
    for (const KeyEvent& event : events_) {
      if (event.kind == Kind::kAdd || event.filter != ValueRange{}) return;
      if (event.kind == Kind::kLookup) seen.push_back(event.value);
      if (event.conditional()) seen.insert(seen.end(), {event.answer, event.expected});
    }
    std::sort(seen.begin(), seen.end());
    for (KeyEvent& event : events_) {
      if (event.kind != Kind::kLookup && event.kind != Kind::kErase &&
          !std::binary_search(seen.begin(), seen.end(), event.value)) {
        event.value = kUnseen;
      }
    }
  }

  // What has been answered has taken effect. The search sees the order of operations that overlap;
  // one that is sent (again) after the answer to a later one overlaps it no longer.
  bool Overtaken(const KeyEvent& event) const {
    const auto last = last_of_lane_.find(event.lane);
    return last != last_of_lane_.end() && event.sequence < last->second;
  }

  bool Open(const KeyEvent* event) {
    const auto place = static_cast<uint32_t>(std::countr_one(used_));
    if (place == kOpenMax) return false;
    used_ |= uint64_t{1} << place;
    open_[place] = event;
    for (State& state : states_) LetReadsPass(state);
    return true;
  }

  // Every state in which `event` has taken effect, and no more than that.
  bool Close(const KeyEvent* event) {
    uint32_t place = 0;
    while (((used_ >> place) & 1) == 0 || open_[place] != event) ++place;
    const uint64_t bit = uint64_t{1} << place;
    after_.clear();
    for (size_t i = 0; i < states_.size(); ++i) {
      if (states_.size() > states_max_) return false;
      const State state = states_[i];
      if (state.done & bit) {
        AddIfNew(after_, {state.value, state.done & ~bit});
        continue;
      }
      for (uint64_t left = used_ & ~state.done; left != 0; left &= left - 1) {
        State next = state;
        if (!Apply(next, static_cast<uint32_t>(std::countr_zero(left)))) continue;
        LetReadsPass(next);
        AddIfNew(states_, next);
      }
    }
    used_ &= ~bit;
    states_.swap(after_);
    return true;
  }

  // Operations that change nothing take effect as soon as they can.
  void LetReadsPass(State& state) const {
    bool again = true;
    while (again) {
      again = false;
      for (uint64_t left = used_ & ~state.done; left != 0; left &= left - 1) {
        const auto place = static_cast<uint32_t>(std::countr_zero(left));
        const KeyEvent& event = *open_[place];
        if (Reads(event, state.value) && event.answered != kNeverAnswered && Apply(state, place))
          again = true;
      }
    }
  }

  // What the operation makes of the row.
  static uint64_t After(const KeyEvent& event, uint64_t value) {
    switch (event.kind) {
      case Kind::kUpsert:
        return event.value;
      case Kind::kErase:
        return kNoRow;
      case Kind::kInsertIfAbsent:
        return value == kNoRow ? event.value : value;
      case Kind::kReplaceIfPresent:
        return value == kNoRow ? kNoRow : event.value;
      case Kind::kCompareAndSet:
        return value != kNoRow && value == event.expected ? event.value : value;
      case Kind::kAdd:
        return value + event.value;  // of no row 0, which is kNoRow
      case Kind::kLookup:
      case Kind::kCount:
        break;
    }
    return value;
  }

  // Whether a conditional write that found `before` and left `after` was answered so.
  static bool Answered(const KeyEvent& event, uint64_t before, uint64_t after) {
    if (event.kind == Kind::kAdd) return event.answer == after;
    if (event.answer != before) return false;
    return event.kind != Kind::kCompareAndSet ||
           event.swapped == (before != kNoRow && before == event.expected);
  }

  // Whether an answered operation that takes effect at `value` does so without a trace, so that no
  // order is lost when it does. A write of the very value that is there may be needed later.
  static bool Reads(const KeyEvent& event, uint64_t value) {
    switch (event.kind) {
      case Kind::kUpsert:
        return value == kUnseen && event.value == kUnseen;
      case Kind::kErase:
      case Kind::kReplaceIfPresent:
        return !event.found;
      case Kind::kInsertIfAbsent:
        return event.found;
      case Kind::kCompareAndSet:
        return !event.swapped;
      case Kind::kAdd:
        return false;
      case Kind::kLookup:
      case Kind::kCount:
        break;
    }
    return true;
  }

  // False: the operation cannot take effect here.
  bool Apply(State& state, uint32_t place) const {
    const KeyEvent& event = *open_[place];
    const bool found = state.value != kNoRow && event.filter.Contains(state.value);
    const uint64_t after = After(event, state.value);
    if (event.answered != kNeverAnswered) {
      if (event.found != found) return false;
      if (event.kind == Kind::kLookup && found && event.value != state.value) return false;
      if (event.conditional() && !Answered(event, state.value, after)) return false;
    }
    if (event.lane != 0) {
      for (uint64_t left = used_ & ~state.done; left != 0; left &= left - 1) {
        const KeyEvent& other = *open_[std::countr_zero(left)];
        if (other.lane == event.lane && other.sequence < event.sequence) return false;
      }
    }
    state.value = after;
    state.done |= uint64_t{1} << place;
    return true;
  }

  static void AddIfNew(std::vector<State>& states, const State& state) {
    if (std::find(states.begin(), states.end(), state) == states.end()) states.push_back(state);
  }

  std::vector<KeyEvent>& events_;
  const size_t states_max_;
  const KeyEvent* open_[kOpenMax] = {};
  uint64_t used_ = 0;  // places of open_
  std::vector<State> states_;
  std::vector<State> after_;
  std::map<uint32_t, uint32_t> last_of_lane_;  // the latest sequence that has been answered
};

}  // namespace

std::string KeyEvent::Text() const {
  static constexpr const char* kNames[] = {
      "lookup",          "upsert", "erase", "insert-if-absent", "replace-if-present",
      "compare-and-set", "add"};
  std::string text = "[" + std::to_string(sent) + ", " +
                     (answered == kNeverAnswered ? "never" : std::to_string(answered)) + "] " +
                     kNames[static_cast<int>(kind)];
  if (kind != Kind::kLookup && kind != Kind::kErase) text += " of " + std::to_string(value);
  if (kind == Kind::kCompareAndSet) text += " for " + std::to_string(expected);
  if (filter != ValueRange{}) {
    text += " in " + std::to_string(filter.lo) + " to " + std::to_string(filter.last);
  }
  if (answered == kNeverAnswered) return text;
  text += found ? " found a row" : " found none";
  if (kind == Kind::kLookup && found) text += ": " + std::to_string(value);
  if (conditional()) text += ", answered " + std::to_string(answer);
  if (swapped) text += ", swapped";
  if (lane != 0) text += " (" + std::to_string(sequence) + " of lane " + std::to_string(lane) + ")";
  return text;
}

std::string CheckHistory(std::vector<KeyEvent> events, size_t states_max) {
  std::stable_sort(events.begin(), events.end(),
                   [](const KeyEvent& a, const KeyEvent& b) { return a.sent < b.sent; });
  std::vector<KeyEvent> reduced = events;
  std::string error = Checker(reduced, states_max).Run();
  if (error.empty()) return error;
  for (size_t i = 0; i < events.size(); ++i) {
    error += "\n    " + std::to_string(i) + ": " + events[i].Text();
  }
  return error;
}

}  // namespace eris::sim
