#include "server/queries/queries_service.h"

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "server/queries/read_plan.h"
#include "server/substrait/plan_reader.h"
#include "substrait/plan.pb.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;
using Responses = std::vector<v1::ExecuteResponse>;

class QueriesServiceTest : public RpcTest {
 protected:
  explicit QueriesServiceTest(ServerConfig its = {}) : RpcTest(std::move(its)) {}

  // A plan that reads both columns of an index.
  static std::string PlanOf(const std::string& object) {
    ::substrait::Plan plan;
    auto* const root = plan.add_relations()->mutable_root();
    auto* const read = root->mutable_input()->mutable_read();
    read->mutable_named_table()->add_names(object);
    for (const char* name : {"key", "value"}) {
      root->add_names(name);
      read->mutable_base_schema()->add_names(name);
      read->mutable_base_schema()->mutable_struct_()->add_types()->mutable_i64();
    }
    return plan.SerializeAsString();
  }
  static v1::ExecuteRequest RequestOf(const std::string& plan) {
    v1::ExecuteRequest request;
    request.set_plan(plan);
    return request;
  }
  static v1::ExecuteRequest Orders() { return RequestOf(PlanOf("orders")); }

  grpc::Status Execute(const v1::ExecuteRequest& request, Responses* responses) {
    grpc::ClientContext context;
    auto reader = queries->Execute(&context, request);
    v1::ExecuteResponse response;
    while (reader->Read(&response)) responses->push_back(response);
    return reader->Finish();
  }
  grpc::Status Explain(const std::string& plan, std::string* text) {
    grpc::ClientContext context;
    v1::ExplainRequest request;
    request.set_plan(plan);
    v1::ExplainResponse response;
    const grpc::Status status = queries->Explain(&context, request, &response);
    *text = response.text();
    return status;
  }
  grpc::Status Analyze(const std::string& plan, std::string* text) {
    grpc::ClientContext context;
    return Analyze(context, plan, text);
  }
  grpc::Status Analyze(grpc::ClientContext& context, const std::string& plan, std::string* text) {
    v1::AnalyzeRequest request;
    request.set_plan(plan);
    v1::AnalyzeResponse response;
    const grpc::Status status = queries->Analyze(&context, request, &response);
    *text = response.text();
    return status;
  }
  std::vector<v1::RunningQuery> List() {
    grpc::ClientContext context;
    v1::ListQueriesResponse response;
    EXPECT_TRUE(queries->List(&context, v1::ListQueriesRequest(), &response).ok());
    return {response.queries().begin(), response.queries().end()};
  }
  grpc::Status Cancel(uint64_t id) {
    grpc::ClientContext context;
    v1::CancelQueryRequest request;
    request.set_id(id);
    v1::CancelQueryResponse response;
    return queries->Cancel(&context, request, &response);
  }
  // Nothing is left of a query that has ended.
  bool NothingIsLeft() {
    return FakeEngine::Await(
        [&] { return List().empty() && engine.scans_open() == 0 && engine.chunks_out() == 0; });
  }
  // All ways into a plan refuse it.
  void ExpectRefused(const std::string& plan, grpc::StatusCode code, const std::string& text) {
    Responses responses;
    std::string explained;
    std::string analysed;
    for (const grpc::Status& status : {Execute(RequestOf(plan), &responses),
                                       Explain(plan, &explained), Analyze(plan, &analysed)}) {
      EXPECT_EQ(status.error_code(), code) << status.error_message();
      EXPECT_THAT(status.error_message(), HasSubstr(text));
    }
    EXPECT_TRUE(responses.empty());
    EXPECT_TRUE(explained.empty());
    EXPECT_TRUE(analysed.empty());
  }
};

