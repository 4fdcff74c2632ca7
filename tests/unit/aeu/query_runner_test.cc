// Stages of queries at one AEU: the oldest query first, a piece in four for the others, ends of
// every kind. The parts are the test's own.
#include "aeu/runners/query_runner.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "aeu/state/clock.h"
#include "aeu/state/reserve_more.h"
#include "memory/cache_directory.h"
#include "memory/recollection_bin.h"
#include "routing/endpoint.h"
#include "tasks/task_scheduler.h"
#include "tests/support/aeu_lab.h"

namespace eris::aeu {
namespace {

using storage::Envelope;
using storage::EnvelopeColumn;
using storage::EnvelopeList;
using storage::QueryPart;
using storage::QueryParts;
using storage::Stage;

constexpr uint32_t kAtOnce = 64;  // envelopes that one piece refers to
constexpr auto kOnce = memory::FailurePoint::Mode::kOnce;

struct NoListener final : memory::RecollectionListener {
  void BinFilled() override {}
};

struct TestStagePart final : routing::StagePart {
  static void Answered(routing::Reply* reply, uint32_t n) noexcept {
    static_cast<TestStagePart*>(reply)->answered += n;
  }
  uint32_t answered = 0;
};

// A query at two AEUs, with envelopes that the engine has made.
class TestQuery {
 public:
  TestQuery(memory::MemoryManager& manager, memory::LocalCache& engine_cache, uint32_t pieces) {
    all_.columns.resize(2, {EnvelopeColumn{}});
    for (uint32_t i = 0; i < 3; ++i) {
      all_.parts.push_back(std::make_unique<QueryPart>(all_, i, manager, 2));
    }
    QueryPart& engine = *all_.parts.back();
    engine.Enter(engine_cache);
    EnvelopeList& list = engine.Output(0);
    for (uint32_t e = 0; e < pieces * kAtOnce; ++e) {
      const uint32_t no_strings = 0;
      Envelope* const envelope =
          Envelope::Create(engine.memory(), all_.columns[0], 1, {&no_strings, 1});
      const int64_t value = 7;
      std::memcpy(envelope->out().columns[0].values, &value, sizeof value);
      envelope->out().columns[0].validity[0] = 1;
      envelope->out().rows = 1;
      envelope->Seal();
      EXPECT_EQ(list.Add(envelope), EnvelopeList::Added::kYes);
    }
  }
  ~TestQuery() {
    while (all_.parts.back()->FreeSome()) {
    }
  }

  // Refers to them in as many pieces.
  void Begin(QueryRunner& runner, uint32_t aeu = 0) {
    Send(runner, aeu, {{storage::ShareTask{.from = 0, .to = 1}}});
  }
  // Frees what it has.
  void Leave(QueryRunner& runner, uint32_t aeu = 0) {
    stage_parts_[aeu].to_the_end = true;
    Send(runner, aeu, {{storage::LeaveTask{}}});
  }
  uint32_t PiecesDone(uint32_t aeu = 0) {
    const EnvelopeList* const list = all_.parts[aeu]->list(1);
    // The first piece looks at the AEUs' own parts, too.
    return list == nullptr ? 0 : (list->size() + kAtOnce / 2) / kAtOnce;
  }
  bool answered(uint32_t aeu = 0) const { return stage_parts_[aeu].answered == 1; }
  const absl::Status& status(uint32_t aeu = 0) const { return stage_parts_[aeu].status(); }
  QueryParts& all() { return all_; }

 private:
  void Send(QueryRunner& runner, uint32_t aeu, Stage stage) {
    stages_.push_back(std::make_unique<Stage>(std::move(stage)));
    TestStagePart& part = stage_parts_[aeu];
    part.owner = AeuId{aeu};
    part.part = all_.parts[aeu].get();
    part.stage = stages_.back().get();
    part.answered = 0;
    routing::StagePart* const list[] = {&part};
    struct {
      routing::CommandHeader header;
      routing::StageSegment segment;
    } command{{.size_bytes = sizeof command,
               .type = routing::CommandType::kStage,
               .complete = &TestStagePart::Answered,
               .count = 1},
              {list, 1}};
    runner.Begin(&command.header, nullptr);
  }

