#include "clients/cli/text/option_flags.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/unit/clients/command_line.h"

namespace eris::cli {
namespace {

template <class Config>
absl::Status Parse(const std::string& command_line, Config& options) {
  OptionFlags flags;
  Flags verb("test");
  if constexpr (std::is_same_v<Config, Options>) {
    flags.AddEngineTo(verb);
  } else {
    flags.AddAllTo(verb);
  }
  if (absl::Status status = verb.Parse(ArgumentsOf(command_line)); !status.ok()) return status;
  return flags.Apply(options);
}

TEST(OptionFlagsTest, FlagsThatAreNotGivenChangeNothing) {
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

TEST(OptionFlagsTest, EveryFlagReachesItsOption) {
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

TEST(OptionFlagsTest, EveryNameIsItsValue) {
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

TEST(OptionFlagsTest, SwitchesNeedNoValue) {
  const auto parsed = [](const std::string& flags) {
    server::ServerConfig config;
    EXPECT_TRUE(Parse(flags, config).ok()) << flags;
    return config;
  };
  EXPECT_FALSE(parsed("").security.open);
  EXPECT_TRUE(parsed("--security-open").security.open);
  EXPECT_TRUE(parsed("--security-open --aeus 2").security.open);
  EXPECT_TRUE(parsed("--security-open true").security.open);
  EXPECT_FALSE(parsed("--security-open=false").security.open);
  EXPECT_FALSE(parsed("--balancer-enabled false").engine.balancer.enabled);
}

TEST(OptionFlagsTest, TextThatDoesNotParseIsRefusedWithTheFlagsName) {
  Options options;
  for (const char* flags :
       {"--memory-limit lots", "--aeu-cpus 1,x", "--aeu-cpus 4294967296", "--superblock big",
        "--memory-kept -1", "--memory-ready x", "--aeus 1KiB", "--scan-slice-us 0"}) {
    const absl::Status status = Parse(flags, options);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << flags;
    EXPECT_EQ(status.message().find("--"), 0u) << status;
  }
  EXPECT_EQ(std::string(Parse("--superblock 64MiB", options).message()),
            "--superblock-bytes: engine.superblock_bytes is 67108864, must be between 2097152 and "
            "33554432");
}

// A text that sets the option to another value than its default, and one that it refuses.
std::pair<std::string, std::string> TextsFor(const server::ConfigOption& option) {
  if (option.type == "BOOLEAN") return {option.standard == "true" ? "false" : "true", "perhaps"};
  if (!option.choices.empty()) return {option.choices.back(), "none of them"};
  if (option.type == "TEXT") return {"localhost:1", ""};
  if (option.type == "CPU,...") return {"7,3", "7,x"};
  if (option.type == "FLOAT") return {"0.375", "much"};
  if (option.key == "metadata_bytes_max") return {"3 KiB", "2 MiB"};
  if (option.type == "BYTES") return {"3 MiB", "3 MB"};
  return {option.key == "callback_threads" || option.key == "window" ? "3" : "2345", "-1"};
}

TEST(OptionFlagsTest, EveryOptionIsReachedByItsFlagItsShortNameItsVariableAndTheFile) {
  const std::string defaults = server::ConfigText({});
  for (const server::ConfigOption& option : server::ConfigOptions()) {
    const auto& [good, bad] = TextsFor(option);
    server::ServerConfig by_file;
    const std::string value = option.type == "TEXT" || option.type == "BYTES" ? "\"" + good + "\""
                              : option.type == "CPU,..."                      ? "[" + good + "]"
                                                                              : good;
    const absl::Status filed = server::ApplyConfigText(
        "[" + option.section + "]\n" + option.key + " = " + value + "\n", "file", &by_file);
    ASSERT_TRUE(filed.ok()) << filed;
    const std::string expected = server::ConfigText(by_file);
    EXPECT_NE(expected, defaults) << option.key;

    const auto apply = [&](const std::vector<std::string>& arguments, absl::Status& status) {
      OptionFlags flags;
      Flags verb("test");
      flags.AddAllTo(verb);
      server::ServerConfig config;
      status = verb.Parse(arguments);
      if (status.ok()) status = flags.Apply(config);
      return server::ConfigText(config);
    };
    absl::Status status;
    for (const std::string& name : {option.flag, option.alias}) {
      if (name.empty()) continue;
      EXPECT_EQ(apply({name + "=" + good}, status), expected) << name << ": " << status;
      if (bad.empty()) continue;
      EXPECT_EQ(apply({name + "=" + bad}, status), defaults);
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << name << "=" << bad;
    }
    setenv(option.variable.c_str(), good.c_str(), 1);
    EXPECT_EQ(apply({}, status), expected) << option.variable << ": " << status;
    if (!bad.empty()) {
      setenv(option.variable.c_str(), bad.c_str(), 1);
      EXPECT_EQ(apply({}, status), defaults);
      EXPECT_EQ(status.message().find(option.variable + ": "), 0u) << status;
    }
    unsetenv(option.variable.c_str());
  }
}

TEST(OptionFlagsTest, FlagsOverrideTheEnvironmentAndThatTheFile) {
  server::ServerConfig config;
  config.engine.aeu_count = 1;
  config.engine.scan_chunks_max = 2;
  config.engine.scan_slice_us = 3;
  setenv("ERIS_AEU_COUNT", "10", 1);
  setenv("ERIS_SCAN_CHUNKS_MAX", "20", 1);
  setenv("ERIS_TOPOLOGY", "", 1);  // as if it were not set
  OptionFlags flags;
  Flags verb("test");
  flags.AddAllTo(verb);
  ASSERT_TRUE(verb.Parse({"--aeus", "100"}).ok());
  ASSERT_TRUE(flags.Apply(config).ok());
  unsetenv("ERIS_AEU_COUNT");
  unsetenv("ERIS_SCAN_CHUNKS_MAX");
  unsetenv("ERIS_TOPOLOGY");
  EXPECT_EQ(config.engine.aeu_count, 100u);
  EXPECT_EQ(config.engine.scan_chunks_max, 20u);
  EXPECT_EQ(config.engine.scan_slice_us, 3u);
}

}  // namespace
}  // namespace eris::cli
