// Options read and changed while the server runs.
#include <chrono>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "server/log/log.h"
#include "server/state/server_state.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;
using OptionMap = std::map<std::string, v1::ConfigOption>;

ServerConfig SomeConfig() {
  ServerConfig config;
  EXPECT_TRUE(ApplyConfigText("[server]\nstall_ms_max = 700\n", "eris.toml", &config).ok());
  return config;
}

class ConfigCallsTest : public RpcTest {
 protected:
  ConfigCallsTest() : RpcTest(SomeConfig()) {}

  OptionMap Get() {
    grpc::ClientContext context;
    v1::GetConfigResponse response;
    const grpc::Status status = admin->GetConfig(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    OptionMap options;
    for (const v1::ConfigOption& option : response.options()) options[option.name()] = option;
    return options;
  }
  grpc::Status Set(const std::map<std::string, std::string>& values,
                   const std::vector<std::string>& mask = {}) {
    v1::UpdateConfigRequest request;
    for (const auto& [name, value] : values) (*request.mutable_values())[name] = value;
    for (const std::string& name : mask) request.mutable_update_mask()->add_paths(name);
    grpc::ClientContext context;
    changed_.Clear();
    return admin->UpdateConfig(&context, request, &changed_);
  }

  v1::UpdateConfigResponse changed_;
};

TEST_F(ConfigCallsTest, EveryOptionIsToldWithItsOrigin) {
  OptionMap options = Get();
  EXPECT_EQ(options.size(), ConfigOptions().size());
  EXPECT_EQ(options["server.stall_ms_max"].value(), "700");
  EXPECT_EQ(options["server.stall_ms_max"].origin(), "eris.toml:2");
  EXPECT_EQ(options["server.call_ms_max"].origin(), "default");
  EXPECT_TRUE(options["server.call_ms_max"].live());
  EXPECT_FALSE(options["server.listen"].live());
  // Not 0: what the server has made of it.
  EXPECT_EQ(options["server.in_flight_bytes_max"].origin(), "derived");
  EXPECT_NE(options["server.in_flight_bytes_max"].value(), "0");
  EXPECT_EQ(options["engine.aeu_count"].value(), "2");
}

TEST_F(ConfigCallsTest, ACallEndsAtTheNewLimit) {
  ASSERT_TRUE(Set({{"call_ms_max", "50"}}).ok());
  ASSERT_EQ(changed_.options_size(), 1);
  EXPECT_EQ(changed_.options(0).name(), "server.call_ms_max");
  EXPECT_EQ(changed_.options(0).value(), "50");
  EXPECT_EQ(changed_.options(0).origin(), "config set");
  engine.Hold();
  const grpc::Status read = Lookup(LookupOf({1}));
  EXPECT_EQ(read.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(read.error_message(), "the call took longer than server.call_ms_max, 50 ms");
  EXPECT_TRUE(engine.AwaitHeld(0));
  engine.Release();
}

TEST_F(ConfigCallsTest, OptionsOfTheEngineReachIt) {
  ASSERT_TRUE(Set({{"balancer.threshold", "0.5"}, {"task_scheduling", "nls"}}).ok());
  EXPECT_EQ(engine.Balancer().options.threshold, 0.5);
  EXPECT_EQ(engine.scheduling(), TaskScheduling::kBlind);
  // What another call has changed is not changed back.
  BalancerOptions options = engine.Balancer().options;
  options.window = 9;
  ASSERT_TRUE(engine.SetBalancer(options).ok());
  ASSERT_TRUE(Set({{"balancer.period_ms", "500"}}).ok());
  EXPECT_EQ(engine.Balancer().options.window, 9u);
  EXPECT_EQ(Get()["balancer.window"].value(), "9");
  EXPECT_EQ(Get()["balancer.window"].origin(), "config set");
}

TEST_F(ConfigCallsTest, LimitsOfTheServersOwnReachIt) {
  ServerState& state = server->state();
  ASSERT_TRUE(Set({{"queue_ms_max", "0"}, {"slow_call_ms", "7"}, {"log_level", "error"}}).ok());
  EXPECT_FALSE(state.lookups_queued.refuses());
  EXPECT_FALSE(state.writes_queued.refuses());
  EXPECT_TRUE(state.watch.slow.IsSlow(7'000'000));
  EXPECT_FALSE(state.watch.slow.IsSlow(6'999'999));
  const auto before = LogLines();
  Log(LogLevel::kWarning, "it is left out");
  EXPECT_EQ(LogLines(), before);
  ASSERT_TRUE(Set({}, {"queue_ms_max", "slow_call_ms", "log_level"}).ok());
  EXPECT_EQ(state.lookups_queued.wait_max(), std::chrono::milliseconds(100));
  EXPECT_EQ(state.writes_queued.wait_max(), std::chrono::milliseconds(100));
  EXPECT_FALSE(state.watch.slow.on());
  Log(LogLevel::kInfo, "it is written");
  EXPECT_GT(LogLines()[0], before[0]);
}

TEST_F(ConfigCallsTest, AllOrNoneChange) {
  const grpc::Status limits = Set({{"call_ms_max", "50"}, {"balancer.threshold", "0"}});
  EXPECT_EQ(limits.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(limits.error_message(), HasSubstr("balancer.threshold is 0, must be between 0.01"));
  const grpc::Status restart = Set({{"call_ms_max", "50"}, {"server.listen", "h:1"}});
  EXPECT_EQ(restart.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(restart.error_message(), HasSubstr("server.listen needs a restart"));
  EXPECT_THAT(restart.error_message(), HasSubstr("ERIS_LISTEN"));
  const grpc::Status unknown = Set({{"call_ms_max", "50"}, {"server.stall_ms", "1"}});
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(unknown.error_message(), HasSubstr("did you mean server.stall_ms_max?"));
  const grpc::Status twice = Set({{"call_ms_max", "50"}, {"server.call_ms_max", "60"}});
  EXPECT_EQ(twice.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(twice.error_message(), HasSubstr("'server.call_ms_max' is named twice"));
  EXPECT_EQ(Get()["server.call_ms_max"].value(), "60000");
  EXPECT_EQ(Set({}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ConfigCallsTest, TheMaskSaysWhatChanges) {
  ASSERT_TRUE(Set({{"server.stall_ms_max", "800"}}, {"server.stall_ms_max"}).ok());
  EXPECT_EQ(Get()["server.stall_ms_max"].value(), "800");
  // Named without a value: its default.
  ASSERT_TRUE(Set({}, {"server.stall_ms_max", "engine.task_scheduling"}).ok());
  EXPECT_EQ(Get()["server.stall_ms_max"].value(), "30000");
  const grpc::Status outside = Set({{"call_ms_max", "50"}}, {"server.stall_ms_max"});
  EXPECT_EQ(outside.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(outside.error_message(), HasSubstr("'call_ms_max', which update_mask does not name"));
}

TEST_F(ConfigCallsTest, AStreamsPartOfTheBudgetStaysItsPart) {
  ASSERT_TRUE(Set({{"stream_bytes_max", "64GiB"}}).ok());
  const uint64_t most = server->state().budget.bytes_max();
  EXPECT_EQ(server->state().live.stream_bytes_max(), most / 4);
}

}  // namespace
}  // namespace eris::server
