// What one session sends on a key takes effect in the order in which it was sent, with many calls
// under way, keys that stand in a batch more than once, and ranges that move all the time, there
// and back. Each session has keys of its own and knows, when it sends a call, what the call will
// find.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/mutex.h"
#include "eris/engine.h"
#include "tests/support/any_object.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"
#include "tests/support/table_rows.h"

namespace eris {
namespace {

using test::AnyKind;
using test::AnyObject;

constexpr uint32_t kAeus = 4;
constexpr uint32_t kSessions = 3;
constexpr uint32_t kInFlight = 40;  // more than are sent again at a time
constexpr uint64_t kHotKeys = 12;   // of each session, all over the key space
const uint64_t kCalls = test::Fewer(20'000, 2'000);

uint64_t KeyOf(uint32_t session, uint64_t i) { return (i << 60) + session; }

// Lets so many calls be under way.
class Window {
 public:
  void Enter() {
    base::MutexLock lock(&mu_);
    while (out_ == kInFlight) left_.Wait(&mu_);
    ++out_;
  }
  void Leave() {
    base::MutexLock lock(&mu_);
    --out_;
    left_.SignalAll();
  }
  void AwaitNone() {
    base::MutexLock lock(&mu_);
    while (out_ > 0) left_.Wait(&mu_);
  }

 private:
  base::Mutex mu_;
  base::CondVar left_;
  uint32_t out_ ABSL_GUARDED_BY(mu_) = 0;
};

struct Case {
  AnyKind kind;
  bool small;  // buffers
  bool balancer = false;
};

class OrderTest : public testing::TestWithParam<Case> {
 protected:
  void Open() {
    Options options;
    options.topology = "numa:2 core:2 pu:1";
    options.aeu_count = kAeus;
    options.memory_limit_bytes = uint64_t{1} << 30;
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
    auto engine = Engine::Open(options);
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }
  void Fault(const std::string& what) {
    base::MutexLock lock(&mu_);
    if (++faults_ <= 5) ADD_FAILURE() << what;
  }

  // Each write of a key expects the value of the write before it.
  void WriteChains(uint32_t session_number) {
    const auto session = engine_->NewSession();
    std::mt19937_64 random(test::Seed() + session_number);
    std::vector<uint64_t> last(kHotKeys, 0);  // 0: never written
    Window window;
    for (uint64_t call = 0; call < kCalls; ++call) {
      std::vector<uint64_t> keys, values, expected;
      for (uint64_t n = 1 + random() % 6; n > 0; --n) {
        const uint64_t i = random() % kHotKeys;
        keys.push_back(KeyOf(session_number, i));
        expected.push_back(last[i]);
        values.push_back(++last[i]);
      }
      window.Enter();
      auto done = [&, keys, values](BatchResult result) {
        const bool ok = result.status.ok();
        if (!ok) Fault(result.status.ToString());
        for (size_t i = 0; ok && i < keys.size(); ++i) {
          if ((result.applied[i / 8] >> (i % 8) & 1) == 0) {
            Fault(absl::StrCat("write ", values[i], " of key ", keys[i], " did not find write ",
                               values[i] - 1));
          }
        }
        window.Leave();
      };
      const absl::Status sent = SendChain(*session, keys, values, expected, std::move(done));
      if (!sent.ok()) {
        window.Leave();
        Fault(sent.ToString());
        break;
      }
    }
    window.AwaitNone();
  }

  absl::Status SendChain(Session& session, const std::vector<uint64_t>& keys,
                         const std::vector<uint64_t>& values, const std::vector<uint64_t>& expected,
                         Session::Callback done) {
    if (GetParam().kind == AnyKind::kBytes) {
      std::vector<std::string> texts;
      for (const uint64_t value : values) texts.push_back(AnyObject::TextOf(value));
      for (const uint64_t value : expected) texts.push_back(AnyObject::TextOf(value));
      const std::vector<absl::string_view> views(texts.begin(), texts.end());
      const absl::Span<const absl::string_view> all(views);
      return session
          .WriteBytesAsync("o",
                           {.mode = WriteMode::kCompareAndSet,
                            .keys = keys,
                            .values = all.first(keys.size()),
                            .expected = all.subspan(keys.size())},
                           std::move(done))
          .status();
    }
    const std::vector<uint64_t> seconds(keys.size(), 5);
    const bool two = GetParam().kind == AnyKind::kTwoParts;
    const WriteBatch batch{.mode = WriteMode::kCompareAndSet,
                           .keys = two ? KeyColumns(keys, seconds) : KeyColumns(keys),
                           .values = values,
                           .expected = expected};
    return session.WriteAsync("o", batch, std::move(done)).status();
  }

