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
#include "tests/support/objects.h"

namespace eris {
namespace {

constexpr size_t kValueBytes = 64 << 10;
constexpr uint64_t kKeys = 16;  // of one request: a turn's budget

class BytesTurnTest : public testing::Test {
 protected:
  BytesTurnTest() : session_(engine_->NewSession()) {
    for (uint64_t key = 0; key < kKeys; ++key) keys_.push_back(key);
    const CreateOptions options{.schema = KeyValueSchema(ColumnType::kUint64, ColumnType::kString)};
    object_ = engine_.While([&] { return test::Create(*engine_, "b", options); });
    EXPECT_TRUE(engine_.While([&] { return Upsert('v', absl::InfiniteFuture()); }).ok());
  }
  // Strings of that letter, which are gone when it returns.
  absl::Status Upsert(char letter, absl::Time deadline) {
    const test::StringsColumn strings(
        std::vector<std::string>(kKeys, std::string(kValueBytes, letter)));
    const ColumnView columns[] = {test::ColumnOf(keys_), strings.view()};
    return session_->Write(object_, {.rows = {kKeys, columns}}, deadline).status;
  }
  BatchResult Lookup(absl::Time deadline) {
    const ColumnView keys = test::ColumnOf(keys_);
    return session_->Lookup(object_, {.keys = {kKeys, {&keys, 1}}}, deadline);
  }
  uint64_t KeysDone() { return engine_->aeu({0}).counters().keys.Read(); }

  test::HandEngine engine_{1};
  std::unique_ptr<Session> session_;
  std::vector<uint64_t> keys_;
  Object object_;
};

TEST_F(BytesTurnTest, TurnEndsSoonAfterItHasCopiedEnough) {
  constexpr int kRequests = 8;
  std::atomic<int> answered{0};
  for (int i = 0; i < kRequests; ++i) {
    const ColumnView keys = test::ColumnOf(keys_);
    const auto done = [&](const BatchResult& result) {
      EXPECT_EQ(result.columns[0].values.size(), kKeys * kValueBytes);
      answered.fetch_add(1);
    };
    ASSERT_TRUE(session_->LookupAsync(object_, {.keys = {kKeys, {&keys, 1}}}, done).ok());
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
  const auto soon = [] { return absl::Now() + absl::Milliseconds(1); };
  EXPECT_EQ(Upsert('n', soon()).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Lookup(soon()).status.code(), absl::StatusCode::kDeadlineExceeded);
  while (engine_.StepAll()) {
  }
  const BatchResult result = engine_.While([&] { return Lookup(absl::InfiniteFuture()); });
  EXPECT_TRUE(result.status.ok()) << result.status;
  for (const std::string& string : test::StringsOf(result.columns[0])) {
    EXPECT_EQ(string.size(), kValueBytes);
  }
}

}  // namespace
}  // namespace eris
