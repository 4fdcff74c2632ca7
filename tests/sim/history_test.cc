// The oracle itself: histories that are possible, histories that are not, and random ones of a real
// register, with and without a lie.
#include "tests/sim/history.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/sim/random.h"

namespace eris::sim {
namespace {

using Kind = KeyEvent::Kind;

KeyEvent Lookup(uint32_t sent, uint32_t answered, uint64_t value) {
  return {.found = value != kNoRow, .value = value, .sent = sent, .answered = answered};
}
KeyEvent Upsert(uint32_t sent, uint32_t answered, uint64_t value, bool found) {
  return {
      .kind = Kind::kUpsert, .found = found, .value = value, .sent = sent, .answered = answered};
}
KeyEvent Erase(uint32_t sent, uint32_t answered, bool found) {
  return {.kind = Kind::kErase, .found = found, .sent = sent, .answered = answered};
}
KeyEvent Conditional(Kind kind, uint32_t sent, uint32_t answered, uint64_t value, uint64_t before) {
  KeyEvent event{
      .kind = kind, .found = before != kNoRow, .value = value, .sent = sent, .answered = answered};
  event.answer = kind == Kind::kAdd ? before + value : before;
  return event;
}
KeyEvent CompareAndSet(uint32_t sent, uint32_t answered, uint64_t expected, uint64_t value,
                       uint64_t before) {
  KeyEvent event = Conditional(Kind::kCompareAndSet, sent, answered, value, before);
  event.expected = expected;
  event.swapped = before != kNoRow && before == expected;
  return event;
}
bool Possible(std::vector<KeyEvent> events) { return CheckHistory(std::move(events)).empty(); }

TEST(HistoryTest, AnAnsweredWriteIsSeenByEveryLaterLookup) {
  EXPECT_TRUE(Possible({Upsert(1, 2, 7, false), Lookup(3, 4, 7)}));
  EXPECT_FALSE(Possible({Upsert(1, 2, 7, false), Lookup(3, 4, kNoRow)}));
  EXPECT_FALSE(Possible({Upsert(1, 2, 7, false), Upsert(3, 4, 8, true), Lookup(5, 6, 7)}));
  EXPECT_FALSE(Possible({Lookup(1, 2, 7), Upsert(3, 4, 7, false)}));
}

TEST(HistoryTest, AFilteredLookupSeesTheValuesThatItAsksFor) {
  const auto filtered = [](uint64_t value, uint64_t lo, uint64_t last) {
    KeyEvent event = Lookup(3, 4, value);
    event.filter = {lo, last};
    return event;
  };
  EXPECT_TRUE(Possible({Upsert(1, 2, 7, false), filtered(7, 7, 9)}));
  EXPECT_TRUE(Possible({Upsert(1, 2, 7, false), filtered(kNoRow, 8, 9)}));
  EXPECT_FALSE(Possible({Upsert(1, 2, 7, false), filtered(kNoRow, 7, 9)}));
  EXPECT_FALSE(Possible({Upsert(1, 2, 7, false), filtered(7, 8, 9)}));
  // Nobody has seen the value, and still it matters which it is.
  EXPECT_FALSE(Possible({Upsert(1, 2, 7, false), filtered(kNoRow, 1, 7), Lookup(5, 6, 7)}));
}

TEST(HistoryTest, OverlappingOperationsTakeEitherOrderButOneOrder) {
  EXPECT_TRUE(Possible({Upsert(1, 9, 7, false), Lookup(2, 3, kNoRow), Lookup(4, 5, 7)}));
  EXPECT_TRUE(Possible({Upsert(1, 9, 7, false), Lookup(2, 3, kNoRow), Lookup(4, 5, kNoRow)}));
  EXPECT_FALSE(Possible({Upsert(1, 9, 7, false), Lookup(2, 3, 7), Lookup(4, 5, kNoRow)}));
  EXPECT_TRUE(Possible({Upsert(1, 9, 7, true), Upsert(1, 9, 8, false), Lookup(10, 11, 7)}));
  EXPECT_FALSE(Possible({Upsert(1, 9, 7, true), Upsert(1, 9, 8, false), Lookup(10, 11, 8)}));
  EXPECT_FALSE(Possible({Upsert(1, 9, 7, false), Upsert(1, 9, 8, false)}));
}

TEST(HistoryTest, ErasesTellWhetherARowWasThere) {
  EXPECT_TRUE(Possible({Upsert(1, 2, 7, false), Erase(3, 4, true), Erase(5, 6, false)}));
  EXPECT_FALSE(Possible({Upsert(1, 2, 7, false), Erase(3, 4, true), Erase(5, 6, true)}));
  EXPECT_FALSE(Possible({Upsert(1, 2, 7, false), Erase(3, 4, false)}));
  EXPECT_TRUE(Possible({Erase(1, 8, true), Upsert(2, 3, 7, false), Lookup(4, 5, 7)}));
}

TEST(HistoryTest, ConditionalWritesDoWhatTheRowAllows) {
  const auto insert = Kind::kInsertIfAbsent, replace = Kind::kReplaceIfPresent;
  EXPECT_TRUE(Possible({Conditional(insert, 1, 2, 7, kNoRow), Lookup(3, 4, 7)}));
  EXPECT_TRUE(Possible({Upsert(1, 2, 5, false), Conditional(insert, 3, 4, 7, 5), Lookup(5, 6, 5)}));
  EXPECT_FALSE(
      Possible({Upsert(1, 2, 5, false), Conditional(insert, 3, 4, 7, 5), Lookup(5, 6, 7)}));
  EXPECT_FALSE(Possible({Conditional(insert, 1, 9, 7, kNoRow), Conditional(insert, 1, 9, 8, 9)}));
  EXPECT_TRUE(Possible({Conditional(replace, 1, 2, 7, kNoRow), Lookup(3, 4, kNoRow)}));
  EXPECT_FALSE(Possible({Conditional(replace, 1, 2, 7, kNoRow), Lookup(3, 4, 7)}));
  EXPECT_TRUE(
      Possible({Upsert(1, 2, 5, false), Conditional(replace, 3, 4, 7, 5), Lookup(5, 6, 7)}));
  EXPECT_FALSE(Possible({Upsert(1, 2, 5, false), Conditional(replace, 3, 4, 7, 6)}));
}

TEST(HistoryTest, OneOfTwoEqualCompareAndSetsSwaps) {
  EXPECT_TRUE(Possible({Upsert(1, 2, 5, false), CompareAndSet(3, 9, 5, 6, 5),
                        CompareAndSet(3, 9, 5, 7, 6), Lookup(10, 11, 6)}));
  EXPECT_FALSE(Possible({Upsert(1, 2, 5, false), CompareAndSet(3, 9, 5, 6, 5),
                         CompareAndSet(3, 9, 5, 7, 5), Lookup(10, 11, 6)}));
  KeyEvent lie = CompareAndSet(3, 4, 5, 6, 5);
  lie.swapped = false;
  EXPECT_FALSE(Possible({Upsert(1, 2, 5, false), lie}));
}

TEST(HistoryTest, AnAddCountsOnce) {
  const auto add = Kind::kAdd;
  EXPECT_TRUE(Possible(
      {Conditional(add, 1, 9, 5, kNoRow), Conditional(add, 1, 9, 3, 5), Lookup(10, 11, 8)}));
  EXPECT_TRUE(Possible({Conditional(add, 1, 9, 5, 3), Conditional(add, 1, 9, 3, kNoRow)}));
  EXPECT_FALSE(Possible({Conditional(add, 1, 9, 5, kNoRow), Conditional(add, 1, 9, 3, kNoRow)}));
  EXPECT_FALSE(Possible({Conditional(add, 1, 2, 5, kNoRow), Lookup(3, 4, 10)}));
  EXPECT_FALSE(Possible({Conditional(add, 1, 2, 5, kNoRow), Conditional(add, 3, 4, 3, 10)}));
}

TEST(HistoryTest, AWriteOfUnknownOutcomeTakesEffectLaterOrNever) {
  EXPECT_TRUE(Possible({Upsert(1, kNeverAnswered, 7, false), Lookup(2, 3, kNoRow)}));
  EXPECT_TRUE(
      Possible({Upsert(1, kNeverAnswered, 7, false), Lookup(2, 3, kNoRow), Lookup(4, 5, 7)}));
  EXPECT_FALSE(
      Possible({Upsert(1, kNeverAnswered, 7, false), Lookup(2, 3, 7), Lookup(4, 5, kNoRow)}));
  EXPECT_FALSE(Possible({Lookup(1, 2, 7), Upsert(3, kNeverAnswered, 7, false)}));
}

TEST(HistoryTest, OperationsOfALaneKeepTheirOrder) {
  KeyEvent first = Upsert(1, 9, 7, false), second = Upsert(1, 9, 8, true);
  EXPECT_TRUE(Possible({first, second, Lookup(10, 11, 8)}));
  first.lane = second.lane = 3;
  first.sequence = 1;
  second.sequence = 2;
  EXPECT_TRUE(Possible({first, second, Lookup(10, 11, 8)}));
  std::swap(first.sequence, second.sequence);
  EXPECT_FALSE(Possible({first, second, Lookup(10, 11, 8)}));
}

// As after a refusal: the later one has been answered before the earlier one is sent again.
TEST(HistoryTest, AnAnsweredOperationOfALaneIsOvertakenByNoEarlierOne) {
  KeyEvent earlier = Upsert(5, 6, 7, true), later = Upsert(1, 2, 8, false);
  EXPECT_TRUE(Possible({later, earlier}));
  earlier.lane = later.lane = 3;
  earlier.sequence = 1;
  later.sequence = 2;
  EXPECT_FALSE(Possible({later, earlier}));
  earlier.lane = 4;
  EXPECT_TRUE(Possible({later, earlier}));
}

TEST(HistoryTest, GivesUpWithAWordWhereThereAreTooManyStates) {
  std::vector<KeyEvent> events;
  for (uint32_t i = 1; i <= 20; ++i) {
    events.push_back(Upsert(1, kNeverAnswered, i, false));
    events.push_back(Lookup(40 + i, 40 + i, i));
  }
  events.push_back(Lookup(2, 3, 99));
  EXPECT_NE(CheckHistory(events, 1000).find("too many states"), std::string::npos);
}

// As a client of nobody's answers would make them: they cost no search.
TEST(HistoryTest, ManyOverlappingWritesThatNobodySawAreCheap) {
  std::vector<KeyEvent> events = {Upsert(1, 2, 1, false)};
  for (uint32_t i = 2; i <= 50; ++i) events.push_back(Upsert(3, 9, i, true));
  events.push_back(Lookup(4, 5, 17));
  events.push_back(Lookup(10, 11, 40));
  EXPECT_EQ(CheckHistory(events, 50), "");
  events.push_back(Lookup(12, 13, 17));
  EXPECT_NE(CheckHistory(events, 50), "");
}

// A register, with operations that take effect somewhere between their ends.
std::vector<KeyEvent> RealHistory(Random& random, uint64_t operations) {
  struct Pending {
    KeyEvent event;
    uint32_t effect;
  };
  std::vector<Pending> pending;
  std::multimap<uint32_t, size_t> by_effect;
  uint32_t sent = 0;
  for (uint64_t i = 0; i < operations; ++i) {
    sent += static_cast<uint32_t>(random.Below(3));
    KeyEvent event;
    event.kind = static_cast<Kind>(random.Below(static_cast<uint64_t>(Kind::kCount)));
    if (event.kind != Kind::kLookup && event.kind != Kind::kErase) event.value = 100 + i;
    if (event.kind == Kind::kCompareAndSet) event.expected = 100 + random.Below(i + 1);
    event.sent = sent;
    const auto effect = sent + static_cast<uint32_t>(random.Below(8));
    event.answered = effect + static_cast<uint32_t>(random.Below(8));
    by_effect.emplace(effect, pending.size());
    pending.push_back({event, effect});
  }
  uint64_t value = kNoRow;
  std::vector<KeyEvent> events;
  for (const auto& [effect, index] : by_effect) {
    KeyEvent event = pending[index].event;
    event.found = value != kNoRow;
    if (event.kind == Kind::kLookup) event.value = value;
    if (event.conditional()) event.answer = value;
    switch (event.kind) {
      case Kind::kUpsert:
        value = event.value;
        break;
      case Kind::kErase:
        value = kNoRow;
        break;
      case Kind::kInsertIfAbsent:
        if (!event.found) value = event.value;
        break;
      case Kind::kReplaceIfPresent:
        if (event.found) value = event.value;
        break;
      case Kind::kCompareAndSet:
        event.swapped = value == event.expected;
        if (event.swapped) value = event.value;
        break;
      case Kind::kAdd:
        event.answer = value += event.value;
        break;
      case Kind::kLookup:
      case Kind::kCount:
        break;
    }
    if (event.kind != Kind::kLookup && random.OneIn(10)) event.answered = kNeverAnswered;
    events.push_back(event);
  }
  return events;
}

TEST(HistoryTest, EveryHistoryOfARealRegisterIsPossible) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    EXPECT_EQ(CheckHistory(RealHistory(random, random.Between(1, 25))), "") << "seed " << seed;
  }
}

TEST(HistoryTest, AValueThatWasNeverWrittenIsFoundOut) {
  uint64_t lies = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::vector<KeyEvent> events = RealHistory(random, 20);
    for (KeyEvent& event : events) {
      if (event.kind != Kind::kLookup || !event.found) continue;
      event.value = 99;
      ++lies;
      EXPECT_FALSE(Possible(events)) << "seed " << seed;
      break;
    }
  }
  EXPECT_GT(lies, 300u);
}

}  // namespace
}  // namespace eris::sim
