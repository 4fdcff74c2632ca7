#include "clients/cli/engine_flags.h"

#include <gtest/gtest.h>

#include <string>

namespace eris::cli {
namespace {

absl::Status Parse(const std::string& command_line, Options& options) {
  CLI::App app;
  EngineFlags flags;
  flags.AddTo(app);
  app.parse(command_line);
  return flags.Apply(options);
}

TEST(EngineFlagsTest, FlagsThatAreNotGivenChangeNothing) {
  Options options;
  options.topology = "numa:2 core:1 pu:1";
  options.aeu_count = 3;
  options.placement = Placement::kSparse;
  options.aeu_per_hardware_thread = true;
  options.network_cores = 1;
  options.aeu_cpus = {0, 1};
  options.memory_limit_bytes = 5;
  options.incoming_buffer_bytes = 6;
  options.outgoing_buffer_bytes = 7;
  ASSERT_TRUE(Parse("", options).ok());
  EXPECT_EQ(options.topology, "numa:2 core:1 pu:1");
  EXPECT_EQ(options.aeu_count, 3u);
  EXPECT_EQ(options.placement, Placement::kSparse);
  EXPECT_TRUE(options.aeu_per_hardware_thread);
  EXPECT_EQ(options.network_cores, 1u);
  EXPECT_EQ(options.aeu_cpus, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(options.memory_limit_bytes, 5u);
  EXPECT_EQ(options.incoming_buffer_bytes, 6u);
  EXPECT_EQ(options.outgoing_buffer_bytes, 7u);
}

TEST(EngineFlagsTest, EveryFlagReachesItsOption) {
  Options options;
  options.aeu_per_hardware_thread = true;
  ASSERT_TRUE(Parse("--topology \"numa:4 core:2 pu:1\" --aeus 5 --placement none "
                    "--no-hardware-threads --network-cores 2 --aeu-cpus 3,1 --memory-limit 4GiB "
                    "--incoming-buffer 2MiB --outgoing-buffer 8KiB",
                    options)
                  .ok());
  EXPECT_EQ(options.topology, "numa:4 core:2 pu:1");
  EXPECT_EQ(options.aeu_count, 5u);
  EXPECT_EQ(options.placement, Placement::kNone);
  EXPECT_FALSE(options.aeu_per_hardware_thread);
  EXPECT_EQ(options.network_cores, 2u);
  EXPECT_EQ(options.aeu_cpus, (std::vector<uint32_t>{3, 1}));
  EXPECT_EQ(options.memory_limit_bytes, uint64_t{4} << 30);
  EXPECT_EQ(options.incoming_buffer_bytes, size_t{2} << 20);
  EXPECT_EQ(options.outgoing_buffer_bytes, size_t{8} << 10);
}

TEST(EngineFlagsTest, TextThatDoesNotParseIsRefusedWithTheFlagsName) {
  Options options;
  for (const char* flags : {"--memory-limit lots", "--aeu-cpus 1,x", "--aeu-cpus 4294967296"}) {
    const absl::Status status = Parse(flags, options);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << flags;
    EXPECT_EQ(status.message().find("--"), 0u) << status;
  }
}

}  // namespace
}  // namespace eris::cli