  QueryParts all_;
  std::vector<std::unique_ptr<Stage>> stages_;
  TestStagePart stage_parts_[2];
};

// A task of so many pieces, each of which takes some time.
struct TestTask final : tasks::Task {
  explicit TestTask(int count, uint64_t ns = 0, uint64_t of = 0) : left(count), piece_ns(ns) {
    query = of;
  }
  bool Advance(tasks::Worker& worker) override {
    ran_on = worker.aeu();
    const uint64_t end_ns = NowNs() + piece_ns;
    while (NowNs() < end_ns) {
    }
    ++done;
    return --left > 0;
  }
  void Took(tasks::Worker&, uint64_t ns) override { took_ns += ns; }
  void End(tasks::Worker&) override { ended = true; }

  int left;
  const uint64_t piece_ns;
  int done = 0;
  uint32_t ran_on = ~0u;
  uint64_t took_ns = 0;
  bool ended = false;
};

class QueryRunnerTest : public testing::Test {
 protected:
  static constexpr size_t kHalfBytes = 4096;
  ~QueryRunnerTest() override { EXPECT_EQ(manager_.Account().used_bytes, 0u); }

  std::unique_ptr<TestQuery> NewQuery(uint32_t pieces) {
    return std::make_unique<TestQuery>(manager_, engine_cache_, pieces);
  }
  // One piece: the deadline has passed.
  bool Piece(uint32_t aeu = 0) {
    const bool worked = runners_[aeu].Advance(/*deadline_ns=*/0);
    acknowledgements_.Send();
    return worked;
  }
  // Until there is nothing to do.
  void RunAll() {
    while (Piece(0) | Piece(1)) {
    }
  }
  void LeaveAll(std::initializer_list<TestQuery*> queries) {
    for (TestQuery* const query : queries) {
      for (uint32_t aeu = 0; aeu < 2; ++aeu) {
        if (query->all().parts[aeu]->entered()) query->Leave(runners_[aeu], aeu);
      }
    }
    RunAll();
    for (TestQuery* const query : queries) {
      for (uint32_t aeu = 0; aeu < 2; ++aeu) {
        if (!query->all().parts[aeu]->entered()) continue;
        EXPECT_TRUE(query->answered(aeu));
        EXPECT_TRUE(query->status(aeu).ok()) << query->status(aeu);
        EXPECT_EQ(query->all().parts[aeu]->memory().used_bytes(), 0);
      }
    }
  }

