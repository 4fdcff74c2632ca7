#include "server/admin_service.h"

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

}  // namespace
}  // namespace eris::server
