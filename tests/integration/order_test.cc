// What one session sends on a key takes effect in the order in which it was sent, with many calls
// under way, keys that stand in a batch more than once, and ranges that move all the time, there
// and back. Each session has keys of its own and knows, when it sends a call, what the call will
// find.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "eris/engine.h"
#include "tests/support/any_object.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"
#include "tests/support/window.h"

namespace eris {
namespace {

using test::AnyAnswer;
using test::AnyBatch;
using test::AnyKey;
using test::AnyKind;
using test::AnyObject;
using test::Window;

constexpr uint32_t kOrderAeus = 4;
constexpr uint32_t kOrderSessions = 3;
constexpr uint32_t kInFlight = 40;  // more than are sent again at a time
constexpr uint64_t kHotKeys = 12;   // of each session, all over the key space
const uint64_t kCalls = test::Fewer(20'000, 2'000);
constexpr uint64_t kMovesMin = 20;  // of ranges, while the calls are made

AnyKey KeyOf(AnyKind kind, uint32_t session, uint64_t i) {
  return {(i << 60) + session, kind == AnyKind::kTwoParts ? 5 : 0};
}

struct OrderCase {
  AnyKind kind;
  bool small;  // buffers
  bool balancer = false;
};

class OrderTest : public testing::TestWithParam<OrderCase> {
 protected:
  void Open() {
    Options options = test::SmallOptions(kOrderAeus);
    options.balancer.enabled = GetParam().balancer;
    options.balancer.max_pause_us = 50;
    if (GetParam().balancer) {
      options.balancer.period_ms = 10;
      options.balancer.threshold = 0.02;
    }
    if (GetParam().small) {
      options.incoming_buffer_bytes = 64 << 10;
      options.outgoing_buffer_bytes = 4 << 10;
      options.port_buffers_bytes_max = 8 << 10;
      options.send_wait_ms_max = 60'000;
    }
    engine_ = test::OpenEngine(options);
  }
  void Fault(const std::string& what) {
    base::MutexLock lock(&mu_);
    if (++faults_ <= 5) ADD_FAILURE() << what;
  }

  // Writes and looks rows up; of each call it knows what every row will answer. Where there are
  // conditional writes, half of the calls are such: each expects the value of the write before it.
  void Run(uint32_t session_number) {
    const auto session = engine_->NewSession();
    const Object object = test::Open(*session, "o");
    std::mt19937_64 random(test::Seed() + session_number);
    std::vector<uint64_t> last(kHotKeys, 0);  // 0: not there
    Window window(kInFlight);
    uint64_t next = 1;
    for (uint64_t call = 0; call < kCalls || (MovesAreDue() && call < 100 * kCalls); ++call) {
      const std::optional<WriteMode> mode = AnyMode(random);
      const auto batches = std::make_shared<std::pair<AnyBatch, AnyBatch>>(kind_, kind_);
      auto& [rows, before] = *batches;
      std::vector<uint64_t> expected;
      for (uint64_t n = 1 + random() % 6; n > 0; --n) {
        uint64_t& value = last[random() % kHotKeys];
        const auto number = static_cast<uint64_t>(&value - last.data());
        expected.push_back(value);
        before.Add({}, value);
        const bool writes = mode && (mode != WriteMode::kCompareAndSet || value != 0);
        if (writes) value = mode == WriteMode::kErase ? 0 : next++;
        rows.Add(KeyOf(kind_, session_number, number), value);
      }
      window.Enter();
      auto done = [&, mode, expected](BatchResult result) {
        Check(mode, expected, std::move(result));
        window.Leave();
      };
      absl::Status sent;
      if (!mode) {
        const LookupBatch batch{.keys = rows.keys(), .holder = batches};
        sent = session->LookupAsync(object, batch, std::move(done)).status();
      } else {
        WriteBatch batch = rows.write(*mode);
        if (mode == WriteMode::kCompareAndSet) batch.expected = before.values();
        if (random() % 2 == 0) batch.holder = batches;
        sent = session->WriteAsync(object, batch, std::move(done)).status();
      }
      if (sent.ok()) continue;
      window.Leave();
      return Fault(sent.ToString());
    }
  }
  // On a busy machine the mover comes to little while the calls are made: there are more then.
  bool MovesAreDue() const { return !GetParam().balancer && moves_.load() <= kMovesMin; }
  std::optional<WriteMode> AnyMode(std::mt19937_64& random) const {
    const uint64_t what = random() % 16;
    if (what < 8 && Takes(kind_, WriteMode::kCompareAndSet)) return WriteMode::kCompareAndSet;
    if (what % 8 < 3) return std::nullopt;
    return what % 8 == 3 ? WriteMode::kErase : WriteMode::kUpsert;
  }
  void Check(std::optional<WriteMode> mode, const std::vector<uint64_t>& expected,
             BatchResult result) {
    if (!result.status.ok()) return Fault(result.status.ToString());
    const AnyAnswer answer = test::AnswerOf(kind_, !mode, std::move(result), expected.size());
    const bool values = !mode || mode == WriteMode::kCompareAndSet;
    for (size_t i = 0; i < expected.size(); ++i) {
      const bool there = expected[i] != 0;
      if (answer.existed[i] == there && (!values || answer.values[i] == expected[i]) &&
          (mode != WriteMode::kCompareAndSet || answer.applied[i] == there)) {
        continue;
      }
      Fault(absl::StrCat(mode ? "a write" : "a lookup", " found ",
                         values ? answer.values[i] : answer.existed[i], ", not ", expected[i]));
    }
  }

