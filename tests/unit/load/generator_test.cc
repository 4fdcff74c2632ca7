// A generator stepped by a clock that the test drives: a target of the test's own lets time pass.
#include "clients/load/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <functional>

#include "clients/load/null_target.h"
#include "clients/load/verifier.h"
#include "eris/errors.h"

namespace eris::load {
namespace {

constexpr int64_t kMs = 1'000'000;

class HandClock final : public Clock {
 public:
  int64_t NowNs() override { return now_ns; }
  int64_t now_ns = 1000 * kMs;
};

// Answers one request after the other, each `service_ns` after its turn has come; between
// stall_from_ns and stall_to_ns it answers nothing.
class SlowTarget final : public Target {
 public:
  SlowTarget(HandClock& clock, AnswerSink& sink) : clock_(clock), sink_(sink) {}

  void Send(Request& request) override {
    request.sent_ns = clock_.now_ns;
    waiting_.push_back(&request);
    if (waiting_.size() == 1) done_ns_ = DoneAfter(clock_.now_ns);
  }
  void Await(int64_t deadline_ns) override {
    if (waiting_.empty() || done_ns_ > deadline_ns) {
      clock_.now_ns = std::max(clock_.now_ns, deadline_ns);
      return;
    }
    clock_.now_ns = std::max(clock_.now_ns, done_ns_);
    Request& request = *waiting_.front();
    waiting_.pop_front();
    done_ns_ = DoneAfter(clock_.now_ns);
    values_.resize(request.keys.size());
    FillValues(request.keys, absl::MakeSpan(values_));
    values_.resize(values_.size() - values_missing);
    if (spoil && spoil(request)) values_[0] ^= 1;
    sink_.OnAnswer(request,
                   {.status = refuse ? refuse() : status,
                    .values = {reinterpret_cast<const char*>(values_.data()), values_.size() * 8},
                    .all_present = true});
  }
  void Cancel() override {
    status = absl::CancelledError("");
    done_ns_ = clock_.now_ns;
    stall_to_ns = 0;
  }
  absl::Status Close() override { return absl::OkStatus(); }

  int64_t service_ns = 1 * kMs;
  int64_t stall_from_ns = 0, stall_to_ns = 0;
  absl::Status status;
  std::function<absl::Status()> refuse;  // the status of the next answer
  size_t values_missing = 0;             // of each answer
  std::function<bool(const Request&)> spoil;

