#include "clients/retries.h"

#include "gtest/gtest.h"

namespace eris::client {
namespace {

absl::Status Refusal(uint32_t retry_ms) {
  return Error(ErrorReason::kSessionBytes, "full", {.retry_ms = retry_ms});
}

TEST(RetriesTest, PauseIsWhatTheServerAsksForAndDoubles) {
  EXPECT_EQ(PauseAfter(Refusal(20), 1, 0), absl::Milliseconds(20));
  EXPECT_EQ(PauseAfter(Refusal(20), 2, 0), absl::Milliseconds(40));
  EXPECT_EQ(PauseAfter(Refusal(20), 3, 0), absl::Milliseconds(80));
  EXPECT_EQ(PauseAfter(Refusal(20), 3, 1), absl::Milliseconds(120));
  EXPECT_EQ(PauseAfter(Refusal(20), 1000, 0), absl::Seconds(2));
  EXPECT_EQ(PauseAfter(Refusal(5000), 2, 0), absl::Seconds(5));  // never less than it asks for
}

TEST(RetriesTest, OnlyRefusalsThatNameATimeAreTriedAgain) {
  EXPECT_EQ(PauseAfter(Refusal(0), 1, 0), absl::ZeroDuration());
  EXPECT_EQ(PauseAfter(absl::ResourceExhaustedError("full"), 1, 0), absl::ZeroDuration());
  EXPECT_EQ(PauseAfter(absl::OkStatus(), 1, 0), absl::ZeroDuration());
  // The outcome of a write would be unknown.
  const absl::Status gone = Error(ErrorReason::kServerStopping, "going", {.retry_ms = 20});
  EXPECT_EQ(PauseAfter(gone, 1, 0), absl::ZeroDuration());
}

TEST(RetriesTest, ThereAreFewAndNoneBeyondTheDeadline) {
  Retries retries(absl::InfiniteFuture());
  for (int i = 0; i < Retries::kMost; ++i) EXPECT_TRUE(retries.Wait(Refusal(1)));
  EXPECT_FALSE(retries.Wait(Refusal(1)));
  EXPECT_EQ(retries.made(), Retries::kMost);
  Retries late(absl::Now() + absl::Milliseconds(100));
  EXPECT_FALSE(late.Wait(Refusal(200)));
  EXPECT_FALSE(late.Wait(absl::UnavailableError("not there")));
}

}  // namespace
}  // namespace eris::client