  const AnyKind kind_ = GetParam().kind;
  std::unique_ptr<Engine> engine_;
  std::atomic<uint64_t> moves_{0};
  base::Mutex mu_;
  uint64_t faults_ ABSL_GUARDED_BY(mu_) = 0;
};

INSTANTIATE_TEST_SUITE_P(
    Kinds, OrderTest,
    testing::Values(OrderCase{AnyKind::kIndex, false}, OrderCase{AnyKind::kIndex, true},
                    OrderCase{AnyKind::kIndex, false, true}, OrderCase{AnyKind::kBytes, false},
                    OrderCase{AnyKind::kTwoParts, true}, OrderCase{AnyKind::kHash, false},
                    OrderCase{AnyKind::kTable, false}, OrderCase{AnyKind::kTable, true}),
    [](const auto& of) {
      return test::NameOf(of.param.kind) + (of.param.small ? "SmallBuffers" : "") +
             (of.param.balancer ? "Balanced" : "");
    });

TEST_P(OrderTest, CallsOfASessionTakeEffectInTheirOrder) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  ASSERT_NO_FATAL_FAILURE(Open());
  AnyObject object(*engine_, kind_, "o");
  ASSERT_TRUE(object.Create({uint64_t{1} << 62, uint64_t{2} << 62, uint64_t{3} << 62}).ok());
  std::atomic<bool> stop{false};
  std::thread mover([&] {
    std::mt19937_64 random(test::Seed() + 99);
    while (!GetParam().balancer && !stop.load()) {
      const uint64_t lo = random() % 16;
      const KeyRange range{.lo = lo << 60, .hi = (lo << 60) + (uint64_t{1} << 60) - 1};
      const bool link = object.links() && random() % 2 == 0;
      const AeuId to{static_cast<uint32_t>(random() % kOrderAeus)};
      const absl::Status moved =
          engine_->MoveRange("o", range, to, link ? TransferKind::kLink : TransferKind::kCopy);
      moves_.fetch_add(moved.ok());
    }
  });
  std::vector<std::thread> sessions;
  for (uint32_t i = 0; i < kOrderSessions; ++i) {
    sessions.emplace_back([this, i] { Run(i); });
  }
  for (std::thread& session : sessions) session.join();
  stop.store(true);
  mover.join();
  base::MutexLock lock(&mu_);
  EXPECT_EQ(faults_, 0u);
  EXPECT_FALSE(MovesAreDue()) << moves_.load();
  RecordProperty("moves", static_cast<int>(moves_.load()));
}

}  // namespace
}  // namespace eris
