// Time is what the test says: nothing arms the queue.
#include "server/calls/scan_park.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace eris::server {
namespace {

using std::chrono::milliseconds;

class CountedScan final : public Scan {
 public:
  explicit CountedScan(int* open) : open_(*open) { ++open_; }
  ~CountedScan() override { --open_; }
  const Schema& schema() const override { return schema_; }
  std::shared_ptr<Snapshot> snapshot() const override { return nullptr; }
  NextResult Next(absl::Time) override { return std::shared_ptr<const Chunk>(); }
  void NextAsync(Callback) override {}
  void Cancel() override {}

 private:
  int& open_;
  const Schema schema_{};
};

class ScanParkTest : public ::testing::Test {
 protected:
  struct Stream {
    std::shared_ptr<ScanStop> stop = std::make_shared<ScanStop>();
    std::shared_ptr<ScanPark> park = std::make_shared<ScanPark>(stop);
  };
  std::unique_ptr<Scan> NewScan(const Stream& stream) {
    auto scan = std::make_unique<CountedScan>(&open_);
    stream.stop->Attach(scan.get());
    return scan;
  }
  void Expire() { (void)queue_.Sweep(ExpiryQueue::CoarseNow() + milliseconds(1000)); }

  int open_ = 0;
  ExpiryQueue queue_{milliseconds(250), [](ExpiryQueue::Clock::duration) {}};
  std::string place_;
};

TEST_F(ScanParkTest, ScanThatIsReadInTimeGoesOnItself) {
  const Stream stream;
  stream.park->Begin(queue_, NewScan(stream), "a");
  EXPECT_TRUE(stream.park->used());
  EXPECT_NE(stream.park->End(&place_), nullptr);
  EXPECT_FALSE(stream.park->used());
  Expire();
  EXPECT_EQ(stream.stop->reason(), std::nullopt);
}

TEST_F(ScanParkTest, UnreadScanLeavesItsPlace) {
  const Stream stream;
  stream.park->Begin(queue_, NewScan(stream), "a");
  Expire();
  EXPECT_EQ(open_, 0);
  EXPECT_EQ(stream.park->End(&place_), nullptr);
  EXPECT_EQ(place_, "a");
  EXPECT_EQ(stream.stop->reason(), std::nullopt);
  // The beginning is a place, too.
  stream.park->Begin(queue_, NewScan(stream), "");
  Expire();
  EXPECT_EQ(stream.park->End(&place_), nullptr);
  EXPECT_EQ(place_, "");
  EXPECT_EQ(stream.stop->reason(), std::nullopt);
}

TEST_F(ScanParkTest, UnreadScanWithoutPlaceIsKeptWithinTheClientsShare) {
  ClientShares unread(2);  // of which one client gets one
  const Stream kept, ended, of_another;
  kept.park->BeginWithoutPlace(queue_, NewScan(kept), unread, "ipv4:10.0.0.7");
  ended.park->BeginWithoutPlace(queue_, NewScan(ended), unread, "ipv4:10.0.0.7");
  EXPECT_EQ(unread.held(), 0u);  // none is unread yet
  Expire();
  EXPECT_EQ(open_, 1);
  EXPECT_EQ(unread.held(), 1u);
  EXPECT_EQ(kept.stop->reason(), std::nullopt);
  ASSERT_NE(ended.stop->reason(), std::nullopt);
  EXPECT_EQ(ended.stop->reason()->code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrorDetailsOf(*ended.stop->reason()).reason, "SCAN_CHUNKS");
  EXPECT_EQ(ended.park->End(&place_), nullptr);

  of_another.park->BeginWithoutPlace(queue_, NewScan(of_another), unread, "ipv4:10.0.0.8");
  std::unique_ptr<Scan> scan = kept.park->End(&place_);
  EXPECT_NE(scan, nullptr);
  EXPECT_EQ(unread.held(), 0u);
  Expire();
  EXPECT_EQ(unread.held(), 1u);
  EXPECT_NE(of_another.park->End(&place_), nullptr);
  EXPECT_EQ(unread.held(), 0u);
}

TEST_F(ScanParkTest, AScanWithAPlaceNeedsNoShare) {
  ClientShares unread(1);
  const Stream stream;
  stream.park->BeginWithoutPlace(queue_, NewScan(stream), unread, "ipv4:10.0.0.7");
  std::unique_ptr<Scan> scan = stream.park->End(&place_);
  stream.park->Begin(queue_, std::move(scan), "a");
  Expire();
  EXPECT_EQ(open_, 0);
  EXPECT_EQ(unread.held(), 0u);
  EXPECT_EQ(stream.park->End(&place_), nullptr);
  EXPECT_EQ(place_, "a");
}

}  // namespace
}  // namespace eris::server
