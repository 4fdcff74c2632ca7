// Which connections are cut, by their counts alone.
#include "server/door/connection_judge.h"

#include <optional>

#include "gtest/gtest.h"

namespace eris::server {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class ConnectionJudgeTest : public ::testing::Test {
 protected:
  std::optional<DoorCause> JudgeNow(const ConnectionCounts& counts, uint64_t served = 0) {
    return judge.Judge(limits, now, counts, [served] { return served; });
  }
  // The same counts now and a second later: what a call that waits for a thread may send is no
  // excuse any more.
  std::optional<DoorCause> Judge(const ConnectionCounts& counts, uint64_t served = 0) {
    const std::optional<DoorCause> cause = JudgeNow(counts, served);
    if (cause) return cause;
    now += std::chrono::seconds(1);
    return JudgeNow(counts, served);
  }

  JudgeLimits limits{.unused_bytes_max = kMiB,
                     .cancelled_calls_max = 2000,
                     .message_bytes_max = 40 * kMiB,
                     .arriving_bytes_max = 256 * kMiB,
                     .calls_max = 1024};
  ConnectionJudge judge;
  ConnectionJudge::Clock::time_point now{std::chrono::seconds(100)};
};

TEST_F(ConnectionJudgeTest, BytesWithoutAMessageAreCut) {
  EXPECT_EQ(Judge({.received_bytes = kMiB, .calls_started = 1}), std::nullopt);
  EXPECT_EQ(Judge({.received_bytes = kMiB + 1, .calls_started = 1}), DoorCause::kUnusedBytes);
}

// Its headers have come, and no thread has had time for it.
TEST_F(ConnectionJudgeTest, CallThatIsNotYetServedIsAllowedAWindowForASecond) {
  EXPECT_EQ(JudgeNow({.received_bytes = 17 * kMiB, .calls_started = 1}), std::nullopt);
  now += std::chrono::milliseconds(999);
  EXPECT_EQ(JudgeNow({.received_bytes = 17 * kMiB, .calls_started = 1}), std::nullopt);
  EXPECT_EQ(JudgeNow({.received_bytes = 17 * kMiB, .calls_started = 1}, 1), std::nullopt);
  EXPECT_EQ(JudgeNow({.received_bytes = 81 * kMiB + 1, .calls_started = 1}, 1), std::nullopt);
  EXPECT_EQ(JudgeNow({.received_bytes = 97 * kMiB + 1, .calls_started = 1}, 1),
            DoorCause::kUnusedBytes);
}

// A server in little memory takes small messages, and says so to a client that sends the usual.
TEST_F(ConnectionJudgeTest, MessageThatIsTooLargeMayArrive) {
  limits.message_bytes_max = 4 * kMiB;
  EXPECT_EQ(Judge({.received_bytes = 33 * kMiB, .calls_started = 1}, 1), std::nullopt);
}

TEST_F(ConnectionJudgeTest, EveryMessageBeginsTheCountAgain) {
  ConnectionCounts counts;
  for (uint64_t i = 1; i < 1000; ++i) {
    counts.received_bytes = i * kMiB;
    counts.messages = i;
    ASSERT_EQ(Judge(counts), std::nullopt);
  }
  counts.received_bytes += kMiB + 1;
  EXPECT_EQ(Judge(counts), DoorCause::kUnusedBytes);
}

TEST_F(ConnectionJudgeTest, ServedCallsMaySendLargeMessagesHoweverSlowly) {
  ConnectionCounts counts{.calls_started = 2};
  for (uint64_t mib = 0; mib <= 81; ++mib) {
    now += std::chrono::hours(1);
    counts.received_bytes = mib * kMiB;
    ASSERT_EQ(Judge(counts, 1), std::nullopt) << mib;
  }
  counts.received_bytes = 81 * kMiB + 1;
  EXPECT_EQ(Judge(counts, 1), DoorCause::kUnusedBytes);
  EXPECT_EQ(Judge(counts, 2), std::nullopt);
}

// Under overload calls are refused at their beginning: nobody reads what was sent with them.
TEST_F(ConnectionJudgeTest, RequestsOfCallsThatWereRefusedAreAllowed) {
  EXPECT_EQ(Judge({.received_bytes = 81 * kMiB, .calls_started = 500, .calls_failed = 500}),
            std::nullopt);
  // A call whose headers have no end never ends.
  judge = ConnectionJudge();
  EXPECT_EQ(Judge({.received_bytes = 81 * kMiB, .calls_started = 500}), DoorCause::kUnusedBytes);
  // One that is refused buys no room for another one's headers.
  EXPECT_EQ(Judge({.received_bytes = 81 * kMiB, .calls_started = 500, .calls_failed = 1}),
            DoorCause::kUnusedBytes);
}

// Its time was up; the client learns that while it is still sending.
TEST_F(ConnectionJudgeTest, CallThatEndsInTheMiddleOfItsMessageIsAllowed) {
  EXPECT_EQ(Judge({.received_bytes = 30 * kMiB, .calls_started = 1}, 1), std::nullopt);
  EXPECT_EQ(Judge({.received_bytes = 34 * kMiB, .calls_started = 1, .calls_failed = 1}, 0),
            std::nullopt);
}

TEST_F(ConnectionJudgeTest, ManyServedCallsMaySendWhatTheServerHoldsOfThem) {
  EXPECT_EQ(Judge({.received_bytes = 257 * kMiB, .calls_started = 1000}, 1000), std::nullopt);
  EXPECT_EQ(Judge({.received_bytes = 257 * kMiB + 1, .calls_started = 1000}, 1000),
            DoorCause::kUnusedBytes);
}

TEST_F(ConnectionJudgeTest, ReaderOfALongScanAcknowledgesALot) {
  EXPECT_EQ(Judge({.received_bytes = 60 * kMiB,
                   .sent_bytes = 1000 * kMiB,
                   .calls_started = 1,
                   .messages = 0}),
            std::nullopt);
}

TEST_F(ConnectionJudgeTest, CallsThatAreResetAreCut) {
  EXPECT_EQ(Judge({.calls_started = 3024, .calls_failed = 3024}), std::nullopt);
  EXPECT_EQ(Judge({.calls_started = 6049, .calls_failed = 6049}), DoorCause::kCancelledCalls);
}

TEST_F(ConnectionJudgeTest, CallsThatAreOpenedWithoutEndAreCut) {
  EXPECT_EQ(Judge({.calls_started = 4048}), std::nullopt);
  EXPECT_EQ(Judge({.calls_started = 4049}), DoorCause::kCancelledCalls);
}

// Calls begin and end while the counts are read.
TEST_F(ConnectionJudgeTest, MoreCallsMayHaveEndedThanBegun) {
  EXPECT_EQ(Judge({.calls_started = 433'995, .calls_succeeded = 433'997}), std::nullopt);
  EXPECT_EQ(Judge({.calls_started = 433'999, .calls_succeeded = 433'998, .calls_failed = 3}),
            std::nullopt);
}

TEST_F(ConnectionJudgeTest, CancellingSlowlyIsAllowed) {
  ConnectionCounts counts;
  for (uint64_t i = 0; i < 100; ++i) {
    counts.calls_started += 3000;
    counts.calls_failed += 3000;
    now += std::chrono::seconds(1);
    ASSERT_EQ(Judge(counts), std::nullopt) << i;
  }
}

TEST_F(ConnectionJudgeTest, CancellingATenthOfManyCallsIsAllowed) {
  ConnectionCounts counts;
  for (uint64_t i = 0; i < 100; ++i) {
    counts.calls_started += 100'000;
    counts.calls_failed += 10'000;
    counts.calls_succeeded += 90'000;
    counts.messages += 90'000;
    ASSERT_EQ(Judge(counts), std::nullopt) << i;
  }
}

TEST_F(ConnectionJudgeTest, EachRuleCanBeSwitchedOff) {
  limits.unused_bytes_max = 0;
  limits.cancelled_calls_max = 0;
  EXPECT_EQ(Judge({.received_bytes = 1 << 30, .calls_started = 1'000'000}), std::nullopt);
}

}  // namespace
}  // namespace eris::server
