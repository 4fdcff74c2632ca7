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
  options.memory_placement = MemoryPlacement::kInterleaved;
  options.memory_numa_node = 8;
  options.memory_spill = true;
  options.huge_pages = HugePages::kNone;
  options.superblock_bytes = 9;
  options.memory_decay_ms = 10;
  options.memory_kept_bytes_max = 11;
  options.memory_ready_bytes_max = 12;
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
  EXPECT_EQ(options.memory_placement, MemoryPlacement::kInterleaved);
  EXPECT_EQ(options.memory_numa_node, 8u);
  EXPECT_TRUE(options.memory_spill);
  EXPECT_EQ(options.huge_pages, HugePages::kNone);
  EXPECT_EQ(options.superblock_bytes, 9u);
  EXPECT_EQ(options.memory_decay_ms, 10u);
  EXPECT_EQ(options.memory_kept_bytes_max, 11u);
  EXPECT_EQ(options.memory_ready_bytes_max, 12u);
  EXPECT_EQ(options.incoming_buffer_bytes, 6u);
  EXPECT_EQ(options.outgoing_buffer_bytes, 7u);
}

TEST(EngineFlagsTest, EveryFlagReachesItsOption) {
  Options options;
  options.aeu_per_hardware_thread = true;
  ASSERT_TRUE(Parse("--topology \"numa:4 core:2 pu:1\" --aeus 5 --placement none "
                    "--no-hardware-threads --network-cores 2 --aeu-cpus 3,1 --memory-limit 4GiB "
                    "--incoming-buffer 2MiB --outgoing-buffer 8KiB "
                    "--memory-placement one_numa_node --memory-numa-node 2 --memory-spill "
                    "--huge-pages reserved --superblock 8MiB --memory-decay-ms 100 "
                    "--memory-kept 1MiB --memory-ready 0",
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
  EXPECT_EQ(options.memory_placement, MemoryPlacement::kOneNumaNode);
  EXPECT_EQ(options.memory_numa_node, 2u);
  EXPECT_TRUE(options.memory_spill);
  EXPECT_EQ(options.huge_pages, HugePages::kReserved);
  EXPECT_EQ(options.superblock_bytes, size_t{8} << 20);
  EXPECT_EQ(options.memory_decay_ms, 100u);
  EXPECT_EQ(options.memory_kept_bytes_max, uint64_t{1} << 20);
  EXPECT_EQ(options.memory_ready_bytes_max, 0u);
}

TEST(EngineFlagsTest, EveryNameIsItsValue) {
  const auto parsed = [](const std::string& flags) {
    Options options;
    options.memory_placement = MemoryPlacement::kOneNumaNode;
    options.huge_pages = HugePages::kReserved;
    options.memory_spill = true;
    EXPECT_TRUE(Parse(flags, options).ok()) << flags;
    return options;
  };
  EXPECT_EQ(parsed("--memory-placement local").memory_placement, MemoryPlacement::kLocal);
  EXPECT_EQ(parsed("--memory-placement interleaved").memory_placement,
            MemoryPlacement::kInterleaved);
  EXPECT_EQ(parsed("--huge-pages auto").huge_pages, HugePages::kAuto);
  EXPECT_EQ(parsed("--huge-pages shared").huge_pages, HugePages::kShared);
  EXPECT_EQ(parsed("--huge-pages advised").huge_pages, HugePages::kAdvised);
  EXPECT_EQ(parsed("--huge-pages none").huge_pages, HugePages::kNone);
  EXPECT_FALSE(parsed("--no-memory-spill").memory_spill);
}

TEST(EngineFlagsTest, TextThatDoesNotParseIsRefusedWithTheFlagsName) {
  Options options;
  for (const char* flags : {"--memory-limit lots", "--aeu-cpus 1,x", "--aeu-cpus 4294967296",
                            "--superblock big", "--memory-kept -1", "--memory-ready x"}) {
    const absl::Status status = Parse(flags, options);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << flags;
    EXPECT_EQ(status.message().find("--"), 0u) << status;
  }
}

}  // namespace
}  // namespace eris::cli
