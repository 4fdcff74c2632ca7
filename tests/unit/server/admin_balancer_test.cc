// The balancer's calls over a real channel, to an engine that moves nothing and waits where told.
#include "server/admin/admin_service.h"

#include <cmath>
#include <future>

#include "clients/balancer_client.h"
#include "clients/cli/balancer_text.h"
#include "eris/key_encoding.h"
#include "gmock/gmock.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TransferRecord RecordOf(const std::string& object, KeyRange range) {
  return {.id = 51,
          .object = object,
          .kind = TransferKind::kLink,
          .range = range,
          .from = AeuId{52},
          .to = AeuId{53},
          .outcome = TransferOutcome::kStopped,
          .reason = "paused",
          .rows = 54,
          .bytes = 55,
          .chunks = 56,
          .started = absl::FromUnixMicros(1'700'000'000'000'057),
          .duration_us = 58,
          .longest_pause_us = 59,
          .longest_pause_wall_us = 60,
          .home = MemoryFollows::kStays,
          .home_us = 61,
          .home_bytes = 62,
          .home_bytes_remapped = 63,
          .home_longest_pause_us = 64};
}

class AdminBalancerTest : public RpcTest {
 protected:
  AdminBalancerTest() {
    auto connected = client::Client::Connect({.server = server->address()});
    EXPECT_TRUE(connected.ok()) << connected.status();
    client_ = *std::move(connected);
    EXPECT_TRUE(engine.Create("signed", {.schema = KeyValueSchema(ColumnType::kInt64)}).ok());
    EXPECT_TRUE(engine.Create("days", {.schema = KeyValueSchema(ColumnType::kDate)}).ok());
    EXPECT_TRUE(engine
                    .Create("pairs", {.schema = KeyValueSchema(
                                          KeyTypes(ColumnType::kInt64, ColumnType::kDate))})
                    .ok());
  }

  // A key of one int32 column: it stands at the top of the engine's word.
  void CreateTables() {
    Schema clustered{.columns = {{.name = "a", .type = ColumnType::kInt32},
                                 {.name = "b", .type = ColumnType::kInt32}},
                     .key = {0, 1}};
    EXPECT_TRUE(engine.Create("narrow", {.kind = ObjectKind::kTable, .schema = clustered}).ok());
    EXPECT_TRUE(engine
                    .Create("heap", {.kind = ObjectKind::kHeapTable,
                                     .schema = {.columns = clustered.columns}})
                    .ok());
  }

  static v1::MoveRangeRequest MoveOf(const std::string& object, uint64_t lo, uint64_t hi,
                                     uint32_t to) {
    v1::MoveRangeRequest request;
    request.set_object(object);
    request.mutable_range()->set_lo(lo);
    request.mutable_range()->set_hi(hi);
    request.set_to_aeu(to);
    return request;
  }
  grpc::Status Move(const v1::MoveRangeRequest& request) {
    grpc::ClientContext context;
    v1::MoveRangeResponse response;
    return admin->MoveRange(&context, request, &response);
  }
  grpc::Status Presplit(const v1::PresplitRequest& request) {
    grpc::ClientContext context;
    v1::PresplitResponse response;
    return admin->Presplit(&context, request, &response);
  }
  grpc::Status Set(const v1::BalancerOptions& options) {
    grpc::ClientContext context;
    v1::SetBalancerRequest request;
    *request.mutable_options() = options;
    v1::SetBalancerResponse response;
    return admin->SetBalancer(&context, request, &response);
  }
  // On a thread of its own; until it is inside the engine.
  std::future<grpc::Status> MoveHeld(grpc::ClientContext* context) {
    engine.HoldMoves(true);
    const int before = engine.moves();
    auto moved = std::async(std::launch::async, [this, context] {
      v1::MoveRangeResponse response;
      return admin->MoveRange(context, MoveOf("orders", 1, 2, 1), &response);
    });
    EXPECT_TRUE(FakeEngine::Await([&] { return engine.moves() > before; }));
    return moved;
  }

  std::unique_ptr<client::Client> client_;
};