  // Upserts, erases and looks up rows: a look-up finds the row that was upserted last.
  void WriteRows(uint32_t session_number) {
    const auto session = engine_->NewSession();
    std::mt19937_64 random(test::Seed() + session_number);
    std::vector<uint64_t> last(kHotKeys, 0);  // 0: not there
    Window window;
    uint64_t next = 1;
    const auto fail = [&](const absl::Status& status) {
      if (status.ok()) return;
      window.Leave();
      Fault(status.ToString());
    };
    const auto columns = AnyObject::SchemaOf(/*clustered=*/true).columns;
    const std::vector<ColumnSchema> key_columns(columns.begin(), columns.begin() + 1);
    for (uint64_t call = 0; call < kCalls; ++call) {
      const uint64_t what = random() % 8;
      std::vector<uint64_t> numbers;
      for (uint64_t n = 1 + random() % 4; n > 0; --n) numbers.push_back(random() % kHotKeys);
      const auto rows = std::make_shared<test::Rows>(what < 4 ? columns : key_columns);
      for (const uint64_t i : numbers) {
        const uint64_t key = KeyOf(session_number, i);
        if (what < 4) {
          last[i] = next++;
          rows->Add({key, last[i], AnyObject::TextOf(last[i])});
        } else {
          rows->Add({key});
          if (what == 4) last[i] = 0;
        }
      }
      window.Enter();
      auto written = [&, rows](BatchResult result) {
        if (!result.status.ok()) Fault(result.status.ToString());
        window.Leave();
      };
      const auto batch = rows->batch();
      if (what < 4) {
        fail(session->UpsertRowsAsync("o", batch, rows, std::move(written)).status());
      } else if (what == 4) {
        fail(session->EraseRowsAsync("o", batch, rows, std::move(written)).status());
      } else {
        std::vector<uint64_t> expected;
        for (const uint64_t i : numbers) expected.push_back(last[i]);
        const std::vector<std::string> asked{columns[1].name};
        fail(session
                 ->LookupRowsAsync(
                     "o", batch, asked, rows,
                     [&, rows, expected](BatchResult result, std::vector<ColumnBuffers> out) {
                       if (!result.status.ok()) Fault(result.status.ToString());
                       for (size_t i = 0; result.status.ok() && i < expected.size(); ++i) {
                         uint64_t value = 0;
                         const bool there = result.present[i / 8] >> (i % 8) & 1;
                         if (there) std::memcpy(&value, out[0].values.data() + 8 * i, 8);
                         if (value != expected[i]) {
                           Fault(
                               absl::StrCat("a look-up found row ", value, ", not ", expected[i]));
                         }
                       }
                       window.Leave();
                     })
                 .status());
      }
    }
    window.AwaitNone();
  }

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
  AnyObject object(*engine_, GetParam().kind, "o");
  ASSERT_TRUE(object.Create({uint64_t{1} << 62, uint64_t{2} << 62, uint64_t{3} << 62}).ok());
  if (GetParam().kind != AnyKind::kTable) {
    test::AnyRows rows;
    const uint64_t second = GetParam().kind == AnyKind::kTwoParts ? 5 : 0;
    for (uint32_t session = 0; session < kSessions; ++session) {
      for (uint64_t i = 0; i < kHotKeys; ++i) rows.push_back({{KeyOf(session, i), second}, 0});
    }
    std::vector<uint8_t> existed;
    ASSERT_TRUE(object.Put(rows, existed).ok());
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
    sessions.emplace_back(
        [this, i] { GetParam().kind == AnyKind::kTable ? WriteRows(i) : WriteChains(i); });
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
