#include "clients/cli/text/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "server/state/config.h"

namespace eris::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::string ErrorOf(const std::string& name) {
  const absl::Status status = CheckEnvironment({"PATH", name});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << name << ": " << status;
  return std::string(status.message());
}

TEST(EnvironmentTest, AMisspeltVariableIsRefusedWithTheOneThatWasMeant) {
  EXPECT_EQ(ErrorOf("ERIS_MEMORY_LIMIT_BYTE"),
            "the environment has ERIS_MEMORY_LIMIT_BYTE, which is no option; did you mean "
            "ERIS_MEMORY_LIMIT_BYTES?");
  EXPECT_THAT(ErrorOf("ERIS_BALANCER_TRESHOLD"),
              HasSubstr("did you mean ERIS_BALANCER_THRESHOLD?"));
  EXPECT_THAT(ErrorOf("ERIS_QQQ"), HasSubstr("ERIS_QQQ, which is no option; `eris serve"));
  EXPECT_THAT(ErrorOf("ERIS_PORT_FILES"), HasSubstr("did you mean ERIS_PORT_FILE?"));
}

TEST(EnvironmentTest, OptionsAndWhatOthersReadAreTaken) {
  for (const server::ConfigOption& option : server::ConfigOptions()) {
    EXPECT_TRUE(CheckEnvironment({option.variable}).ok()) << option.variable;
  }
  for (const char* name : {"ERIS_SERVER", "ERIS_SEED", "ERIS_TEST_THREADS", "ERIS_SYSTEM_ROOT",
                           "ERIS_PORT", "ERIS_PORT_7411_TCP_ADDR", "ERIS_SERVICE_HOST", "ERISED"}) {
    EXPECT_TRUE(CheckEnvironment({name}).ok()) << name;
  }
}

TEST(EnvironmentTest, TheNamesAreThoseOfTheProcess) {
  ASSERT_EQ(setenv("ERIS_TEST_NAMED", "a=b", 1), 0);
  EXPECT_THAT(EnvironmentNames(), Contains("ERIS_TEST_NAMED"));
  ASSERT_EQ(unsetenv("ERIS_TEST_NAMED"), 0);
}

}  // namespace
}  // namespace eris::cli