TEST_F(AdminBalancerTest, EveryFigureOfTheStatusArrives) {
  ASSERT_TRUE(engine
                  .SetBalancer({.enabled = false,
                                .algorithm = BalanceAlgorithm::kMovingAverage,
                                .window = 2,
                                .threshold = 0.5,
                                .period_ms = 3,
                                .max_pause_us = 4,
                                .max_bytes_per_s = 5})
                  .ok());
  engine.SetHistory({RecordOf("orders", {.lo = 7, .hi = 9})});
  const auto balance = client::BalancerClient(*client_).Status();
  ASSERT_TRUE(balance.ok()) << balance.status();
  EXPECT_EQ(cli::ToJson(*balance), cli::ToJson(client::Balance{.status = engine.Balancer()}));
  const Json json = cli::ToJson(*balance);
  EXPECT_EQ(json["options"]["max_bytes_per_s"], "5");
  EXPECT_EQ(json["objects"][0]["loads"][1], 0.0625);
  EXPECT_EQ(json["objects"][0]["reason"], "too little");
  EXPECT_EQ(json["stalls"], "46");
  EXPECT_EQ(json["running"][0]["started"], "2023-11-14T22:13:20.000057Z");
  EXPECT_EQ(json["running"][0]["phase"], "target");
  EXPECT_EQ(json["running"][0]["idle_us"], "1500000");
}

