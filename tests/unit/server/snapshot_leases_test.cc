#include "server/guard/snapshot_leases.h"

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace eris::server {
namespace {

using std::chrono::milliseconds;
using Clock = SnapshotLeases::Clock;

class CountedSnapshot final : public Snapshot {
 public:
  explicit CountedSnapshot(std::atomic<int>* held) : held_(*held) {
    held_.fetch_add(1, std::memory_order_relaxed);  // relaxed, here and below: a count for tests
  }
  ~CountedSnapshot() override { held_.fetch_sub(1, std::memory_order_relaxed); }
  uint64_t epoch() const override { return 1; }
  bool aborted() const override { return false; }

 private:
  std::atomic<int>& held_;
};

class SnapshotLeasesTest : public ::testing::Test {
 protected:
  std::shared_ptr<Snapshot> NewSnapshot() { return std::make_shared<CountedSnapshot>(&held_); }
  std::atomic<int> held_{0};
  std::vector<Clock::duration> armed_;
  SnapshotLeases leases_{[this](Clock::duration delay) { armed_.push_back(delay); }};
};

TEST_F(SnapshotLeasesTest, SnapshotGoesAfterItsTimeToLive) {
  const auto now = Clock::now();
  const uint64_t id = leases_.Add(NewSnapshot(), milliseconds(100), now);
  EXPECT_NE(id, 0u);
  ASSERT_EQ(armed_.size(), 1u);
  EXPECT_EQ(armed_[0], milliseconds(100));
  EXPECT_EQ(leases_.Sweep(now + milliseconds(40)), milliseconds(60));
  EXPECT_EQ(held_.load(), 1);
  EXPECT_EQ(leases_.Sweep(now + milliseconds(100)), std::nullopt);
  EXPECT_EQ(held_.load(), 0);
  EXPECT_EQ(leases_.Find(id).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SnapshotLeasesTest, OneThatIsUsedStaysAndLivesAnewAfterwards) {
  const auto now = Clock::now();
  const uint64_t id = leases_.Add(NewSnapshot(), milliseconds(50), now);
  {
    auto use = leases_.Find(id);
    ASSERT_TRUE(use.ok());
    EXPECT_EQ(use->id(), id);
    EXPECT_FALSE(use->of_scan());
    EXPECT_EQ(leases_.Sweep(now + milliseconds(1000)), std::nullopt);
    EXPECT_EQ(leases_.size(), 1u);
  }
  EXPECT_EQ(armed_.size(), 2u);
  EXPECT_TRUE(leases_.Sweep(Clock::now()).has_value());
  EXPECT_EQ(leases_.Sweep(Clock::now() + milliseconds(51)), std::nullopt);
  EXPECT_EQ(held_.load(), 0);
}

TEST_F(SnapshotLeasesTest, ASoonerEndArmsAnewAndALaterOneDoesNot) {
  const auto now = Clock::now();
  leases_.Add(NewSnapshot(), milliseconds(1000), now);
  leases_.Add(NewSnapshot(), milliseconds(2000), now);
  EXPECT_EQ(armed_.size(), 1u);
  leases_.Add(NewSnapshot(), milliseconds(10), now);
  ASSERT_EQ(armed_.size(), 2u);
  EXPECT_EQ(armed_[1], milliseconds(10));
  EXPECT_EQ(leases_.Sweep(now + milliseconds(10)), milliseconds(990));
  EXPECT_EQ(held_.load(), 2);
}

TEST_F(SnapshotLeasesTest, ReleasedOneStaysForThoseThatUseIt) {
  const uint64_t id = leases_.Add(NewSnapshot(), milliseconds(1000));
  auto use = leases_.Find(id);
  ASSERT_TRUE(use.ok());
  EXPECT_TRUE(leases_.Release(id).ok());
  EXPECT_EQ(leases_.Release(id).code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(leases_.Find(id).ok());
  EXPECT_EQ(held_.load(), 1);
  use->End();
  EXPECT_EQ(held_.load(), 0);
}

TEST_F(SnapshotLeasesTest, ShortenedOneGoesSoonAfterItsLastUse) {
  auto use = leases_.AddForScan("one", NewSnapshot(), milliseconds(100'000));
  leases_.Shorten(use.id(), milliseconds(20));
  leases_.Shorten(use.id(), milliseconds(5000));
  leases_.Shorten(use.id() + 1, milliseconds(20));  // nobody's
  use.End();
  ASSERT_FALSE(armed_.empty());
  EXPECT_EQ(armed_.back(), milliseconds(20));
  EXPECT_EQ(leases_.Sweep(Clock::now() + milliseconds(21)), std::nullopt);
  EXPECT_EQ(held_.load(), 0);
}

TEST_F(SnapshotLeasesTest, OfBrokenScansTheOldestGoes) {
  const uint64_t taken = leases_.Add(NewSnapshot(), milliseconds(1));
  std::vector<uint64_t> ids;
  for (size_t i = 0; i <= SnapshotLeases::kBrokenScansMax; ++i) {
    auto use = leases_.AddForScan("one", NewSnapshot(), milliseconds(1000));
    EXPECT_TRUE(use.of_scan());
    ids.push_back(use.id());
  }
  EXPECT_EQ(leases_.size(), 1 + SnapshotLeases::kBrokenScansMax);
  EXPECT_FALSE(leases_.Find(ids[0]).ok());
  EXPECT_TRUE(leases_.Find(ids[1]).ok());
  EXPECT_TRUE(leases_.Find(taken).ok());
}

TEST_F(SnapshotLeasesTest, OneOfTicketsGoesASecondAfterTheLastWasRead) {
  constexpr auto kLong = milliseconds(100'000);
  const milliseconds soon = SnapshotLeases::kReadOutTimeToLive;
  auto use = leases_.AddForTickets("one", NewSnapshot(), kLong);
  const uint64_t id = use.id();
  leases_.SetTickets(id, 2);
  use.End();
  EXPECT_EQ(armed_.back(), kLong);
  const auto read = [&](size_t ticket) {
    const auto reader = leases_.Find(id);
    ASSERT_TRUE(reader.ok());
    leases_.MarkRead(id, ticket);
  };
  read(0);
  read(0);  // once more
  leases_.MarkRead(id, 7);
  leases_.MarkRead(id + 1, 1);  // nobody's
  leases_.Sweep(Clock::now() + 2 * soon);
  EXPECT_EQ(held_.load(), 1) << "the other ticket has not been read";
  read(1);
  EXPECT_EQ(armed_.back(), soon);
  EXPECT_TRUE(leases_.Find(id).ok());  // in time
  EXPECT_EQ(leases_.Sweep(Clock::now() + soon + milliseconds(1)), std::nullopt);
  EXPECT_EQ(held_.load(), 0);
}

TEST_F(SnapshotLeasesTest, RenewedTicketIsToBeReadAgain) {
  const auto now = Clock::now();
  auto use = leases_.AddForTickets("one", NewSnapshot(), milliseconds(5000));
  const uint64_t id = use.id();
  leases_.SetTickets(id, 1);
  leases_.MarkRead(id, 0);
  use.End();
  EXPECT_TRUE(leases_.Renew(id, 0, now + milliseconds(500)).ok());
  EXPECT_TRUE(leases_.Renew(id, 0, now + milliseconds(900)).ok());
  EXPECT_TRUE(leases_.Sweep(now + milliseconds(5899)).has_value());
  EXPECT_EQ(held_.load(), 1);
  EXPECT_EQ(leases_.Sweep(now + milliseconds(5900)), std::nullopt);
  EXPECT_EQ(held_.load(), 0);
  EXPECT_EQ(leases_.Renew(id, 0).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SnapshotLeasesTest, TicketThatIsRenewedWhileItIsReadIsToBeReadAgain) {
  const auto now = Clock::now();
  auto use = leases_.AddForTickets("one", NewSnapshot(), milliseconds(5000));
  const uint64_t id = use.id();
  leases_.SetTickets(id, 1);
  EXPECT_TRUE(leases_.Renew(id, 0, now).ok());
  leases_.MarkRead(id, 0);
  use.End();
  EXPECT_TRUE(leases_.Sweep(now + milliseconds(3000)).has_value());
  EXPECT_EQ(held_.load(), 1);
  auto again = leases_.Find(id);
  ASSERT_TRUE(again.ok());
  leases_.MarkRead(id, 0);
  again->End();
  EXPECT_EQ(leases_.Sweep(Clock::now() + milliseconds(1001)), std::nullopt);
  EXPECT_EQ(held_.load(), 0);
}

TEST_F(SnapshotLeasesTest, BeyondItsMaximumTheOldestThatNobodyReadsGoes) {
  std::vector<uint64_t> ids;
  const auto add = [&] {
    auto use = leases_.AddForTickets("one", NewSnapshot(), milliseconds(100'000));
    leases_.SetTickets(use.id(), 1);
    ids.push_back(use.id());
  };
  add();
  const auto reader = leases_.Find(ids[0]);
  const uint64_t taken = leases_.Add(NewSnapshot(), milliseconds(1));
  while (ids.size() < SnapshotLeases::kTicketsMax) add();
  EXPECT_TRUE(leases_.Renew(ids[1], 0).ok());
  EXPECT_EQ(leases_.taken(), SnapshotLeases::kTicketsMax + 1);
  add();
  EXPECT_FALSE(leases_.Find(ids[2]).ok());
  add();
  EXPECT_FALSE(leases_.Find(ids[3]).ok());
  for (const size_t kept : {0u, 1u, 4u, 64u, 65u})
    EXPECT_TRUE(leases_.Find(ids[kept]).ok()) << kept;
  EXPECT_TRUE(leases_.Find(taken).ok());
  EXPECT_EQ(leases_.taken(), SnapshotLeases::kTicketsMax + 1);
}

TEST_F(SnapshotLeasesTest, BeyondTheMaximumNobodyLosesOnesToAClientThatHasMore) {
  const auto add = [&](const char* client) {
    auto use = leases_.AddForTickets(client, NewSnapshot(), milliseconds(100'000));
    leases_.SetTickets(use.id(), 1);
    return use.id();
  };
  const uint64_t modest = add("modest");
  std::vector<uint64_t> greedy;
  for (size_t i = 0; i < 2 * SnapshotLeases::kTicketsMax; ++i) greedy.push_back(add("greedy"));
  EXPECT_TRUE(leases_.Find(modest).ok());
  EXPECT_FALSE(leases_.Find(greedy.front()).ok());
  EXPECT_TRUE(leases_.Find(greedy.back()).ok());
  const uint64_t later = add("another");
  EXPECT_TRUE(leases_.Find(modest).ok());
  EXPECT_TRUE(leases_.Find(later).ok());
  EXPECT_EQ(leases_.size(), SnapshotLeases::kTicketsMax);
}

TEST_F(SnapshotLeasesTest, WhereAllAreReadANewOneStays) {
  std::vector<SnapshotLeases::Use> readers;
  for (size_t i = 0; i <= SnapshotLeases::kTicketsMax; ++i) {
    readers.push_back(leases_.AddForTickets("one", NewSnapshot(), milliseconds(1000)));
    leases_.SetTickets(readers.back().id(), 1);
  }
  const uint64_t last = readers.back().id();
  readers.pop_back();
  EXPECT_TRUE(leases_.Find(last).ok());
  const uint64_t first = readers.front().id();
  readers.front().End();
  EXPECT_FALSE(leases_.Find(last).ok()) << "the oldest that nobody reads";
  EXPECT_TRUE(leases_.Find(first).ok());
}

TEST_F(SnapshotLeasesTest, IdsOfAnotherServerAreUnknown) {
  SnapshotLeases other([](Clock::duration) {});
  const uint64_t id = leases_.Add(NewSnapshot(), milliseconds(1000));
  other.Add(NewSnapshot(), milliseconds(1000));
  EXPECT_FALSE(other.Find(id).ok());
}

}  // namespace
}  // namespace eris::server
