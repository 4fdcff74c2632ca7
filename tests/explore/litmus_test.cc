// The explorer's memory itself: what C++ allows must be seen, what it forbids must not, in the
// usual small programs. Exhaustive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/explore/explorer.h"

namespace eris::explore {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kSeqCst = std::memory_order_seq_cst;

// Up to four threads over x and y; what they saw is the outcome.
struct Program : Scenario {
  using Body = void (*)(Program&);
  explicit Program(std::vector<Body> bodies, std::set<std::string>* outcomes)
      : threads(bodies), seen_by_all(outcomes) {}
  void Run(uint32_t thread) override { threads[thread - 1](*this); }
  void Finish() override {
    HostMemory host;
    std::string text;
    for (const uint32_t r : results) text += static_cast<char>('0' + r);
    seen_by_all->insert(text);
  }

  ModelAtomic<uint32_t> x{0};
  ModelAtomic<uint32_t> y{0};
  uint64_t* const data = new uint64_t(0);
  std::array<uint32_t, 4> results{};
  const std::vector<Body> threads;
  std::set<std::string>* const seen_by_all;
  ~Program() override { delete data; }
};

struct Outcomes {
  std::set<std::string> seen;
  std::string failure;
};

Outcomes OutcomesOf(std::vector<Program::Body> bodies) {
  Outcomes outcomes;
  const auto threads = static_cast<uint32_t>(bodies.size());
  const Result result =
      ExploreExhaustively(Make<Program>(std::move(bodies), &outcomes.seen), {.threads = threads},
                          {.preemptions = 8, .old_stores = 8}, 1'000'000);
  outcomes.failure = result.failure;
  EXPECT_TRUE(result.complete || !result.failure.empty());
  return outcomes;
}

// --- bodies, whose accesses have the orders that they name

using Order = std::memory_order;

template <Order kX>
void StoreX(Program& p) {
  p.x.store(1, kX);
}
template <Order kY>
void StoreY(Program& p) {
  p.y.store(1, kY);
}
template <Order kX, Order kY>
void StoreXThenY(Program& p) {
  StoreX<kX>(p);
  StoreY<kY>(p);
}
template <Order kX, Order kY>
void StoreXLoadY(Program& p) {
  StoreX<kX>(p);
  p.results[0] = p.y.load(kY);
}
template <Order kY, Order kX>
void StoreYLoadX(Program& p) {
  StoreY<kY>(p);
  p.results[1] = p.x.load(kX);
}
// Into two results from `kAt` on.
template <Order kX, Order kY, size_t kAt = 0>
void LoadXThenY(Program& p) {
  p.results[kAt] = p.x.load(kX);
  p.results[kAt + 1] = p.y.load(kY);
}
template <Order kY, Order kX, size_t kAt = 0>
void LoadYThenX(Program& p) {
  p.results[kAt] = p.y.load(kY);
  p.results[kAt + 1] = p.x.load(kX);
}

using Seen = std::set<std::string>;

TEST(LitmusTest, StoreBufferingIsSeenBelowSeqCst) {
  EXPECT_TRUE(OutcomesOf({StoreXLoadY<kRelease, kSeqCst>, StoreYLoadX<kSeqCst, kSeqCst>})
                  .seen.contains("0000"));
  EXPECT_EQ(OutcomesOf({StoreXLoadY<kSeqCst, kSeqCst>, StoreYLoadX<kSeqCst, kSeqCst>}).seen,
            (Seen{"0100", "1000", "1100"}));
}

TEST(LitmusTest, AMessagePassesOnlyWithReleaseAndAcquire) {
  const Program::Body right = LoadYThenX<kAcquire, kRelaxed>;
  EXPECT_EQ(OutcomesOf({StoreXThenY<kRelaxed, kRelease>, right}).seen,
            (Seen{"0000", "0100", "1100"}));
  EXPECT_TRUE(OutcomesOf({StoreXThenY<kRelaxed, kRelaxed>, right}).seen.contains("1000"));
  EXPECT_TRUE(OutcomesOf({StoreXThenY<kRelaxed, kRelease>, LoadYThenX<kRelaxed, kRelaxed>})
                  .seen.contains("1000"));
}

TEST(LitmusTest, OneLocationIsCoherent) {
  const auto outcomes = OutcomesOf({[](Program& p) {
                                      p.x.store(1, kRelaxed);
                                      p.x.store(2, kRelaxed);
                                    },
                                    [](Program& p) {
                                      p.results[0] = p.x.load(kRelaxed);
                                      p.results[1] = p.x.load(kRelaxed);
                                    }});
  EXPECT_EQ(outcomes.seen, (Seen{"0000", "0100", "0200", "1100", "1200", "2200"}));
}

TEST(LitmusTest, WhatWasReadCannotBeOlderForThoseWhoKnow) {
  // The second thread reads x == 1 and says so; the third may not then see x == 0.
  const auto outcomes = OutcomesOf({StoreX<kRelaxed>,
                                    [](Program& p) {
                                      p.results[0] = p.x.load(kRelaxed);
                                      p.y.store(1, kRelease);
                                    },
                                    LoadYThenX<kAcquire, kRelaxed, 1>});
  EXPECT_FALSE(outcomes.seen.contains("1100"));
  EXPECT_TRUE(outcomes.seen.contains("1000"));
  EXPECT_TRUE(outcomes.seen.contains("0100"));
}

TEST(LitmusTest, TwoReadersMayDisagreeUnlessSeqCst) {
  EXPECT_TRUE(OutcomesOf({StoreX<kRelease>, StoreY<kRelease>, LoadXThenY<kAcquire, kAcquire>,
                          LoadYThenX<kAcquire, kAcquire, 2>})
                  .seen.contains("1010"));
  EXPECT_FALSE(OutcomesOf({StoreX<kSeqCst>, StoreY<kSeqCst>, LoadXThenY<kSeqCst, kSeqCst>,
                           LoadYThenX<kSeqCst, kSeqCst, 2>})
                   .seen.contains("1010"));
}

TEST(LitmusTest, AReadModifyWriteContinuesAReleaseSequenceAndAStoreEndsIt) {
  const auto continued =
      OutcomesOf({StoreXThenY<kRelaxed, kRelease>, [](Program& p) { p.y.fetch_add(2, kRelaxed); },
                  LoadYThenX<kAcquire, kRelaxed>});
  EXPECT_TRUE(continued.seen.contains("3100"));
  EXPECT_FALSE(continued.seen.contains("3000"));
  const auto ended = OutcomesOf({[](Program& p) {
                                   StoreXThenY<kRelaxed, kRelease>(p);
                                   p.y.store(2, kRelaxed);
                                 },
                                 LoadYThenX<kAcquire, kRelaxed>});
  EXPECT_TRUE(ended.seen.contains("2000"));
}

TEST(LitmusTest, ReadModifyWritesAreAtomicAndSplitOnesAreNot) {
  const Program::Body add = [](Program& p) { p.x.fetch_add(1, kRelaxed); };
  Seen seen;
  struct Count : Program {
    using Program::Program;
    void Finish() override {
      results[0] = x.load(kRelaxed);
      Program::Finish();
    }
  };
  const std::vector<Program::Body> bodies{add, add};
  ExploreExhaustively(Make<Count>(bodies, &seen), {}, {}, 10'000);
  EXPECT_EQ(seen, (Seen{"2000"}));
  Plan split;
  split.weakenings = {{"", Op::kFetchAdd, kRelaxed, kRelaxed, true}};
  ExploreExhaustively(Make<Count>(bodies, &seen), split, {}, 10'000);
  EXPECT_EQ(seen, (Seen{"1000", "2000"}));
}

TEST(LitmusTest, APlainWriteThatIsNotPublishedIsARace) {
  const Program::Body reader = [](Program& p) {
    if (p.y.load(kAcquire) == 1) ModelMemory::WillRead(p.data, sizeof *p.data);
  };
  EXPECT_EQ(OutcomesOf({[](Program& p) {
                          ModelMemory::WillWrite(p.data, sizeof *p.data);
                          p.y.store(1, kRelease);
                        },
                        reader})
                .failure,
            "");
  EXPECT_THAT(OutcomesOf({[](Program& p) {
                            ModelMemory::WillWrite(p.data, sizeof *p.data);
                            p.y.store(1, kRelaxed);
                          },
                          reader})
                  .failure,
              testing::HasSubstr("data race: read after a write"));
  EXPECT_THAT(OutcomesOf({[](Program& p) {
                            p.y.store(1, kRelease);
                            ModelMemory::WillWrite(p.data, sizeof *p.data);
                          },
                          reader})
                  .failure,
              testing::HasSubstr("data race"));
}

TEST(LitmusTest, LeaksDoubleFreesAndUsesAfterFreeAreSeen) {
  // Not a local one: the compiler may leave such an allocation out.
  [[maybe_unused]] static uint64_t* volatile lost;
  EXPECT_THAT(OutcomesOf({[](Program&) { lost = new uint64_t(1); }}).failure,
              testing::HasSubstr("leak"));
  EXPECT_THAT(OutcomesOf({[](Program& p) { delete p.data; }}).failure,
              testing::HasSubstr("double free"));
  EXPECT_THAT(OutcomesOf({[](Program& p) {
                delete p.data;
                ModelMemory::WillRead(p.data, 8);
              }}).failure,
              testing::HasSubstr("no longer"));
}

TEST(LitmusTest, SleepersThatNobodyWakesAreADeadlock) {
  const Program::Body sleeper = [](Program& p) {
    while (p.x.load(kRelaxed) == 0) ModelMemory::FutexWait(p.x, 0);
  };
  EXPECT_EQ(OutcomesOf({sleeper,
                        [](Program& p) {
                          p.x.store(1, kRelaxed);
                          ModelMemory::FutexWakeAll(p.x);
                        }})
                .failure,
            "");
  EXPECT_THAT(OutcomesOf({sleeper, [](Program& p) { p.x.store(1, kRelaxed); }}).failure,
              testing::HasSubstr("deadlock"));
}

TEST(LitmusTest, AFailureReplays) {
  const std::vector<Program::Body> bodies{[](Program& p) {
                                            p.x.store(1, kRelaxed);
                                            p.y.store(1, kRelaxed);
                                          },
                                          [](Program& p) {
                                            if (p.y.load(kAcquire) == 1 && p.x.load(kAcquire) == 0)
                                              Fail("old");
                                          }};
  std::set<std::string> seen;
  const auto factory = Make<Program>(bodies, &seen);
  for (const Result& found :
       {ExploreExhaustively(factory, {}, {}, 1000), ExploreRandom(factory, {}, 1, 1000)}) {
    EXPECT_EQ(found.failure, "thread 2: old");
    const Result again = Replay(factory, {}, {}, found.replay);
    EXPECT_EQ(again.failure, found.failure);
    EXPECT_EQ(again.trace, found.trace);
    EXPECT_FALSE(again.trace.empty());
  }
}

}  // namespace
}  // namespace eris::explore