TEST_F(AdminBalancerTest, HotRangesArriveInKeysOfTheirType) {
  client::BalancerClient balancer(*client_);
  const auto heat = balancer.Hot("orders");
  ASSERT_TRUE(heat.ok()) << heat.status();
  const Json json = cli::ToJson(*heat);
  EXPECT_EQ(json, cli::ToJson(client::Heat{.ranges = *engine.FindHotRanges("orders", 16)}));
  EXPECT_EQ(json["load"], 0.5);
  EXPECT_EQ(json["hottest"][1]["range"]["lo"], "53");
  EXPECT_EQ(json["hottest"][1]["load"], 0.25);
  EXPECT_EQ(json["partitions"][1]["aeu"], 0);
  EXPECT_EQ(json["partitions"][1]["load"], 0.375);
  EXPECT_EQ(json["partitions"][1]["rows"], "52");
  EXPECT_EQ(heat->ranges.starts, (std::vector<uint64_t>{0, 1000}));
  EXPECT_THAT(cli::ToText(*heat), HasSubstr("50.0 %"));

  EXPECT_EQ(balancer.Hot("orders", 1)->ranges.hottest.size(), 1u);
  EXPECT_EQ(balancer.Hot("days")->key_type, ColumnType::kDate);
  EXPECT_EQ(balancer.Hot("orders", kHotRangesMax + 1).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(balancer.Hot("nothing").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(AdminBalancerTest, EveryFigureOfThePlanArrives) {
  client::BalancerClient balancer(*client_);
  const auto plan = balancer.PlanFor("orders");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(cli::ToJson(*plan), cli::ToJson(client::Plan{.plan = *engine.PlanBalance("orders")}));
  EXPECT_EQ(engine.moves(), 0);
  const auto done = balancer.Rebalance("orders");
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(cli::ToJson(*done), cli::ToJson(*plan));
  EXPECT_EQ(engine.moves(), 1);
  for (const std::string& name : {std::string("nosuch"), std::string()}) {
    EXPECT_FALSE(balancer.PlanFor(name).ok());
    EXPECT_FALSE(balancer.Rebalance(name).ok());
  }
  EXPECT_TRUE(absl::IsNotFound(balancer.PlanFor("nosuch").status()));
  EXPECT_TRUE(absl::IsNotFound(balancer.Rebalance("nosuch").status()));
}

TEST_F(AdminBalancerTest, HistoryHasEveryFigureAndTheNewestFirst) {
  TransferRecord other = RecordOf("signed", {});
  other.id = 50;
  other.outcome = TransferOutcome::kRefused;
  engine.SetHistory({RecordOf("orders", {.lo = 7, .hi = 9}), other});
  client::BalancerClient balancer(*client_);
  const auto all = balancer.History();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(cli::ToJson(*all),
            cli::ToJson(std::vector<client::Transfer>{{.record = engine.TransferHistory()[0]},
                                                      {.record = engine.TransferHistory()[1]}}));
  const auto first = balancer.History("", 1);
  ASSERT_EQ(first->size(), 1u);
  EXPECT_EQ((*first)[0].record.id, 51u);
  const auto of_one = balancer.History("signed");
  ASSERT_EQ(of_one->size(), 1u);
  EXPECT_EQ((*of_one)[0].record.id, 50u);
  EXPECT_EQ(balancer.History("signed", ~0u)->size(), 1u);
  EXPECT_TRUE(balancer.History("nosuch")->empty());
  EXPECT_TRUE(absl::IsInvalidArgument(balancer.History(std::string(5000, 'x')).status()));
}

// Also of an object that is gone.
TEST_F(AdminBalancerTest, BoundsComeAsKeysOfTheObjectsType) {
  CreateTables();
  const auto narrow = [](int32_t a) { return KeyFromDate(a) << 32; };
  engine.SetHistory({RecordOf("signed", {.lo = KeyFromInt64(-7), .hi = KeyFromInt64(8)}),
                     RecordOf("days", {.lo = KeyFromDate(-1)}),
                     RecordOf("pairs", {.hi = KeyFromInt64(-3)}),
                     RecordOf("narrow", {.lo = narrow(-5), .hi = narrow(6) | 3}),
                     RecordOf("narrow", {.hi = narrow(6)}), RecordOf("heap", {.lo = 4, .hi = 5}),
                     RecordOf("gone", {.lo = ~uint64_t{0} - 1, .hi = ~uint64_t{0}})});
  const auto history = client::BalancerClient(*client_).History();
  ASSERT_TRUE(history.ok()) << history.status();
  std::vector<std::string> ranges;
  const Json transfers = cli::ToJson(*history);
  for (size_t i = 0; i < transfers.size(); ++i) ranges.push_back(transfers[i]["range"].Dump());
  EXPECT_THAT(ranges, ElementsAre(R"({"lo":"-7","hi":"8"})", R"({"lo":"1969-12-31","hi":null})",
                                  R"({"lo":null,"hi":"-3"})", R"({"lo":"-5","hi":"6"})",
                                  R"({"lo":null,"hi":"6"})", R"({"lo":null,"hi":null})",
                                  R"({"lo":"18446744073709551614","hi":"18446744073709551615"})"));
}

TEST_F(AdminBalancerTest, SetChangesWhatIsGivenAndNothingElse) {
  client::BalancerClient balancer(*client_);
  const BalancerOptions defaults;
  auto in_force = balancer.Set({.threshold = 0.01});
  ASSERT_TRUE(in_force.ok()) << in_force.status();
  EXPECT_EQ(in_force->threshold, 0.01);
  EXPECT_EQ(in_force->period_ms, defaults.period_ms);
  in_force = balancer.Set({.enabled = false, .max_bytes_per_s = 0});
  EXPECT_FALSE(in_force->enabled);
  EXPECT_EQ(in_force->threshold, 0.01);
  in_force = balancer.Set({.enabled = true,
                           .algorithm = BalanceAlgorithm::kSize,
                           .window = 65536,
                           .threshold = 100,
                           .period_ms = 10,
                           .max_pause_us = 1'000'000,
                           .max_bytes_per_s = ~uint64_t{0}});
  ASSERT_TRUE(in_force.ok()) << in_force.status();
  const BalancerOptions kept = engine.Balancer().options;
  EXPECT_EQ(cli::ToJson(kept), cli::ToJson(*in_force));
  EXPECT_EQ(kept.window, 65536u);
  EXPECT_EQ(kept.max_bytes_per_s, ~uint64_t{0});
  EXPECT_EQ(kept.algorithm, BalanceAlgorithm::kSize);
}

TEST_F(AdminBalancerTest, SetNamesTheValueAndTheLimits) {
  const std::string before = cli::ToJson(engine.Balancer().options).Dump();
  const auto refusal = [&](auto set) {
    v1::BalancerOptions options;
    options.set_enabled(false);
    set(options);
    const grpc::Status status = Set(options);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(cli::ToJson(engine.Balancer().options).Dump(), before);
    return status.error_message();
  };
  using O = v1::BalancerOptions;
  EXPECT_EQ(refusal([](O& o) { o.set_window(0); }),
            "options.window is 0, must be between 1 and 65536");
  EXPECT_THAT(refusal([](O& o) { o.set_window(65537); }), HasSubstr("window is 65537"));
  EXPECT_EQ(refusal([](O& o) { o.set_threshold(0.009); }),
            "options.threshold is 0.009, must be between 0.01 and 100");
  EXPECT_THAT(refusal([](O& o) { o.set_threshold(100.5); }), HasSubstr("threshold is 100.5"));
  EXPECT_THAT(refusal([](O& o) { o.set_threshold(std::nan("")); }), HasSubstr("threshold is nan"));
  EXPECT_THAT(refusal([](O& o) { o.set_threshold(-1); }), HasSubstr("threshold is -1"));
  EXPECT_EQ(refusal([](O& o) { o.set_period_ms(9); }),
            "options.period_ms is 9, must be between 10 and 3600000");
  EXPECT_THAT(refusal([](O& o) { o.set_period_ms(3'600'001); }), HasSubstr("is 3600001"));
  EXPECT_EQ(refusal([](O& o) { o.set_max_pause_us(9); }),
            "options.max_pause_us is 9, must be between 10 and 1000000");
  EXPECT_THAT(refusal([](O& o) { o.set_max_pause_us(1'000'001); }), HasSubstr("is 1000001"));
  EXPECT_THAT(refusal([](O& o) { o.set_algorithm(v1::BALANCE_ALGORITHM_UNSPECIFIED); }),
              HasSubstr("algorithm is 0, must be 1 to 3"));
  EXPECT_THAT(refusal([](O& o) { o.set_algorithm(static_cast<v1::BalanceAlgorithm>(4)); }),
              HasSubstr("algorithm is 4"));
  const grpc::Status nothing = Set({});
  EXPECT_EQ(nothing.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(nothing.error_message(), HasSubstr("no field set"));
}

TEST_F(AdminBalancerTest, MovesReachTheEngineInItsKeys) {
  CreateTables();
  client::BalancerClient balancer(*client_);
  ASSERT_TRUE(balancer.Move("orders", {.lo = 7}, AeuId{1}, TransferKind::kLink).ok());
  EXPECT_EQ(engine.last_move().object, "orders");
  EXPECT_EQ(engine.last_move().range, (KeyRange{.lo = 7}));
  EXPECT_EQ(engine.last_move().to, AeuId{1});
  EXPECT_EQ(engine.last_move().kind, TransferKind::kLink);
  const KeyRange range = Int64Range(-9, 4);
  ASSERT_TRUE(balancer.Move("signed", range, AeuId{0}, std::nullopt, ColumnType::kInt64).ok());
  EXPECT_EQ(engine.last_move().range, range);
  EXPECT_EQ(engine.last_move().kind, std::nullopt);
  ASSERT_TRUE(balancer.Presplit("pairs", range, 2, ColumnType::kInt64).ok());
  EXPECT_EQ(engine.last_move().range, range);
  EXPECT_EQ(engine.last_move().parts, 2u);
  ASSERT_TRUE(
      balancer.Move("narrow", range, AeuId{0}, TransferKind::kCopy, ColumnType::kInt64).ok());
  EXPECT_EQ(engine.last_move().range,
            (KeyRange{.lo = KeyFromDate(-9) << 32, .hi = KeyFromDate(4) << 32}));
  ASSERT_TRUE(balancer.Presplit("narrow", {.hi = range.hi}, 1, ColumnType::kInt64).ok());
  EXPECT_EQ(engine.last_move().range, (KeyRange{.lo = 0, .hi = KeyFromDate(4) << 32}));
}

TEST_F(AdminBalancerTest, WrongMovesAreRefusedByNameAndReachNobody) {
  CreateTables();
  const auto refusal = [&](const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  };
  EXPECT_EQ(refusal(Move(MoveOf("orders", 1, 2, 2))), "to_aeu is 2, must be between 0 and 1");
  v1::MoveRangeRequest request = MoveOf("orders", 1, 2, 0);
  request.clear_to_aeu();
  EXPECT_THAT(refusal(Move(request)), HasSubstr("to_aeu is not set"));
  EXPECT_EQ(refusal(Move(MoveOf("orders", 9, 5, 1))), "range is inverted: hi 5 is below lo 9");
  EXPECT_THAT(refusal(Move(MoveOf("orders", 5, 5, 1))),
              HasSubstr("range is empty: it begins and ends with 5"));
  request = MoveOf("orders", 1, 2, 1);
  constexpr int kBeyond = v1::TransferKind_MAX + 1;
  request.set_kind(static_cast<v1::TransferKind>(kBeyond));
  EXPECT_THAT(refusal(Move(request)),
              HasSubstr(absl::StrCat("kind is ", kBeyond,
                                     ", must be TRANSFER_KIND_LINK (1), TRANSFER_KIND_COPY (2)")));
  EXPECT_THAT(refusal(Move(MoveOf("signed", 1, 2, 1))), HasSubstr("set start and end"));
  EXPECT_THAT(refusal(Move(MoveOf("", 1, 2, 1))), HasSubstr("name"));
  request = MoveOf("pairs", 0, 0, 1);
  request.clear_range();
  request.mutable_range()->mutable_start()->set_i64(3);
  request.mutable_range()->mutable_start_second()->set_date32(4);
  EXPECT_THAT(refusal(Move(request)), HasSubstr("range.start_second is set"));
  request = MoveOf("narrow", 0, 0, 1);
  request.clear_range();
  request.mutable_range()->mutable_end()->set_i64(int64_t{1} << 31);
  EXPECT_THAT(refusal(Move(request)), HasSubstr("range.end is 2147483648, must be between"));
  EXPECT_EQ(Move(MoveOf("nosuch", 1, 2, 1)).error_code(), grpc::StatusCode::NOT_FOUND);

  v1::PresplitRequest split;
  split.set_object("orders");
  EXPECT_EQ(refusal(Presplit(split)), "parts is 0, must be between 1 and 2, the number of AEUs");
  split.set_parts(3);
  EXPECT_THAT(refusal(Presplit(split)), HasSubstr("parts is 3"));
  split.set_parts(2);
  split.mutable_range()->set_lo(2);
  split.mutable_range()->set_hi(1);
  EXPECT_THAT(refusal(Presplit(split)), HasSubstr("inverted"));
  EXPECT_EQ(engine.moves(), 0);
}

TEST_F(AdminBalancerTest, LongMovesHoldNobodyUpAndEndWithAPause) {
  grpc::ClientContext context;
  std::future<grpc::Status> moved = MoveHeld(&context);
  client::BalancerClient balancer(*client_);
  EXPECT_TRUE(balancer.Status().ok());
  EXPECT_TRUE(balancer.PlanFor("orders").ok());
  EXPECT_TRUE(client_->Stats().ok());
  EXPECT_EQ(engine.moving(), 1);
  EXPECT_TRUE(balancer.Pause().ok());
  EXPECT_EQ(moved.get().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(balancer.Status()->status.paused);
  EXPECT_EQ(Move(MoveOf("orders", 1, 2, 1)).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(balancer.Resume().ok());
  EXPECT_FALSE(balancer.Status()->status.paused);
  engine.HoldMoves(false);
  EXPECT_TRUE(Move(MoveOf("orders", 1, 2, 1)).ok());
}

TEST_F(AdminBalancerTest, MovesDoNotWaitForEachOther) {
  grpc::ClientContext context, other_context;
  std::future<grpc::Status> moved = MoveHeld(&context);
  std::future<grpc::Status> other = MoveHeld(&other_context);
  EXPECT_EQ(engine.moving(), 2);
  engine.HoldMoves(false);
  EXPECT_TRUE(moved.get().ok());
  EXPECT_TRUE(other.get().ok());
}

TEST_F(AdminBalancerTest, MoveThatIsGivenUpStopsAndTheNextOneGoesOn) {
  grpc::ClientContext context;
  std::future<grpc::Status> moved = MoveHeld(&context);
  grpc::ClientContext next_context;
  std::future<grpc::Status> next = std::async(std::launch::async, [&] {
    v1::MoveRangeResponse response;
    return admin->MoveRange(&next_context, MoveOf("orders", 5, 6, 0), &response);
  });
  context.TryCancel();
  EXPECT_EQ(moved.get().error_code(), grpc::StatusCode::CANCELLED);
  ASSERT_TRUE(FakeEngine::Await([&] { return engine.last_move().range.lo == 5; }));
  EXPECT_EQ(engine.balancer_pauses(), 0u);  // whatever else moves goes on
  engine.HoldMoves(false);
  EXPECT_TRUE(next.get().ok());
}

TEST_F(AdminBalancerTest, DeadlinesReachTheEngine) {
  engine.HoldMoves(true);
  grpc::ClientContext hasty;
  hasty.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
  v1::MoveRangeResponse response;
  EXPECT_EQ(admin->MoveRange(&hasty, MoveOf("orders", 1, 2, 1), &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(FakeEngine::Await([&] { return engine.moving() == 0; }));
  EXPECT_LT(engine.last_move().deadline, absl::Now() + absl::Hours(1));
  engine.HoldMoves(false);
  ASSERT_TRUE(Move(MoveOf("orders", 1, 2, 1)).ok());  // without one: no limit of the server's
  EXPECT_GT(engine.last_move().deadline, absl::Now() + absl::Hours(24 * 365));
}

TEST_F(AdminBalancerTest, DrainStopsMoves) {
  grpc::ClientContext context;
  std::future<grpc::Status> moved = MoveHeld(&context);
  std::promise<void> empty;
  server->BeginDrain([&] { empty.set_value(); });
  empty.get_future().wait();
  EXPECT_EQ(moved.get().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(engine.moving(), 0);
}

}  // namespace
}  // namespace eris::server
