// What one session sends on a key takes effect in the order in which it was sent, with many calls
// under way, keys that stand in a batch more than once, and ranges that move all the time, there
// and back. Each session has keys of its own and knows, when it sends a call, what the call will
// find.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
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

constexpr uint32_t kAeus = 4;
constexpr uint32_t kSessions = 3;
constexpr uint32_t kInFlight = 40;  // more than are sent again at a time
constexpr uint64_t kHotKeys = 12;   // of each session, all over the key space
const uint64_t kCalls = test::Fewer(20'000, 2'000);

AnyKey KeyOf(AnyKind kind, uint32_t session, uint64_t i) {
  return {(i << 60) + session, kind == AnyKind::kTwoParts ? 5 : 0};
}

struct Case {
  AnyKind kind;
  bool small;  // buffers
  bool balancer = false;
};

class OrderTest : public testing::TestWithParam<Case> {
 protected:
  void Open() {
    Options options = test::SmallOptions(kAeus);
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

  // Each write of a key expects the value of the write before it.
  void WriteChains(uint32_t session_number) {
    const auto session = engine_->NewSession();
    const Object object = test::Open(*session, "o");
    std::mt19937_64 random(test::Seed() + session_number);
    std::vector<uint64_t> last(kHotKeys, 0);  // 0: never written
    Window window(kInFlight);
    for (uint64_t call = 0; call < kCalls; ++call) {
      AnyBatch rows(kind_), expected(kind_);
      std::vector<uint64_t> values;
      for (uint64_t n = 1 + random() % 6; n > 0; --n) {
        const uint64_t i = random() % kHotKeys;
        expected.Add({}, last[i]);
        values.push_back(++last[i]);
        rows.Add(KeyOf(kind_, session_number, i), last[i]);
      }
      window.Enter();
      auto done = [&, values](BatchResult result) {
        if (!result.status.ok()) Fault(result.status.ToString());
        for (size_t i = 0; result.status.ok() && i < values.size(); ++i) {
          if (BitAt(result.applied, i)) continue;
          Fault(absl::StrCat("write ", values[i], " of a key did not find write ", values[i] - 1));
        }
        window.Leave();
      };
      WriteBatch batch = rows.write(WriteMode::kCompareAndSet);
      batch.expected = expected.values();
      const absl::Status sent = session->WriteAsync(object, batch, std::move(done)).status();
      if (sent.ok()) continue;
      window.Leave();
      return Fault(sent.ToString());
    }
  }

  // Upserts, erases and looks up rows: a lookup finds the row that was upserted last.
  void WriteRows(uint32_t session_number) {
    const auto session = engine_->NewSession();
    const Object object = test::Open(*session, "o");
    std::mt19937_64 random(test::Seed() + session_number);
    std::vector<uint64_t> last(kHotKeys, 0);  // 0: not there
    Window window(kInFlight);
    uint64_t next = 1;
    for (uint64_t call = 0; call < kCalls; ++call) {
      const uint64_t what = random() % 8;
      const auto rows = std::make_shared<AnyBatch>(kind_);
      std::vector<uint64_t> expected;
      for (uint64_t n = 1 + random() % 4; n > 0; --n) {
        const uint64_t i = random() % kHotKeys;
        if (what <= 4) last[i] = what < 4 ? next++ : 0;
        rows->Add(KeyOf(kind_, session_number, i), last[i]);
        expected.push_back(last[i]);
      }
      window.Enter();
      auto done = [&, what, expected](BatchResult result) {
        if (!result.status.ok()) Fault(result.status.ToString());
        const AnyAnswer answer =
            test::AnswerOf(kind_, what > 4, std::move(result), expected.size());
        for (size_t i = 0; what > 4 && answer.status.ok() && i < expected.size(); ++i) {
          if (answer.values[i] == expected[i]) continue;
          Fault(absl::StrCat("a lookup found row ", answer.values[i], ", not ", expected[i]));
        }
        window.Leave();
      };
      absl::Status sent;
      if (what > 4) {
        const LookupBatch batch{.keys = rows->keys(), .holder = rows};
        sent = session->LookupAsync(object, batch, std::move(done)).status();
      } else {
        WriteBatch batch = rows->write(what == 4 ? WriteMode::kErase : WriteMode::kUpsert);
        batch.holder = rows;
        sent = session->WriteAsync(object, batch, std::move(done)).status();
      }
      if (sent.ok()) continue;
      window.Leave();
      return Fault(sent.ToString());
    }
  }

  const AnyKind kind_ = GetParam().kind;
  std::unique_ptr<Engine> engine_;
  base::Mutex mu_;
  uint64_t faults_ ABSL_GUARDED_BY(mu_) = 0;
};

INSTANTIATE_TEST_SUITE_P(Kinds, OrderTest,
                         testing::Values(Case{AnyKind::kIndex, false}, Case{AnyKind::kIndex, true},
                                         Case{AnyKind::kIndex, false, true},
                                         Case{AnyKind::kBytes, false},
                                         Case{AnyKind::kTwoParts, true},
                                         Case{AnyKind::kHash, false}, Case{AnyKind::kTable, false},
                                         Case{AnyKind::kTable, true}),
                         [](const auto& of) {
                           return test::NameOf(of.param.kind) +
                                  (of.param.small ? "SmallBuffers" : "") +
                                  (of.param.balancer ? "Balanced" : "");
                         });

TEST_P(OrderTest, CallsOfASessionTakeEffectInTheirOrder) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  ASSERT_NO_FATAL_FAILURE(Open());
  AnyObject object(*engine_, kind_, "o");
  ASSERT_TRUE(object.Create({uint64_t{1} << 62, uint64_t{2} << 62, uint64_t{3} << 62}).ok());
  const bool chains = Takes(kind_, WriteMode::kCompareAndSet);
  for (uint64_t i = 0; chains && i < kSessions * kHotKeys; ++i) {
    const auto session = static_cast<uint32_t>(i / kHotKeys);
    ASSERT_TRUE(object.Put({{KeyOf(kind_, session, i % kHotKeys), 0}}).ok());
  }
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> moves{0};
  std::thread mover([&] {
    std::mt19937_64 random(test::Seed() + 99);
    while (!GetParam().balancer && !stop.load()) {
      const uint64_t lo = random() % 16;
      const KeyRange range{.lo = lo << 60, .hi = (lo << 60) + (uint64_t{1} << 60) - 1};
      const bool link = object.links() && random() % 2 == 0;
      const AeuId to{static_cast<uint32_t>(random() % kAeus)};
      const absl::Status moved =
          engine_->MoveRange("o", range, to, link ? TransferKind::kLink : TransferKind::kCopy);
      moves.fetch_add(moved.ok());
    }
  });
  std::vector<std::thread> sessions;
  for (uint32_t i = 0; i < kSessions; ++i) {
    sessions.emplace_back([this, i, chains] { chains ? WriteChains(i) : WriteRows(i); });
  }
  for (std::thread& session : sessions) session.join();
  stop.store(true);
  mover.join();
  base::MutexLock lock(&mu_);
  EXPECT_EQ(faults_, 0u);
  EXPECT_TRUE(GetParam().balancer || moves.load() > 20u) << moves.load();
  RecordProperty("moves", static_cast<int>(moves.load()));
}

}  // namespace
}  // namespace eris
