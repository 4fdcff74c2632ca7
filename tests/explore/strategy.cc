#include "tests/explore/strategy.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace eris::explore {
namespace {

constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
constexpr size_t kChoicesMax = 1 << 16;
// A store becomes visible to all in a finite time.
constexpr uint32_t kOldInARowMax = 6;

}  // namespace

ExhaustiveStrategy::ExhaustiveStrategy(const Bounds& bounds, const std::string& replay)
    : bounds_(bounds), once_(!replay.empty()) {
  choices_.reserve(kChoicesMax);
  for (const char digit : replay) {
    const char* found = std::find(std::begin(kDigits), std::end(kDigits), digit);
    ERIS_CHECK(found != std::end(kDigits));
    choices_.push_back({static_cast<uint8_t>(found - kDigits), 0});
  }
}

bool ExhaustiveStrategy::Begin() {
  if (begun_) {
    if (once_) return false;
    choices_.resize(at_);
    while (!choices_.empty() && choices_.back().taken + 1 >= choices_.back().count) {
      choices_.pop_back();
    }
    if (choices_.empty()) return false;
    ++choices_.back().taken;
  }
  begun_ = true;
  at_ = 0;
  left_ = bounds_;
  yielded_ = 0;
  return true;
}

uint32_t ExhaustiveStrategy::Choose(uint32_t count) {
  if (count == 1) return 0;
  if (at_ == choices_.size()) {
    ERIS_CHECK(choices_.size() < kChoicesMax);
    choices_.push_back({0, static_cast<uint8_t>(count)});
  }
  choices_[at_].count = static_cast<uint8_t>(count);
  // A replay of another scenario may ask for more than there is.
  return std::min<uint32_t>(choices_[at_++].taken, count - 1);
}

uint32_t ExhaustiveStrategy::NextThread(const Turn& turn) {
  const uint32_t self = 1u << turn.current;
  uint32_t others = turn.enabled & ~self;
  if (others == 0) return turn.current;
  if (!turn.give_way) {
    if (left_.preemptions == 0) return turn.current;
    uint32_t index = Choose(1 + static_cast<uint32_t>(std::popcount(others)));
    if (index == 0) return turn.current;
    --left_.preemptions;
    while (--index > 0) others &= others - 1;
  } else {
    yielded_ |= self;
    if ((others & ~yielded_) == 0) yielded_ = self;
    others &= ~yielded_;
    uint32_t index = Choose(static_cast<uint32_t>(std::popcount(others)));
    while (index-- > 0) others &= others - 1;
  }
  const auto next = static_cast<uint32_t>(std::countr_zero(others));
  yielded_ &= ~(1u << next);
  return next;
}

uint32_t ExhaustiveStrategy::Store(uint32_t count, uint32_t) {
  if (left_.old_stores == 0) return 0;
  const uint32_t index = Choose(count);
  if (index != 0) --left_.old_stores;
  return index;
}

bool ExhaustiveStrategy::Spurious() {
  if (left_.spurious == 0 || Choose(2) == 0) return false;
  --left_.spurious;
  return true;
}

std::string ExhaustiveStrategy::Replay() const {
  std::string text = "x:";
  for (size_t i = 0; i < at_; ++i) text += kDigits[choices_[i].taken];
  while (text.back() == '0') text.pop_back();
  return text.back() == ':' ? text + '0' : text;
}

bool RandomStrategy::Begin() {
  if (begun_) ++seed_;
  begun_ = true;
  if (seed_ == end_) return false;
  state_ = seed_ * 0x9e3779b97f4a7c15 + 1;
  step_ = 0;
  switch (Random(4)) {
    case 0:
      kind_ = Kind::kWalk;
      break;
    case 1:
      kind_ = Kind::kWalkWithStops;
      break;
    default:
      kind_ = Kind::kPriorities;
  }
  constexpr uint32_t kOld[] = {0, 32, 128, 224};
  old_in_256_ = kOld[Random(4)];
  spurious_in_256_ = Random(4) == 0 ? 32 : 0;
  constexpr uint32_t kSwitch[] = {128, 48, 12};
  switch_in_256_ = kSwitch[Random(3)];
  stopped_ = 0;
  stopped_until_ = 0;
  for (uint32_t i = 0; i < kThreadsMax; ++i) {
    priorities_[i] = static_cast<int32_t>(Random(1u << 20)) + 1;
    old_in_a_row_[i] = 0;
  }
  lowest_ = 0;
  changes_.clear();
  for (uint32_t count = Random(5); count > 0; --count) changes_.push_back(Random(length_) + 1);
  return true;
}

uint32_t RandomStrategy::Random(uint32_t below) {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t x = state_;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return static_cast<uint32_t>(((x >> 32) * below) >> 32);
}

uint32_t RandomStrategy::Any(uint32_t mask) {
  for (uint32_t skip = Random(static_cast<uint32_t>(std::popcount(mask))); skip > 0; --skip) {
    mask &= mask - 1;
  }
  return static_cast<uint32_t>(std::countr_zero(mask));
}

uint32_t RandomStrategy::NextThread(const Turn& turn) {
  ++step_;
  const uint32_t self = 1u << turn.current;
  if (kind_ == Kind::kPriorities) {
    if (turn.give_way || std::find(changes_.begin(), changes_.end(), step_) != changes_.end()) {
      priorities_[turn.current] = --lowest_;
    }
    uint32_t best = kThreadsMax;
    for (uint32_t i = 0; i < kThreadsMax; ++i) {
      if ((turn.enabled >> i & 1) == 0) continue;
      if (best == kThreadsMax || priorities_[i] > priorities_[best]) best = i;
    }
    return best;
  }
  uint32_t enabled = turn.enabled;
  if (kind_ == Kind::kWalkWithStops) {
    if (step_ >= stopped_until_) {
      stopped_ = 1u << Random(kThreadsMax);
      stopped_until_ = step_ + Random(200);
    }
    if ((enabled & ~stopped_) != 0) enabled &= ~stopped_;
  }
  const bool can_go_on = (enabled & self) != 0;
  const uint32_t others = enabled & ~self;
  if (others == 0) return turn.current;
  if (can_go_on && !turn.give_way && Random(256) >= switch_in_256_) return turn.current;
  return Any(others);
}

uint32_t RandomStrategy::Store(uint32_t count, uint32_t thread) {
  if (Random(256) >= old_in_256_ || old_in_a_row_[thread] == kOldInARowMax) {
    old_in_a_row_[thread] = 0;
    return 0;
  }
  ++old_in_a_row_[thread];
  return 1 + Random(count - 1);
}

bool RandomStrategy::Spurious() { return spurious_in_256_ != 0 && Random(256) < spurious_in_256_; }

std::string RandomStrategy::Replay() const { return "r:" + std::to_string(seed_); }

}  // namespace eris::explore
