// AEUs stepped by hand: byte strings do not hold a turn up, and requests that are given up leave
// records and answers to whoever still uses them.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/hand_engine.h"

namespace eris {
namespace {

constexpr size_t kValueBytes = 64 << 10;
constexpr uint64_t kKeys = 16;  // of one request: a turn's budget

class BytesTurnTest : public testing::Test {
 protected:
  BytesTurnTest() : session_(engine_->NewSession()) {
    for (uint64_t key = 0; key < kKeys; ++key) keys_.push_back(key);
    EXPECT_TRUE(
        engine_.While([&] { return engine_->Create("b", {.value_type = ColumnType::kString}); })
            .ok());
    const std::string value(kValueBytes, 'v');
    const std::vector<absl::string_view> values(kKeys, value);
    EXPECT_TRUE(engine_.While([&] { return session_->UpsertBytes("b", keys_, values); }).ok());
  }
  uint64_t KeysDone() { return engine_->aeu({0}).counters().keys.Read(); }

  test::HandEngine engine_{1};
  std::unique_ptr<Session> session_;
  std::vector<uint64_t> keys_;
};

TEST_F(BytesTurnTest, TurnEndsSoonAfterItHasCopiedEnough) {
  constexpr int kRequests = 8;
  std::atomic<int> answered{0};
  for (int i = 0; i < kRequests; ++i) {
    ASSERT_TRUE(session_
                    ->LookupBytesAsync("b", keys_, kBatchValueBytesMax,
                                       [&](const BatchResult& result) {
                                         EXPECT_EQ(result.values.size(), kKeys * kValueBytes);
                                         answered.fetch_add(1);
                                       })
                    .ok());
  }
  uint64_t before = KeysDone();
  for (int i = 0; i < kRequests; ++i) {
    EXPECT_TRUE(engine_->aeu({0}).Step({}));
    EXPECT_EQ(KeysDone() - before, kKeys) << "turn " << i;
    before = KeysDone();
  }
  engine_.StepUntil([&] { return answered.load() == kRequests; });
}

TEST_F(BytesTurnTest, RequestGivenUpBeforeItsTurnIsReadFromItsOwnCopy) {
  {
    const std::string value(kValueBytes, 'n');
    const std::vector<absl::string_view> values(kKeys, value);
    const absl::Status status =
        session_->UpsertBytes("b", keys_, values, {}, absl::Now() + absl::Milliseconds(1));
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  }  // the caller's bytes are gone
  std::vector<uint8_t> found(kKeys);
  BytesColumn column;
  EXPECT_EQ(session_
                ->LookupBytes("b", keys_, column, absl::MakeSpan(found), {},
                              absl::Now() + absl::Milliseconds(1))
                .code(),
            absl::StatusCode::kDeadlineExceeded);
  while (engine_.StepAll()) {
  }
  EXPECT_TRUE(
      engine_
          .While([&] { return session_->LookupBytes("b", keys_, column, absl::MakeSpan(found)); })
          .ok());
  for (size_t i = 0; i < kKeys; ++i) EXPECT_EQ(column[i].size(), kValueBytes);
}

}  // namespace
}  // namespace eris
