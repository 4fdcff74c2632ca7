#include "server/admin/admin_service.h"

#include "clients/cli/text/memory_text.h"
#include "clients/eris_client.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using AdminServiceTest = RpcTest;

TEST_F(AdminServiceTest, StatsAreTheEngines) {
  v1::GetStatsResponse stats;
  grpc::ClientContext context;
  ASSERT_TRUE(admin->GetStats(&context, {}, &stats).ok());
  ASSERT_EQ(stats.aeus_size(), 2);
  EXPECT_EQ(stats.aeus(0).keys(), 7u);
  EXPECT_EQ(stats.aeus(0).cpu(), -1);
  EXPECT_EQ(stats.aeus(1).id(), 1u);
  ASSERT_EQ(stats.numa_nodes_size(), 1);
  EXPECT_TRUE(stats.numa_nodes(0).bound());
  ASSERT_EQ(stats.objects_size(), 1);
  EXPECT_EQ(stats.objects(0).name(), "orders");
  EXPECT_EQ(stats.memory_limit_bytes(), 1u << 20);
}

TEST_F(AdminServiceTest, TopologyIsTheEnginesText) {
  v1::GetTopologyResponse topology;
  grpc::ClientContext context;
  ASSERT_TRUE(admin->GetTopology(&context, {}, &topology).ok());
  EXPECT_EQ(topology.text(), "a fake machine\n");
}

class AdminClientTest : public RpcTest {
 protected:
  AdminClientTest() {
    auto connected = client::Client::Connect({.server = server->address()});
    EXPECT_TRUE(connected.ok()) << connected.status();
    client_ = *std::move(connected);
  }
  std::unique_ptr<client::Client> client_;
};

TEST_F(AdminClientTest, ServerTellsItsVersionAndWhatItTakes) {
  const auto info = client_->Server();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->version, "of tests");
  EXPECT_GE(info->receive_message_bytes_max, 2u << 20);
  const auto later = client_->Server();
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_EQ(later->calls, info->calls + 1);
  EXPECT_GE(later->calls_in_flight, 1u);
  EXPECT_GE(later->uptime, info->uptime);
  EXPECT_LT(later->uptime, absl::Hours(1));
  EXPECT_GT(later->in_flight_bytes_max, 0u);
  EXPECT_LE(later->in_flight_bytes, later->in_flight_bytes_max);
}

// Every field is a number of its own, and JSON has them all.
TEST_F(AdminClientTest, EveryFigureOfTheMemoryArrives) {
  const auto stats = client_->Memory();
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(cli::ToJson(*stats), cli::ToJson(engine.Memory()));
  const Json json = cli::ToJson(*stats);
  EXPECT_EQ(json["limit_bytes"], "1048576");
  EXPECT_EQ(json["numa_nodes"][0]["mapped_bytes"], "7");
  EXPECT_EQ(json["objects"][0]["spilled_bytes"], "17");
  EXPECT_EQ(json["objects"][0]["classes"][0]["cached_blocks"], "6");
}

TEST_F(AdminClientTest, EveryFigureOfAVerificationArrives) {
  const absl::Time limit = absl::InfiniteFuture();
  for (const uint64_t pages_max : {uint64_t{0}, uint64_t{77}, kVerifyPagesMax}) {
    const auto verification = client_->VerifyMemory({.pages_max = pages_max});
    ASSERT_TRUE(verification.ok()) << verification.status();
    EXPECT_EQ(cli::ToJson(*verification),
              cli::ToJson(*engine.VerifyMemory({.pages_max = pages_max}, limit)));
    EXPECT_EQ(verification->numa_nodes[0].pages_asked, pages_max);
    EXPECT_EQ(verification->numa_nodes[0].reserved_huge_bytes, 24u);
    EXPECT_TRUE(verification->rows.empty());
  }
  const auto with_rows = client_->VerifyMemory({.pages_max = 1, .rows = true});
  ASSERT_TRUE(with_rows.ok()) << with_rows.status();
  ASSERT_EQ(with_rows->rows.size(), 1u);
  EXPECT_EQ(with_rows->rows[0].remote_bytes, 33u);
  EXPECT_EQ(cli::ToJson(*with_rows),
            cli::ToJson(*engine.VerifyMemory({.pages_max = 1, .rows = true}, limit)));
}

TEST_F(AdminClientTest, VerificationThatDoesNotSayHowManyPagesHasTheDefault) {
  v1::VerifyMemoryResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(admin->VerifyMemory(&context, {}, &response).ok());
  EXPECT_EQ(response.numa_nodes(0).pages_asked(), kVerifyPagesDefault);
}

TEST_F(AdminClientTest, VerificationHasTheShorterOfClientsAndServersTime) {
  const absl::Time limit = absl::Now() + absl::Milliseconds(config.call_ms_max);
  ASSERT_TRUE(client_->VerifyMemory().ok());  // the client's: 30 s
  EXPECT_LT(engine.last_deadline(), limit);
  v1::VerifyMemoryResponse response;
  grpc::ClientContext context;  // without a deadline
  ASSERT_TRUE(admin->VerifyMemory(&context, {}, &response).ok());
  EXPECT_GE(engine.last_deadline(), limit);
  EXPECT_NE(engine.last_deadline(), absl::InfiniteFuture());
}

TEST_F(AdminClientTest, VerificationThatTheEngineRefusesIsRefused) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(client_->VerifyMemory({.pages_max = kVerifyPagesMax + 1}).status()));
  engine.Close();
  EXPECT_TRUE(absl::IsUnavailable(client_->VerifyMemory().status()));
}

}  // namespace
}  // namespace eris::server