 private:
  int64_t DoneAfter(int64_t ns) const {
    const int64_t done = ns + service_ns;
    return done >= stall_from_ns && done < stall_to_ns ? stall_to_ns : done;
  }
  HandClock& clock_;
  AnswerSink& sink_;
  std::deque<Request*> waiting_;
  int64_t done_ns_ = 0;
  std::vector<uint64_t> values_;
};

Plan LookupPlan(const std::function<void(Plan&)>& change = nullptr) {
  Plan plan;
  plan.workload = *FindWorkload("lookup");
  plan.keys = 1000;
  plan.batch = 16;
  plan.in_flight = 4;
  plan.seconds = 10;
  plan.verify = true;
  if (change) change(plan);
  return plan;
}

struct Lab {
  explicit Lab(Plan of) : plan(std::move(of)), keys(plan.keys, plan.layout) {}
  explicit Lab(const std::function<void(Plan&)>& change) : Lab(LookupPlan(change)) {}
  // From and to so many ms after the begin.
  void Stall(int64_t from_ms, int64_t to_ms) {
    target.stall_from_ns = clock.now_ns + from_ms * kMs;
    target.stall_to_ns = clock.now_ns + to_ms * kMs;
  }
  const GeneratorResult& Run() {
    generator.Run(target, clock.now_ns);
    return generator.result();
  }
  const OperationTally& tally() {
    return generator.result().tally.operations[static_cast<size_t>(Operation::kLookup)];
  }
  Plan plan;
  KeySet keys;
  HandClock clock;
  std::atomic<bool> stop = false;
  Generator generator{plan, keys, 0, clock, stop};
  SlowTarget target{clock, generator.sink()};
};

TEST(GeneratorTest, ATargetThatStallsShowsInTheCorrectedLatencyOfTheOpenLoop) {
  Lab lab([](Plan& plan) { plan.rate = 100; });
  // Two of ten seconds: some 200 requests fall due meanwhile, four of which are sent.
  lab.Stall(4000, 6000);
  const GeneratorResult& result = lab.Run();
  const OperationTally& tally = lab.tally();
  EXPECT_NEAR(static_cast<double>(tally.answered), 1000, 120);
  EXPECT_EQ(result.sent, result.answered);
  // A fifth of all requests fell due in the stall, and waited a second on average.
  EXPECT_GT(tally.latency.PercentileNs(90), uint64_t{800} * kMs);
  EXPECT_GT(tally.latency.max_ns(), uint64_t{1800} * kMs);
  // From their sending on nearly all took milliseconds: that is what hides the stall.
  EXPECT_LT(tally.service.PercentileNs(90), uint64_t{20} * kMs);
  EXPECT_GT(result.tally.backlog, 150u);
  EXPECT_EQ(tally.not_sent, 0u);
}

TEST(GeneratorTest, AStallThatReachesTheEndOfTheOpenLoopShowsInItsLatency) {
  Lab lab([](Plan& plan) {
    plan.rate = 500;
    plan.seconds = 2;
  });
  // The last 1.3 of 2 s, and on: two thirds of all requests fall due meanwhile.
  lab.Stall(700, 2200);
  const GeneratorResult& result = lab.Run();
  const OperationTally& tally = lab.tally();
  EXPECT_NEAR(static_cast<double>(tally.not_sent), 650, 80);
  EXPECT_NEAR(static_cast<double>(result.sent), 350, 60);
  EXPECT_EQ(result.sent, tally.answered);
  EXPECT_EQ(tally.latency.count(), tally.answered + tally.not_sent);
  EXPECT_EQ(tally.service.count(), tally.answered);
  // They waited from 0.2 to 1.5 s, up to the end: evenly.
  EXPECT_NEAR(static_cast<double>(tally.latency.PercentileNs(50)), 530e6, 100e6);
  EXPECT_NEAR(static_cast<double>(tally.latency.PercentileNs(90)), 1300e6, 60e6);
}

TEST(GeneratorTest, OfVeryManyRequestsNeverSentSomeStandForAll) {
  Lab lab([](Plan& plan) {
    plan.rate = 1e9;
    plan.seconds = 1;
  });
  lab.Run();
  const OperationTally& tally = lab.tally();
  EXPECT_NEAR(static_cast<double>(tally.not_sent), 1e9, 1e7);
  EXPECT_EQ(tally.latency.count(), tally.answered + tally.not_sent);
  EXPECT_NEAR(tally.latency.mean_ns(), 500e6, 10e6);
}

// The correlation of samples of equal length: -1 to 1; 0 if they are independent.
double Correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto count = static_cast<double>(a.size());
  double sum_a = 0, sum_b = 0, sum_aa = 0, sum_bb = 0, sum_ab = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum_a += a[i], sum_b += b[i];
    sum_aa += a[i] * a[i], sum_bb += b[i] * b[i], sum_ab += a[i] * b[i];
  }
  return (sum_ab - sum_a * sum_b / count) /
         std::sqrt((sum_aa - sum_a * sum_a / count) * (sum_bb - sum_b * sum_b / count));
}

