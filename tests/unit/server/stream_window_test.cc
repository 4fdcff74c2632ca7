// The window of one stream, against a sink that stands for gRPC. The stress test plays gRPC and the
// engine by threads, and holds the window to gRPC's rules: one read and one write at a time,
// nothing after the end.
#include "server/guard/stream_window.h"

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace eris::server {
namespace {

using Window = StreamWindow<int>;

class RecordingSink final : public StreamSink<int> {
 public:
  void BeginRead() override { ++reads; }
  void BeginWrite(const int* response) override { writes.push_back(*response); }
  void EndStream(const absl::Status& status) override {
    EXPECT_FALSE(end.has_value());
    end = status;
  }
  int reads = 0;
  std::vector<int> writes;
  std::optional<absl::Status> end;
};

class CountingWindow final : public Pending {
 public:
  void Cancel(absl::Status) override { cancels.fetch_add(1); }
  std::atomic<int> cancels{0};
};

class StreamWindowTest : public ::testing::Test {
 protected:
  // A request arrives and is started.
  Window::Place Arrive(uint64_t bytes = 1) {
    const auto place = window.Arrived(bytes, budget.TryTake(bytes));
    EXPECT_TRUE(place.has_value());
    window.ReadTaken();
    return place.value_or(0);
  }

  ByteBudget budget{1000};
  RecordingSink sink;
  Window window{{.requests_max = 3, .bytes_max = 100}, &sink};
};

TEST_F(StreamWindowTest, AnswersInTheOrderOfArrival) {
  window.Start();
  const auto a = Arrive(), b = Arrive(), c = Arrive();
  window.Answer(c, 3);
  window.Answer(b, 2);
  EXPECT_TRUE(sink.writes.empty());
  window.Answer(a, 1);
  EXPECT_EQ(sink.writes, std::vector<int>({1}));
  window.WriteDone(true);
  window.WriteDone(true);
  EXPECT_EQ(sink.writes, std::vector<int>({1, 2, 3}));
}

TEST_F(StreamWindowTest, StopsReadingAtTheNumberOfRequests) {
  window.Start();
  const auto a = Arrive();
  Arrive();
  Arrive();
  EXPECT_EQ(sink.reads, 3);
  window.Answer(a, 1);
  EXPECT_EQ(sink.reads, 3);  // the answer is not gone yet
  window.WriteDone(true);
  EXPECT_EQ(sink.reads, 4);
}

TEST_F(StreamWindowTest, StopsReadingAtTheBytes) {
  window.Start();
  const auto a = Arrive(100);
  EXPECT_EQ(sink.reads, 1);
  window.Answer(a, 1);
  window.WriteDone(true);
  EXPECT_EQ(sink.reads, 2);
  EXPECT_EQ(budget.used(), 0u);
}

TEST_F(StreamWindowTest, HalfCloseEndsWithOkAfterTheLastAnswer) {
  window.Start();
  const auto a = Arrive();
  window.HalfClosed();
  EXPECT_FALSE(sink.end);
  window.Answer(a, 1);
  EXPECT_FALSE(sink.end);
  window.WriteDone(true);
  ASSERT_TRUE(sink.end);
  EXPECT_TRUE(sink.end->ok());
}

TEST_F(StreamWindowTest, CrowdedBudgetLeavesAStreamOneRequestAtATime) {
  const auto crowded =
      std::make_shared<Window>(Window::Limits{.requests_max = 8, .budget = &budget}, &sink);
  crowded->Start();
  ByteBudget::Charge others = budget.TryTake(500);  // half of it: not yet
  const auto a = crowded->Arrived(1, ByteBudget::Charge());
  crowded->ReadTaken();
  EXPECT_EQ(sink.reads, 2);
  const ByteBudget::Charge more = budget.TryTake(1);
  const auto b = crowded->Arrived(1, ByteBudget::Charge());
  crowded->ReadTaken();
  EXPECT_EQ(sink.reads, 2);
  crowded->Answer(*a, 1);
  crowded->WriteDone(true);
  EXPECT_EQ(sink.reads, 2);
  crowded->Answer(*b, 2);
  crowded->WriteDone(true);
  EXPECT_EQ(sink.reads, 3);  // nothing is in flight: the stream goes on
}

TEST_F(StreamWindowTest, HalfCloseWithoutARequestEndsWithOk) {
  window.Start();
  window.HalfClosed();
  ASSERT_TRUE(sink.end);
  EXPECT_TRUE(sink.end->ok());
}

TEST_F(StreamWindowTest, RequestThatTakesTooLongIsCancelledAndTheStreamGoesOn) {
  using std::chrono::milliseconds;
  ExpiryQueue queue(milliseconds(10), [](auto) {});
  std::vector<milliseconds> told;
  const auto too_long = [&](milliseconds limit) {
    told.push_back(limit);
    return absl::DeadlineExceededError("too long");
  };
  const auto limited = std::make_shared<Window>(
      Window::Limits{.requests_max = 8, .queue = &queue, .too_long = too_long}, &sink);
  const auto pending = std::make_shared<CountingWindow>();
  const auto late = std::make_shared<CountingWindow>();
  limited->Start();
  const auto answered = limited->Arrived(1, budget.TryTake(1));
  const auto held = limited->Arrived(1, budget.TryTake(1));
  const auto starting = limited->Arrived(1, budget.TryTake(1));
  limited->Attach(*held, pending);
  limited->Answer(*answered, 1);
  EXPECT_EQ(queue.watched(), 2u);
  queue.Sweep(ExpiryQueue::Clock::now() + milliseconds(20));
  EXPECT_EQ(pending->cancels, 1);
  limited->Attach(*starting, late);  // the engine took it only now
  EXPECT_EQ(late->cancels, 1);
  EXPECT_EQ(told, std::vector<milliseconds>({milliseconds(10), milliseconds(10)}));
  limited->Answer(*held, 2);
  limited->Answer(*starting, 3);
  for (int i = 0; i < 3; ++i) limited->WriteDone(true);
  EXPECT_EQ(sink.writes, std::vector<int>({1, 2, 3}));
  EXPECT_FALSE(sink.end);
  EXPECT_TRUE(limited->Arrived(1, budget.TryTake(1)));
  limited->End(absl::CancelledError("gone"));
  EXPECT_EQ(queue.watched(), 0u);
  EXPECT_EQ(limited.use_count(), 1);
}

TEST_F(StreamWindowTest, DrainAnswersWhatIsUnderWayAndReadsNoMore) {
  window.Start();
  const auto a = Arrive();
  window.Drain(absl::UnavailableError("stopping"));
  EXPECT_FALSE(sink.end);
  window.Answer(a, 1);
  window.WriteDone(true);
  ASSERT_TRUE(sink.end);
  EXPECT_EQ(sink.end->code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(sink.reads, 2);
  EXPECT_FALSE(window.Arrived(1, budget.TryTake(1)));  // the read that was under way
  window.ReadTaken();
}

TEST_F(StreamWindowTest, EndCancelsWhatIsUnderWayAndGivesItsBytesBack) {
  window.Start();
  auto early = std::make_shared<CountingWindow>();
  auto late = std::make_shared<CountingWindow>();
  const auto a = Arrive(), b = Arrive();
  window.Attach(a, early);
  window.End(absl::CancelledError("gone"));
  window.Attach(b, late);
  EXPECT_EQ(early->cancels, 1);
  EXPECT_EQ(late->cancels, 1);
  ASSERT_TRUE(sink.end);
  EXPECT_EQ(sink.end->code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(budget.used(), 0u);
  window.Answer(a, 1);  // the engine's completion comes all the same
  EXPECT_TRUE(sink.writes.empty());
}

TEST_F(StreamWindowTest, EndWaitsForTheWriteUnderWay) {
  window.Start();
  window.Answer(Arrive(), 1);
  Arrive();
  window.End(absl::UnavailableError("time is up"));
  EXPECT_FALSE(sink.end);
  window.WriteDone(false);
  ASSERT_TRUE(sink.end);
  EXPECT_EQ(sink.end->code(), absl::StatusCode::kUnavailable);
}

TEST_F(StreamWindowTest, FailedWriteEndsTheStream) {
  window.Start();
  window.Answer(Arrive(), 1);
  window.WriteDone(false);
  ASSERT_TRUE(sink.end);
  EXPECT_EQ(sink.end->code(), absl::StatusCode::kCancelled);
}

TEST_F(StreamWindowTest, RequestAnsweredBeforeItIsAttachedIsLetGo) {
  window.Start();
  auto pending = std::make_shared<CountingWindow>();
  const auto a = Arrive();
  window.Answer(a, 1);
  window.Attach(a, pending);
  EXPECT_EQ(pending.use_count(), 1);
  EXPECT_EQ(pending->cancels, 0);
}

TEST_F(StreamWindowTest, FailedRequestIsNotAnsweredNorAreThoseBehindIt) {
  window.Start();
  auto failed = std::make_shared<CountingWindow>();
  auto behind = std::make_shared<CountingWindow>();
  const auto a = Arrive(), b = Arrive(), c = Arrive();
  window.Attach(b, failed);
  window.Attach(c, behind);
  window.Fail(b, absl::InternalError("b"));
  window.HalfClosed();
  EXPECT_EQ(behind->cancels, 1);
  EXPECT_FALSE(sink.end);
  window.Answer(c, 3);  // its completion comes all the same
  EXPECT_FALSE(window.Arrived(1, budget.TryTake(1)));
  window.Answer(a, 1);
  EXPECT_FALSE(sink.end);
  window.WriteDone(true);
  EXPECT_EQ(sink.writes, std::vector<int>({1}));
  ASSERT_TRUE(sink.end);
  EXPECT_EQ(sink.end->message(), "b");
  EXPECT_EQ(budget.used(), 0u);
}

TEST_F(StreamWindowTest, EarliestFailureCounts) {
  window.Start();
  const auto a = Arrive(), b = Arrive(), c = Arrive();
  window.Fail(c, absl::InternalError("c"));
  window.Fail(b, absl::InternalError("b"));
  window.Fail(c, absl::InternalError("c once more"));
  window.Fail(Window::kEnd, absl::InternalError("what was read behind them"));
  window.Answer(a, 1);
  window.WriteDone(true);
  ASSERT_TRUE(sink.end);
  EXPECT_EQ(sink.end->message(), "b");
}

struct Sum {
  int value = 0;
  void Add(const Sum& more) { value += more.value; }
};

class SumSink final : public StreamSink<Sum> {
 public:
  void BeginRead() override { ++reads; }
  void BeginWrite(const Sum* sum) override { writes.push_back(sum->value); }
  void OnEnding() override { ending = true; }
  void EndStream(const absl::Status& status) override { end = status; }
  int reads = 0;
  bool ending = false;
  std::vector<int> writes;
  std::optional<absl::Status> end;
};

class SumWindowTest : public ::testing::Test {
 protected:
  using Sums = StreamWindow<Sum>;
  Sums::Place Arrive() {
    const auto place = window.Arrived(1, budget.TryTake(1));
    EXPECT_TRUE(place.has_value());
    window.ReadTaken();
    return place.value_or(0);
  }
  ByteBudget budget{1000};
  SumSink sink;
  Sums window{{.requests_max = 2}, &sink};
};

TEST_F(SumWindowTest, ClientThatReadsNothingHoldsUpNothing) {
  window.Start();
  for (int i = 0; i < 10; ++i) window.Answer(Arrive(), {1});
  EXPECT_EQ(sink.reads, 11);
  EXPECT_EQ(sink.writes, std::vector<int>({1}));
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_FALSE(sink.ending);
  window.HalfClosed();
  EXPECT_TRUE(sink.ending);
  EXPECT_FALSE(sink.end);
  window.WriteDone(true);
  EXPECT_EQ(sink.writes, std::vector<int>({1, 10}));
  EXPECT_FALSE(sink.end);
  window.WriteDone(true);
  ASSERT_TRUE(sink.end);
  EXPECT_TRUE(sink.end->ok());
}

TEST_F(SumWindowTest, AnswersAreAddedUpInOrder) {
  window.Start();
  const auto a = Arrive(), b = Arrive();
  window.Answer(b, {2});
  EXPECT_TRUE(sink.writes.empty());
  EXPECT_EQ(sink.reads, 2);
  window.Answer(a, {1});
  EXPECT_EQ(sink.writes, std::vector<int>({3}));
  EXPECT_EQ(sink.reads, 3);
}

TEST_F(SumWindowTest, AfterAFailureTheLastSumIsWritten) {
  window.Start();
  const auto a = Arrive(), b = Arrive();
  window.Fail(Sums::kEnd, absl::InternalError("the third"));
  window.HalfClosed();
  EXPECT_TRUE(sink.ending);
  window.Answer(a, {1});
  window.Answer(b, {2});
  window.WriteDone(true);
  EXPECT_EQ(sink.writes, std::vector<int>({1, 3}));
  EXPECT_FALSE(sink.end);
  window.WriteDone(true);
  ASSERT_TRUE(sink.end);
  EXPECT_EQ(sink.end->message(), "the third");
  EXPECT_EQ(window.total().value, 3);
}

TEST_F(SumWindowTest, EndWaitsForTheWriteUnderWay) {
  window.Start();
  window.Answer(Arrive(), {1});
  auto pending = std::make_shared<CountingWindow>();
  window.Attach(Arrive(), pending);
  window.End(absl::UnavailableError("time is up"));
  EXPECT_EQ(pending->cancels, 1);
  EXPECT_FALSE(sink.end);
  window.WriteDone(false);
  ASSERT_TRUE(sink.end);
  EXPECT_EQ(sink.end->code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(budget.used(), 0u);
}

// gRPC's side of one stream, played by whichever thread asks for work.
class PlayedSink final : public StreamSink<int> {
 public:
  void BeginRead() override {
    EXPECT_FALSE(ended.load());
    EXPECT_FALSE(read_wanted.exchange(true));
  }
  void BeginWrite(const int* response) override {
    EXPECT_FALSE(ended.load());
    EXPECT_EQ(*response, next_answer++);
    EXPECT_FALSE(write_wanted.exchange(true));
  }
  void EndStream(const absl::Status&) override { EXPECT_FALSE(ended.exchange(true)); }
  std::atomic<bool> read_wanted{false};
  std::atomic<bool> write_wanted{false};
  std::atomic<bool> ended{false};
  int next_answer = 0;  // touched by the pumping thread only, without a lock
};

TEST(StreamWindowStressTest, KeepsGrpcsRulesWhileThreadsRace) {
  constexpr int kRequests = 500;
  for (uint32_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ByteBudget budget(1 << 20);
    PlayedSink sink;
    ExpiryQueue queue(std::chrono::milliseconds(1), [](auto) {});
    auto window = std::make_shared<Window>(
        Window::Limits{.requests_max = 8,
                       .bytes_max = 64,
                       .queue = &queue,
                       .too_long = [](auto) { return absl::DeadlineExceededError("too long"); }},
        &sink);
    base::Mutex mu;
    std::vector<Window::Place> under_way;

    window->Start();
    std::thread reader([&] {
      std::mt19937 random(seed);
      int arrived = 0;
      while (!sink.ended.load()) {
        if (!sink.read_wanted.load()) {
          std::this_thread::yield();
          continue;
        }
        sink.read_wanted.store(false);
        if (arrived == kRequests) {
          window->HalfClosed();
          return;
        }
        const uint64_t bytes = 1 + random() % 20;
        const auto place = window->Arrived(bytes, budget.TryTake(bytes));
        if (!place) return;
        ++arrived;
        {
          base::MutexLock lock(&mu);
          under_way.push_back(*place);
        }
        window->Attach(*place, std::make_shared<CountingWindow>());
        window->ReadTaken();
      }
    });
    std::thread writer([&] {
      while (!sink.ended.load()) {
        if (sink.write_wanted.exchange(false)) window->WriteDone(true);
        std::this_thread::yield();
      }
    });
    std::vector<std::thread> engine;
    for (int t = 0; t < 2; ++t) {
      engine.emplace_back([&, t] {
        std::mt19937 random(seed * 10 + t);
        while (!sink.ended.load()) {
          std::optional<Window::Place> place;
          {
            base::MutexLock lock(&mu);
            if (!under_way.empty()) {
              std::swap(under_way[random() % under_way.size()], under_way.back());
              place = under_way.back();
              under_way.pop_back();
            }
          }
          if (place) window->Answer(*place, static_cast<int>(*place));
          std::this_thread::yield();
        }
      });
    }
    std::thread sweeper([&] {
      while (!sink.ended.load()) {
        queue.Sweep(ExpiryQueue::Clock::now() + std::chrono::milliseconds(1));
        std::this_thread::yield();
      }
    });
    std::thread ender([&] {
      if (seed % 3 == 0) return;
      for (uint32_t i = 0; i < seed * 20; ++i) std::this_thread::yield();
      const absl::Status status = absl::UnavailableError("stopping");
      if (seed % 3 == 1) window->Drain(status);
      if (seed % 3 == 2) window->End(status);
    });
    reader.join();
    writer.join();
    for (std::thread& thread : engine) thread.join();
    sweeper.join();
    ender.join();
    EXPECT_EQ(queue.watched(), 0u);
    EXPECT_TRUE(sink.ended.load());
    if (seed % 3 == 0) {
      EXPECT_EQ(sink.next_answer, kRequests);
    }
    EXPECT_EQ(budget.used(), 0u);
  }
}

}  // namespace
}  // namespace eris::server