  test::LabMemory memory_;
  memory::MemoryManager manager_{ObjectId{1}, memory_.pool};
  memory::LocalCache& engine_cache_ = *manager_.NewCache();
  NoListener listener_;
  QueryCache caches_[2] = {QueryCache(listener_), QueryCache(listener_)};
  base::Counter answered_;
  Acknowledgements acknowledgements_{answered_};
  alignas(64) std::byte incoming_[2][2 * kHalfBytes];
  routing::AeuEndpoint endpoints_[2] = {{incoming_[0], kHalfBytes}, {incoming_[1], kHalfBytes}};
  // Two core groups on one NumaNode.
  tasks::TaskScheduler scheduler_{
      {.groups = {{.numa_node = 0, .members = {0}, .others = {1}, .near = 1},
                  {.numa_node = 0, .members = {1}, .others = {0}, .near = 1}},
       .group_of = {0, 1},
       .member_of = {0, 0},
       .near = {{}, {}}},
      TaskScheduling::kLocalityAware,
      [](uint32_t) {}};
  QueryRunner runners_[2] = {
      QueryRunner(AeuId{0}, endpoints_[0], &scheduler_, caches_[0], acknowledgements_),
      QueryRunner(AeuId{1}, endpoints_[1], &scheduler_, caches_[1], acknowledgements_)};
  QueryRunner& runner_ = runners_[0];
};

TEST_F(QueryRunnerTest, AStageEndsWithItsLastPiece) {
  const auto query = NewQuery(5);
  EXPECT_FALSE(runner_.Runnable());
  query->Begin(runner_);
  EXPECT_EQ(runner_.running(), 1u);
  for (uint32_t piece = 0; piece < 5; ++piece) {
    EXPECT_EQ(query->PiecesDone(), piece);
    EXPECT_FALSE(query->answered());
    EXPECT_TRUE(runner_.Runnable());
    EXPECT_TRUE(Piece());
  }
  while (Piece()) {
  }
  EXPECT_TRUE(query->answered());
  EXPECT_TRUE(query->status().ok());
  EXPECT_FALSE(runner_.Runnable());
  LeaveAll({query.get()});
}

TEST_F(QueryRunnerTest, TheOldestQueryGetsThreePiecesInFour) {
  const auto first = NewQuery(40), second = NewQuery(40), third = NewQuery(40);
  for (TestQuery* const query : {first.get(), second.get(), third.get()}) query->Begin(runner_);
  for (int piece = 0; piece < 32; ++piece) Piece();
  EXPECT_EQ(first->PiecesDone(), 24u);
  EXPECT_EQ(second->PiecesDone(), 4u);
  EXPECT_EQ(third->PiecesDone(), 4u);
  while (!first->answered()) Piece();
  EXPECT_LT(second->PiecesDone(), 10u);
  // Then the next one is the oldest.
  const uint32_t second_before = second->PiecesDone(), third_before = third->PiecesDone();
  for (int piece = 0; piece < 16; ++piece) Piece();
  EXPECT_EQ(second->PiecesDone() - second_before, 12u);
  EXPECT_EQ(third->PiecesDone() - third_before, 4u);
  RunAll();
  EXPECT_TRUE(second->answered() && third->answered());
  LeaveAll({first.get(), second.get(), third.get()});
}

TEST_F(QueryRunnerTest, ALongTurnDoesAllPieces) {
  const auto query = NewQuery(60);
  query->Begin(runner_);
  EXPECT_TRUE(runner_.Advance(~uint64_t{0}));
  acknowledgements_.Send();
  EXPECT_TRUE(query->answered());
  EXPECT_FALSE(runner_.Advance(~uint64_t{0}));
  LeaveAll({query.get()});
}

TEST_F(QueryRunnerTest, ACancelledQueryEndsAndLeaves) {
  const auto query = NewQuery(10), other = NewQuery(10);
  query->Begin(runner_);
  other->Begin(runner_);
  Piece();
  query->all().stop.store(true);
  RunAll();
  EXPECT_TRUE(query->answered());
  EXPECT_EQ(query->status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(query->PiecesDone(), 1u);
  EXPECT_TRUE(other->status().ok());
  EXPECT_EQ(other->PiecesDone(), 10u);
  // It stays stopped, and yet frees what it has.
  LeaveAll({query.get(), other.get()});
}

TEST_F(QueryRunnerTest, AnErrorStopsTheOtherAeus) {
  const auto query = NewQuery(10);
  query->Begin(runners_[0], 0);
  query->Begin(runners_[1], 1);
  Piece(1);
  caches_[0].cache()->ArmFailures(1, kOnce);  // for its list
  Piece(0);
  EXPECT_TRUE(query->answered(0));
  EXPECT_EQ(query->status(0).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(query->answered(1));
  Piece(1);
  EXPECT_TRUE(query->answered(1));
  EXPECT_EQ(query->status(1).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(query->PiecesDone(1), 1u);
  caches_[0].cache()->ArmFailures(0, kOnce);
  LeaveAll({query.get()});
}

// Also when what it has is to be freed: the part is as it was, and is told once more (QueryEnd).
TEST_F(QueryRunnerTest, WithoutMemoryToBeginItIsAnswered) {
  const auto query = NewQuery(3);
  ReserveFailures().Arm(1, kOnce);
  query->Begin(runner_);
  acknowledgements_.Send();
  EXPECT_TRUE(query->answered());
  EXPECT_EQ(query->status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(runner_.running(), 0u);
  query->Begin(runner_);
  RunAll();
  EXPECT_EQ(query->PiecesDone(), 3u);
  ReserveFailures().Arm(1, kOnce);
  query->Leave(runner_);
  acknowledgements_.Send();
  EXPECT_FALSE(query->status().ok());
  EXPECT_EQ(query->PiecesDone(), 3u);
  ReserveFailures().Arm(0, kOnce);
  LeaveAll({query.get()});
}

TEST_F(QueryRunnerTest, StagesAndTasksTakeTurns) {
  const auto query = NewQuery(10);
  query->Begin(runner_);
  TestTask task(10);
  scheduler_.Push(0, tasks::TaskKind::kDeferred, &task);
  for (int piece = 0; piece < 8; ++piece) EXPECT_TRUE(Piece());
  EXPECT_EQ(task.done, 4);
  EXPECT_EQ(query->PiecesDone(), 4u);
  RunAll();
  EXPECT_TRUE(task.ended);
  EXPECT_TRUE(query->answered());
  LeaveAll({query.get()});
}

// One in four is of the next query.
TEST_F(QueryRunnerTest, TasksOfYoungerQueriesHaveAShare) {
  std::deque<TestTask> tasks;
  for (int i = 0; i < 24; ++i) {
    for (const uint64_t of : {1, 2, 3}) {
      scheduler_.Push(0, tasks::TaskKind::kDeferred, &tasks.emplace_back(1, 0, of));
    }
  }
  for (int piece = 0; piece < 32; ++piece) EXPECT_TRUE(Piece());
  std::map<uint64_t, int> done;
  for (const TestTask& task : tasks) done[task.query] += task.done;
  EXPECT_GE(done[1], 24);
  EXPECT_GE(done[2], 2);
  EXPECT_GE(done[3], 2);
  RunAll();
}

// In its slice an AEU leaves alone what is not of its group.
TEST_F(QueryRunnerTest, TasksOfOtherGroupsAreForTurnsWithoutWork) {
  TestTask task(1);
  scheduler_.Push(1, tasks::TaskKind::kDeferred, &task);
  EXPECT_FALSE(Piece(0));
  EXPECT_FALSE(runners_[0].Runnable());
  EXPECT_TRUE(runners_[0].HasWork());
  EXPECT_TRUE(runners_[0].Run(NowNs() + 1'000'000));
  EXPECT_EQ(task.ran_on, 0u);
  EXPECT_TRUE(task.ended);
  EXPECT_FALSE(runners_[0].HasWork());
}

TEST_F(QueryRunnerTest, IdleWorkEndsAtItsDeadline) {
  TestTask task(1000, 50'000);
  scheduler_.Push(1, tasks::TaskKind::kDeferred, &task);
  EXPECT_TRUE(runners_[0].Run(NowNs() + 200'000));
  EXPECT_LE(task.done, 200 / 50 + 1);
  // What is left is its own, in its slice: however busy it is, the query goes on.
  const int done = task.done;
  EXPECT_TRUE(runners_[0].Runnable());
  EXPECT_EQ(runners_[0].running(), 1u);
  EXPECT_TRUE(Piece(0));
  EXPECT_GT(task.done, done);
  EXPECT_FALSE(runners_[1].HasWork());
  while (Piece(0)) {
  }
  EXPECT_TRUE(task.ended);
}

TEST_F(QueryRunnerTest, IdleWorkEndsWhenACommandComes) {
  TestTask task(1000);
  scheduler_.Push(1, tasks::TaskKind::kDeferred, &task);
  const std::byte record[64]{};
  ASSERT_TRUE(endpoints_[0].incoming.TryWrite(record));
  EXPECT_TRUE(runners_[0].Run(NowNs() + 1'000'000'000));
  EXPECT_EQ(task.done, 1);
  (void)endpoints_[0].incoming.TryTake();
  while (Piece(0)) {
  }
}

// One at a time, so that the AEU looks after the rest of its work in between.
TEST_F(QueryRunnerTest, IdleWorkIsOneTask) {
  TestTask first(3), second(3);
  scheduler_.Push(1, tasks::TaskKind::kDeferred, &first);
  scheduler_.Push(1, tasks::TaskKind::kDeferred, &second);
  EXPECT_TRUE(runners_[0].Run(NowNs() + 1'000'000'000));
  EXPECT_TRUE(first.ended);
  EXPECT_EQ(second.done, 0);
  EXPECT_TRUE(runners_[0].Run(NowNs() + 1'000'000'000));
}

}  // namespace
}  // namespace eris::aeu