TEST(GeneratorTest, KeysOperationsAndArrivalsDoNotDependOnEachOther) {
  Lab lab([](Plan& plan) {
    plan.workload.percent = {50, 50, 0, 0, 0};
    plan.layout = Layout::kDense;
    plan.batch = 1;
    plan.rate = 200;
    plan.seconds = 100;
  });
  std::vector<double> keys, writes, gaps;
  int64_t last_ns = lab.clock.now_ns;
  lab.target.spoil = [&](const Request& request) {
    keys.push_back(static_cast<double>(request.keys[0]));
    writes.push_back(request.operation == Operation::kUpsert ? 1 : 0);
    gaps.push_back(static_cast<double>(request.due_ns - last_ns));
    last_ns = request.due_ns;
    return false;
  };
  lab.Run();
  ASSERT_GT(keys.size(), 15'000u);
  EXPECT_NEAR(Correlation(keys, gaps), 0, 0.04);
  EXPECT_NEAR(Correlation(keys, writes), 0, 0.04);
  EXPECT_NEAR(Correlation(writes, gaps), 0, 0.04);
}

TEST(GeneratorTest, TheServiceTimeOfAReadModifyWriteIsThatOfBothItsCalls) {
  Lab lab([](Plan& plan) {
    plan.workload.percent = {0, 0, 0, 0, 100};
    plan.verify = false;
    plan.rate = 20;
  });
  lab.target.service_ns = 5 * kMs;
  const Tally& tally = lab.Run().tally;
  const OperationTally& writes = tally.operations[static_cast<size_t>(Operation::kReadModifyWrite)];
  EXPECT_GT(writes.answered, 100u);
  EXPECT_GE(writes.service.PercentileNs(1), uint64_t{10} * kMs);
}

TEST(GeneratorTest, AReadModifyWriteThatReadsTooLittleFailsAlsoUnverified) {
  Lab lab([](Plan& plan) {
    plan.workload.percent = {0, 0, 0, 0, 100};
    plan.verify = false;
  });
  lab.target.values_missing = 1;
  const Tally& tally = lab.Run().tally;
  EXPECT_EQ(tally.All().answered, 0u);
  EXPECT_GT(tally.failed, 0u);
  EXPECT_NE(tally.first_error.find("120 bytes of values, not 128"), std::string::npos)
      << tally.first_error;
}

TEST(GeneratorTest, ATargetThatCannotFollowLeavesABacklogThatIsTold) {
  Lab lab([](Plan& plan) {
    plan.rate = 2000;  // of a target that does 1000 a second
  });
  lab.Run();
  EXPECT_NEAR(static_cast<double>(lab.tally().answered), 10'000, 100);
  EXPECT_NEAR(static_cast<double>(lab.tally().not_sent), 10'000, 1000);
  EXPECT_GT(lab.tally().latency.max_ns(), uint64_t{4500} * kMs);
}

TEST(GeneratorTest, ArrivalsComeAtTheirRateAndAtRandom) {
  Arrivals arrivals(1000, 3, 0);
  std::vector<int64_t> gaps;
  int64_t last = 0;
  for (int i = 0; i < 100'000; ++i) {
    gaps.push_back(arrivals.due_ns() - last);
    last = arrivals.due_ns();
    arrivals.Advance();
  }
  EXPECT_NEAR(static_cast<double>(last), 100'000e6, 1'000e6);
  std::sort(gaps.begin(), gaps.end());
  // The median of exponential gaps is ln 2 times the mean.
  EXPECT_NEAR(static_cast<double>(gaps[50'000]), 0.693e6, 0.02e6);
}

TEST(GeneratorTest, TheClosedLoopKeepsItsRequestsUnderWayAndNoMore) {
  Lab lab(LookupPlan());
  const GeneratorResult& result = lab.Run();
  // One is answered each millisecond, and each waits for the three before it.
  EXPECT_NEAR(static_cast<double>(lab.tally().answered), 10'000, 5);
  EXPECT_NEAR(lab.tally().latency.mean_ns(), 4e6, 1e5);
  EXPECT_EQ(lab.tally().keys, lab.tally().answered * 16);
  EXPECT_EQ(lab.tally().wrong, 0u);
  EXPECT_EQ(result.tally.backlog, 0u);
}

TEST(GeneratorTest, WarmUpIsNotCounted) {
  Lab lab([](Plan& plan) {
    plan.warm_up_s = 3;
    plan.seconds = 2;
  });
  // Slow at first: none of it may show.
  lab.Stall(0, 1000);
  const GeneratorResult& result = lab.Run();
  EXPECT_NEAR(static_cast<double>(lab.tally().answered), 2000, 10);
  EXPECT_NEAR(static_cast<double>(result.warm), 2000, 10);
  EXPECT_EQ(result.sent, result.warm + lab.tally().answered);
  EXPECT_LT(lab.tally().latency.max_ns(), uint64_t{5} * kMs);
  EXPECT_NEAR(static_cast<double>(result.ended_ns - result.begun_ns), 2e9, 1e7);
}

TEST(GeneratorTest, WrongValuesAreCountedAlsoDuringTheWarmUp) {
  Lab lab([](Plan& plan) {
    plan.warm_up_s = 1;
    plan.seconds = 1;
  });
  int requests = 0;
  lab.target.spoil = [&](const Request&) { return ++requests == 5 || requests == 1500; };
  lab.Run();
  EXPECT_EQ(lab.tally().wrong, 2u);
  EXPECT_FALSE(lab.generator.result().tally.first_error.empty());
}

TEST(GeneratorTest, ATargetThatNeverAnswersEndsTheRun) {
  Lab lab([](Plan& plan) { plan.timeout_s = 2; });
  lab.Stall(1000, 1'000'000);
  const GeneratorResult& result = lab.Run();
  EXPECT_EQ(result.sent, result.answered);
  EXPECT_EQ(result.tally.failed, 4u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.tally.first_failure)) << result.tally.first_failure;
}

absl::Status Refusal(uint32_t retry_ms) {
  return Error(ErrorReason::kSessionBytes, "full", {.retry_ms = retry_ms});
}

TEST(GeneratorTest, ClosedLoopSendsAgainWhenTheTargetAsksForIt) {
  Lab lab([](Plan& plan) { plan.requests = 20; });
  int answers = 0;
  lab.target.refuse = [&] { return ++answers <= 8 ? Refusal(100) : absl::OkStatus(); };
  const int64_t begun_ns = lab.clock.now_ns;
  const GeneratorResult& result = lab.Run();
  EXPECT_EQ(result.tally.retried, 8u);
  EXPECT_EQ(result.tally.refused + result.tally.failed, 0u);
  EXPECT_EQ(lab.tally().answered, 20u);
  EXPECT_EQ(lab.tally().wrong, 0u);
  // Four requests rested twice: 100 ms, then 200. Their wait is in the latency.
  EXPECT_GE(lab.clock.now_ns - begun_ns, 300 * kMs);
  EXPECT_GE(lab.tally().latency.max_ns(), uint64_t{300} * kMs);
}

TEST(GeneratorTest, RequestThatIsRefusedAgainAndAgainFails) {
  Lab lab([](Plan& plan) { plan.requests = 20; });
  lab.target.refuse = [] { return Refusal(10); };
  const GeneratorResult& result = lab.Run();
  EXPECT_GT(result.tally.failed, 0u);
  EXPECT_TRUE(absl::IsResourceExhausted(result.tally.first_failure));
}

TEST(GeneratorTest, ToleratedRefusalsAreCountedAndTheRunGoesOn) {
  for (const double rate : {0.0, 100.0}) {
    Lab lab([rate](Plan& plan) {
      plan.rate = rate;
      plan.requests = 100;
      plan.tolerate_refusals = true;
    });
    int answers = 0;
    lab.target.refuse = [&] { return ++answers % 4 == 0 ? Refusal(0) : absl::OkStatus(); };
    const GeneratorResult& result = lab.Run();
    EXPECT_EQ(result.tally.refused, 25u);
    EXPECT_EQ(result.tally.refusal.count(), 25u);
    EXPECT_EQ(result.tally.failed + result.tally.retried, 0u);
    EXPECT_EQ(lab.tally().answered, 75u);
    EXPECT_EQ(result.answered, 100u);
  }
}

TEST(GeneratorTest, OpenLoopDoesNotWaitForRefusedRequests) {
  Lab lab([](Plan& plan) {
    plan.rate = 100;
    plan.requests = 100;
    plan.tolerate_refusals = true;
  });
  lab.target.refuse = [] { return Refusal(10'000); };
  EXPECT_EQ(lab.Run().tally.refused, 100u);
}

TEST(GeneratorTest, RequestsAreCountedOut) {
  Lab lab([](Plan& plan) { plan.requests = 7; });
  EXPECT_EQ(lab.Run().sent, 7u);
}

Tally RunOnNullTarget(const Plan& plan) {
  const KeySet keys(plan.keys, plan.layout);
  MonotonicClock clock;
  std::atomic<bool> stop = false;
  Generator generator(plan, keys, 0, clock, stop);
  NullTarget target(keys, generator.sink(), plan.load);
  generator.Run(target, clock.NowNs());
  return generator.result().tally;
}

TEST(GeneratorTest, EveryWorkloadVerifiesAgainstTheNullTarget) {
  for (const char* name : {"a", "b", "c", "d", "e", "f", "scan", "load"}) {
    Plan plan = LookupPlan();
    if (const auto workload = FindWorkload(name)) plan.workload = *workload;
    plan.load = std::string(name) == "load";
    plan.requests = plan.load ? 0 : 500;
    plan.zipf.emplace(plan.keys);
    const Tally tally = RunOnNullTarget(plan);
    const OperationTally all = tally.All();
    EXPECT_EQ(all.wrong, 0u) << name << ": " << tally.first_error;
    EXPECT_EQ(tally.failed, 0u) << name;
    EXPECT_EQ(all.answered, plan.load ? (1000 + 15) / 16 : 500u) << name;
    EXPECT_TRUE(!plan.load || all.keys == 1000) << all.keys;
  }
}

TEST(GeneratorTest, MissingKeysAreExpectedToBeMissing) {
  Plan plan = LookupPlan();
  plan.missing_percent = 30;
  plan.requests = 500;
  EXPECT_EQ(RunOnNullTarget(plan).All().wrong, 0u);
  // A target that has every key is wrong about those.
  Lab lab(plan);
  lab.Run();
  EXPECT_NEAR(static_cast<double>(lab.tally().wrong), 0.3 * 500 * 16, 300);
}

TEST(VerifierTest, AScanMustBringEveryKeyOfTheSetInOrderWithItsValue) {
  const KeySet keys(100, Layout::kSparse);
  std::vector<uint64_t> rows;
  for (uint64_t number = 10; number < 30; ++number) rows.push_back(keys.Key(number));
  const auto wrong = [&](std::vector<uint64_t> row_keys, uint64_t rows_max,
                         uint64_t spoiled = 1000) {
    std::vector<uint64_t> values(row_keys.size());
    FillValues(row_keys, absl::MakeSpan(values));
    if (spoiled < values.size()) ++values[spoiled];
    Request request;
    request.operation = Operation::kScan;
    request.keys = {keys.Key(10)};
    request.rows_max = rows_max;
    request.next_number = 10;
    CheckRows(keys, request, reinterpret_cast<const char*>(row_keys.data()),
              reinterpret_cast<const char*>(values.data()), row_keys.size());
    request.rows = row_keys.size();
    CheckScanEnd(keys, request);
    return request.wrong;
  };
  EXPECT_EQ(wrong(rows, 20), 0u);
  EXPECT_EQ(wrong(rows, 20, 7), 1u);
  EXPECT_GT(wrong(rows, 21), 0u) << "ends early";
  EXPECT_EQ(wrong(rows, 19), 1u) << "a row too many";
  std::vector<uint64_t> from_the_lowest;
  for (uint64_t number = 0; number < 20; ++number) from_the_lowest.push_back(keys.Key(number));
  EXPECT_EQ(wrong(from_the_lowest, 20), 10u) << "rows before the first key";
  std::vector<uint64_t> left_out = rows;
  left_out.erase(left_out.begin() + 3);
  EXPECT_EQ(wrong(left_out, 19), 1u);
  std::vector<uint64_t> first_left_out = rows;
  first_left_out.erase(first_left_out.begin());
  EXPECT_EQ(wrong(first_left_out, 19), 1u);
  std::vector<uint64_t> swapped = rows;
  std::swap(swapped[4], swapped[5]);
  EXPECT_GT(wrong(swapped, 20), 0u);
  std::vector<uint64_t> strange = rows;
  strange[5] += 256;  // the form of a key of the set, and none
  EXPECT_GT(wrong(strange, 20), 0u);
  // One that is not of the set may stand between.
  std::vector<uint64_t> inserted = rows;
  for (uint64_t number = 100; inserted.size() == rows.size(); ++number) {
    const uint64_t key = keys.Key(number);
    if (key > rows.front() && key < rows.back()) inserted.push_back(key);
  }
  std::sort(inserted.begin(), inserted.end());
  EXPECT_EQ(wrong(inserted, 21), 0u);
}

TEST(VerifierTest, BitsAreCountedWithinTheRows) {
  EXPECT_EQ(CountBits(std::string(20, '\xff'), 101), 101u);
  EXPECT_EQ(CountBits(std::string(2, '\xff'), 101), 16u);
  EXPECT_EQ(CountBits("\x05", 2), 1u);
  EXPECT_EQ(CountBits("", 5), 0u);
}

}  // namespace
}  // namespace eris::load