TEST_F(QueriesServiceTest, EveryRowOnceInChunksOfWhichTheFirstHasTheSchema) {
  Load(2500);
  Responses responses;
  const grpc::Status status = Execute(Orders(), &responses);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(responses.size(), 3u);
  ASSERT_EQ(responses[0].schema().columns_size(), 2);
  EXPECT_EQ(responses[0].schema().columns(1).name(), "value");
  uint64_t next = 0;
  for (const v1::ExecuteResponse& response : responses) {
    EXPECT_EQ(response.has_schema(), next == 0);
    for (const uint64_t key : Elements(response.columns(0))) EXPECT_EQ(key, 10 * next++);
  }
  EXPECT_EQ(next, 2500u);
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(QueriesServiceTest, QueryWithoutARowHasASchema) {
  Responses responses;
  ASSERT_TRUE(Execute(Orders(), &responses).ok());
  ASSERT_EQ(responses.size(), 1u);
  EXPECT_EQ(responses[0].schema().columns_size(), 2);
  EXPECT_EQ(responses[0].rows(), 0u);
}

TEST_F(QueriesServiceTest, PlanIsExplained) {
  std::string text;
  ASSERT_TRUE(Explain(PlanOf("orders"), &text).ok());
  EXPECT_EQ(text, "reads orders, 1 nodes\n");
}

TEST_F(QueriesServiceTest, PlanIsAnalysed) {
  Load(10);
  std::string text;
  const grpc::Status status = Analyze(PlanOf("orders"), &text);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(text, "gave 10 rows\n");
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(QueriesServiceTest, RunningAnalysisIsListedAndCancelled) {
  Load(10);
  engine.Hold();
  std::string text;
  auto call = std::async(std::launch::async, [&] { return Analyze(PlanOf("orders"), &text); });
  ASSERT_TRUE(engine.AwaitHeld(1));
  const std::vector<v1::RunningQuery> running = List();
  ASSERT_EQ(running.size(), 1u);
  EXPECT_EQ(running[0].state(), v1::RunningQuery::STATE_COMPUTING);
  EXPECT_TRUE(Cancel(running[0].id()).ok());
  const grpc::Status status = call.get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_THAT(status.error_message(), HasSubstr("was cancelled by a client"));
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(QueriesServiceTest, ClientThatVanishesEndsItsAnalysis) {
  Load(10);
  engine.Hold();
  std::string text;
  grpc::ClientContext context;
  auto call =
      std::async(std::launch::async, [&] { return Analyze(context, PlanOf("orders"), &text); });
  ASSERT_TRUE(engine.AwaitHeld(1));
  context.TryCancel();
  EXPECT_EQ(call.get().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(QueriesServiceTest, AnalysisPastItsDeadlineEnds) {
  Load(10);
  engine.Hold();
  std::string text;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  EXPECT_EQ(Analyze(context, PlanOf("orders"), &text).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(QueriesServiceTest, BadPlansAreRefusedWithTheirPlace) {
  const std::string plan = PlanOf("orders");
  ExpectRefused("", grpc::StatusCode::INVALID_ARGUMENT, "the plan has no relation");
  ExpectRefused(plan.substr(0, plan.size() - 3), grpc::StatusCode::INVALID_ARGUMENT,
                "no plan of Substrait");
  ExpectRefused(PlanOf("lines"), grpc::StatusCode::NOT_FOUND, "relations[0].root.input");
  const std::string large(kPlanBytesMax + 1, '\0');
  ExpectRefused(large, grpc::StatusCode::INVALID_ARGUMENT, "must have at most 1048576");
}

TEST_F(QueriesServiceTest, RunningQueryIsListedAndCancelled) {
  Load(10);
  engine.Hold();
  grpc::ClientContext context;
  const auto reader = queries->Execute(&context, Orders());
  ASSERT_TRUE(engine.AwaitHeld(1));
  const std::vector<v1::RunningQuery> running = List();
  ASSERT_EQ(running.size(), 1u);
  EXPECT_THAT(running[0].peer(), HasSubstr("127.0.0.1"));
  EXPECT_EQ(running[0].state(), v1::RunningQuery::STATE_COMPUTING);
  EXPECT_EQ(Cancel(running[0].id() + 1).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(Cancel(running[0].id()).ok());
  v1::ExecuteResponse response;
  EXPECT_FALSE(reader->Read(&response));
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_THAT(status.error_message(), HasSubstr("was cancelled by a client"));
  EXPECT_TRUE(NothingIsLeft());
  EXPECT_EQ(Cancel(running[0].id()).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(QueriesServiceTest, RowsSentAreListed) {
  Load(2500);
  engine.Hold();
  grpc::ClientContext context;
  const auto reader = queries->Execute(&context, Orders());
  ASSERT_TRUE(engine.AwaitHeld(1));
  engine.ReleaseHeld();
  v1::ExecuteResponse response;
  ASSERT_TRUE(reader->Read(&response));
  ASSERT_TRUE(engine.AwaitHeld(1));
  ASSERT_EQ(List().size(), 1u);
  EXPECT_EQ(List()[0].state(), v1::RunningQuery::STATE_SENDING);
  EXPECT_EQ(List()[0].rows_sent(), 1000u);
  engine.Release();
  while (reader->Read(&response)) {
  }
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(QueriesServiceTest, ClientThatVanishesEndsItsQuery) {
  Load(10);
  engine.Hold();
  grpc::ClientContext context;
  const auto reader = queries->Execute(&context, Orders());
  ASSERT_TRUE(engine.AwaitHeld(1));
  context.TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(QueriesServiceTest, DrainThatIsOverEndsTheQuery) {
  Load(10);
  engine.Hold();
  grpc::ClientContext context;
  const auto reader = queries->Execute(&context, Orders());
  ASSERT_TRUE(engine.AwaitHeld(1));
  auto empty = std::make_shared<std::promise<void>>();
  server->BeginDrain([empty] { empty->set_value(); });
  server->EndCalls();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(empty->get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

class SmallBudgetQueriesTest : public QueriesServiceTest {
 protected:
  static ServerConfig Small() {
    ServerConfig config;
    config.in_flight_bytes_max = 64 << 10;
    return config;
  }
  SmallBudgetQueriesTest() : QueriesServiceTest(Small()) {}
};

TEST_F(SmallBudgetQueriesTest, ReadingAPlanIsCharged) {
  const std::string plan(3000, 'x');
  static_assert(3000 * kReadBytesPerPlanByte > 64 << 10);
  ExpectRefused(plan, grpc::StatusCode::INVALID_ARGUMENT, "needs 96000 bytes");
  ExpectRefused("x", grpc::StatusCode::INVALID_ARGUMENT, "no plan of Substrait");
}

}  // namespace
}  // namespace eris::server
