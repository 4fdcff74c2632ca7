#include "server/state/config.h"

#include <cstdio>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Refusal(absl::string_view text) {
  ServerConfig config;
  const absl::Status status = ApplyConfigText(text, "eris.toml", &config);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(status.message());
}

TEST(ConfigTest, EveryKeyReachesItsField) {
  ServerConfig config;
  const absl::Status status = ApplyConfigText(R"(
[server]
listen = "unix:/tmp/eris"
http = "[::1]:7412"
port_file = "/tmp/port"
drain_timeout_ms = 1
sample_interval_ms = 200
log_format = "json"
log_level = "error"
slow_call_ms = 299
call_ms_max = 300
stall_ms_max = 400
flight_snapshot_ms = 1001
advertise = "db1:7411"
receive_message_bytes_max = "64 KiB"
in_flight_bytes_max = "3MiB"
calls_per_connection_max = 4
metadata_bytes_max = 1024
stream_requests_max = 6
stream_bytes_max = 65537
keepalive_interval_ms = 1001
keepalive_timeout_ms = 1002
client_ping_interval_ms_min = 7
unix_mode = "0660"
connections_max = 8
connections_per_address_max = 9
handshake_ms_max = 1003
first_call_ms_max = 1004
connection_idle_ms_max = 1005
connection_age_ms_max = 1006
unused_bytes_max = "128 KiB"
cancelled_calls_max = 10
[engine]
topology = "numa:4 core:2 pu:1"
aeu_count = 8
placement = "sparse"
aeu_per_hardware_thread = true
network_cores = 1
aeu_cpus = [0, 2]
memory_limit_bytes = "4 GiB"
memory_placement = "one_numa_node"
memory_numa_node = 3
memory_spill = true
huge_pages = "shared"
superblock_bytes = "4 MiB"
memory_decay_ms = 11
memory_kept_bytes_max = "1 MiB"
memory_ready_bytes_max = 12
incoming_buffer_bytes = 65536
outgoing_buffer_bytes = "8 KiB"
session_in_flight_bytes_max = 2048
send_wait_ms_max = 9
scan_chunks_max = 10
version_bytes_max = "6 MiB"
snapshot_age_ms_max = 15
scan_slice_us = 16
[balancer]
enabled = false
algorithm = "moving_average"
window = 2
threshold = 0.125
period_ms = 13
max_pause_us = 14
max_bytes_per_s = "5 MiB"
[security]
tokens_file = "/t"
tls_cert = "/c"
tls_key = "/k"
tls_client_ca = "/a"
open = true
)",
                                              "eris.toml", &config);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(config.listen, "unix:/tmp/eris");
  EXPECT_EQ(config.http, "[::1]:7412");
  EXPECT_EQ(config.port_file, "/tmp/port");
  EXPECT_EQ(config.drain_timeout_ms, 1u);
  EXPECT_EQ(config.sample_interval_ms, 200u);
  EXPECT_EQ(config.log_format, LogFormat::kJson);
  EXPECT_EQ(config.log_level, LogLevel::kError);
  EXPECT_EQ(config.slow_call_ms, 299u);
  EXPECT_EQ(config.call_ms_max, 300u);
  EXPECT_EQ(config.stall_ms_max, 400u);
  EXPECT_EQ(config.flight_snapshot_ms, 1001u);
  EXPECT_EQ(config.advertise, "db1:7411");
  EXPECT_EQ(config.receive_message_bytes_max, 65536u);
  EXPECT_EQ(config.in_flight_bytes_max, 3u << 20);
  EXPECT_EQ(config.calls_per_connection_max, 4u);
  EXPECT_EQ(config.metadata_bytes_max, 1024u);
  EXPECT_EQ(config.stream_requests_max, 6u);
  EXPECT_EQ(config.stream_bytes_max, 65537u);
  EXPECT_EQ(config.keepalive_interval_ms, 1001u);
  EXPECT_EQ(config.keepalive_timeout_ms, 1002u);
  EXPECT_EQ(config.client_ping_interval_ms_min, 7u);
  EXPECT_EQ(config.unix_mode, "0660");
  EXPECT_EQ(config.connections_max, 8u);
  EXPECT_EQ(config.connections_per_address_max, 9u);
  EXPECT_EQ(config.handshake_ms_max, 1003u);
  EXPECT_EQ(config.first_call_ms_max, 1004u);
  EXPECT_EQ(config.connection_idle_ms_max, 1005u);
  EXPECT_EQ(config.connection_age_ms_max, 1006u);
  EXPECT_EQ(config.unused_bytes_max, 128u << 10);
  EXPECT_EQ(config.cancelled_calls_max, 10u);
  EXPECT_EQ(config.engine.topology, "numa:4 core:2 pu:1");
  EXPECT_EQ(config.engine.aeu_count, 8u);
  EXPECT_EQ(config.engine.placement, Placement::kSparse);
  EXPECT_TRUE(config.engine.aeu_per_hardware_thread);
  EXPECT_EQ(config.engine.network_cores, 1u);
  EXPECT_THAT(config.engine.aeu_cpus, ElementsAre(0, 2));
  EXPECT_EQ(config.engine.memory_limit_bytes, uint64_t{4} << 30);
  EXPECT_EQ(config.engine.memory_placement, MemoryPlacement::kOneNumaNode);
  EXPECT_EQ(config.engine.memory_numa_node, 3u);
  EXPECT_TRUE(config.engine.memory_spill);
  EXPECT_EQ(config.engine.huge_pages, HugePages::kShared);
  EXPECT_EQ(config.engine.superblock_bytes, 4u << 20);
  EXPECT_EQ(config.engine.memory_decay_ms, 11u);
  EXPECT_EQ(config.engine.memory_kept_bytes_max, 1u << 20);
  EXPECT_EQ(config.engine.memory_ready_bytes_max, 12u);
  EXPECT_EQ(config.engine.incoming_buffer_bytes, 65536u);
  EXPECT_EQ(config.engine.outgoing_buffer_bytes, 8192u);
  EXPECT_EQ(config.engine.session_in_flight_bytes_max, 2048u);
  EXPECT_EQ(config.engine.send_wait_ms_max, 9u);
  EXPECT_EQ(config.engine.scan_chunks_max, 10u);
  EXPECT_EQ(config.engine.version_bytes_max, 6u << 20);
  EXPECT_EQ(config.engine.snapshot_age_ms_max, 15u);
  EXPECT_EQ(config.engine.scan_slice_us, 16u);
  EXPECT_FALSE(config.engine.balancer.enabled);
  EXPECT_EQ(config.engine.balancer.algorithm, BalanceAlgorithm::kMovingAverage);
  EXPECT_EQ(config.engine.balancer.window, 2u);
  EXPECT_EQ(config.engine.balancer.threshold, 0.125);
  EXPECT_EQ(config.engine.balancer.period_ms, 13u);
  EXPECT_EQ(config.engine.balancer.max_pause_us, 14u);
  EXPECT_EQ(config.engine.balancer.max_bytes_per_s, 5u << 20);
  EXPECT_EQ(config.security.tokens_file, "/t");
  EXPECT_EQ(config.security.tls_cert, "/c");
  EXPECT_EQ(config.security.tls_key, "/k");
  EXPECT_EQ(config.security.tls_client_ca, "/a");
  EXPECT_TRUE(config.security.open);
  EXPECT_TRUE(ValidateConfig(config).ok());
}

TEST(ConfigTest, UnknownKeyIsRefusedByNameFileAndLine) {
  EXPECT_EQ(Refusal("[server]\nlisten = \"a:1\"\nlissten = \"b:2\"\n"),
            "eris.toml:3: unknown key lissten in section [server]; did you mean listen?");
  EXPECT_THAT(Refusal("\n[sever]\n"),
              HasSubstr("eris.toml:2: unknown section [sever]; did you mean [server]?"));
  EXPECT_THAT(Refusal("[limits]\n"), HasSubstr("the sections are [server], [engine], [balancer]"));
  EXPECT_THAT(Refusal("listen = \"a:1\"\n"), HasSubstr("eris.toml:1: unknown key listen"));
  EXPECT_THAT(Refusal("[engine]\nlisten = \"a:1\"\n"),
              HasSubstr("unknown key listen in section [engine]; it belongs in [server]"));
  EXPECT_THAT(Refusal("server = 3\n"), HasSubstr("must be a section"));
}

TEST(ConfigTest, WrongTypeIsRefusedByNameFileAndLine) {
  EXPECT_EQ(Refusal("[server]\ndrain_timeout_ms = \"soon\"\n"),
            "eris.toml:2: server.drain_timeout_ms is 'soon', must be an integer");
  EXPECT_THAT(Refusal("[server]\nlisten = 7411\n"), HasSubstr("listen is 7411, must be a text"));
  EXPECT_THAT(Refusal("[server]\ndrain_timeout_ms = 1.5\n"), HasSubstr("is 1.5, must be"));
  EXPECT_THAT(Refusal("[engine]\nplacement = \"spare\"\n"), HasSubstr("\"sparse\" or \"none\""));
  EXPECT_THAT(Refusal("[engine]\nplacement = 1\n"), HasSubstr("placement is 1"));
  EXPECT_THAT(Refusal("[engine]\nhuge_pages = \"some\"\n"),
              HasSubstr("\"auto\", \"reserved\", \"shared\", \"advised\" or \"none\""));
  EXPECT_THAT(Refusal("[engine]\nmemory_placement = \"\"\n"),
              HasSubstr("\"local\", \"interleaved\" or \"one_numa_node\""));
  EXPECT_THAT(Refusal("[engine]\naeu_per_hardware_thread = 1\n"), HasSubstr("true or false"));
  EXPECT_THAT(Refusal("[engine]\naeu_cpus = 1\n"), HasSubstr("an array of cpu numbers"));
  EXPECT_THAT(Refusal("[balancer]\nthreshold = \"0.5\"\n"), HasSubstr("must be a number"));
  EXPECT_THAT(Refusal("[balancer]\nthreshold = true\n"), HasSubstr("must be a number"));
  EXPECT_THAT(Refusal("[balancer]\nalgorithm = \"fair\"\n"),
              HasSubstr("\"one_shot\", \"moving_average\" or \"size\""));
  EXPECT_THAT(Refusal("[engine]\naeu_cpus = [1, -1]\n"), HasSubstr("between 0 and"));
  EXPECT_THAT(Refusal("[engine]\nmemory_limit_bytes = \"4 GB\"\n"), HasSubstr("\"4 GiB\""));
  EXPECT_THAT(Refusal("[engine]\nmemory_limit_bytes = \"99999999999 GiB\"\n"), HasSubstr("is"));
  EXPECT_THAT(Refusal("[engine]\naeu_count = \"4 KiB\"\n"), HasSubstr("must be an integer"));
}

TEST(ConfigTest, ValueOutOfRangeNamesTheLimits) {
  EXPECT_EQ(Refusal("[server]\nstream_requests_max = 0\n"),
            "eris.toml:2: server.stream_requests_max is 0, must be between 1 and 4096");
  EXPECT_THAT(Refusal("[server]\nin_flight_bytes_max = 5\n"), HasSubstr("at least 1048576"));
  EXPECT_THAT(Refusal("[server]\nsample_interval_ms = 99\n"), HasSubstr("0, or between 100 and"));
  EXPECT_THAT(Refusal("[engine]\naeu_count = -1\n"), HasSubstr("aeu_count is -1"));
  EXPECT_THAT(Refusal("[engine]\naeu_count = 4294967296\n"), HasSubstr("4294967295"));
  EXPECT_THAT(Refusal("[engine]\nsuperblock_bytes = \"64 MiB\"\n"),
              HasSubstr("must be between 2097152 and 33554432"));
  EXPECT_THAT(Refusal("[engine]\nmemory_decay_ms = 7\n"), HasSubstr("between 8 and 3600000"));
  EXPECT_EQ(Refusal("[balancer]\nthreshold = 0\n"),
            "eris.toml:2: balancer.threshold is 0, must be between 0.01 and 100");
  EXPECT_THAT(Refusal("[balancer]\nthreshold = nan\n"), HasSubstr("threshold is nan"));
  EXPECT_THAT(Refusal("[balancer]\nthreshold = 100.1\n"), HasSubstr("threshold is 100.1"));
  EXPECT_THAT(Refusal("[balancer]\nwindow = 65537\n"), HasSubstr("between 1 and 65536"));
  EXPECT_THAT(Refusal("[balancer]\nperiod_ms = 9\n"), HasSubstr("between 10 and 3600000"));
  EXPECT_THAT(Refusal("[balancer]\nmax_pause_us = 1000001\n"), HasSubstr("between 10 and 1000000"));
}

TEST(ConfigTest, SyntaxErrorNamesFileAndLine) {
  EXPECT_THAT(Refusal("[server]\nlisten = \n"), StartsWith("eris.toml:2: "));
}

TEST(ConfigTest, RefusedTextLeavesTheConfigurationAsItWas) {
  ServerConfig config;
  config.drain_timeout_ms = 77;
  EXPECT_FALSE(ApplyConfigText("[server]\ndrain_timeout_ms = 5\nlisten = 1\n", "x", &config).ok());
  EXPECT_EQ(config.drain_timeout_ms, 77u);
}

TEST(ConfigTest, LaterTextChangesOnlyWhatItNames) {
  ServerConfig config;
  ASSERT_TRUE(ApplyConfigText("[server]\ndrain_timeout_ms = 5\n", "a", &config).ok());
  ASSERT_TRUE(ApplyConfigText("[server]\nlisten = \"h:1\"\n", "b", &config).ok());
  EXPECT_EQ(config.drain_timeout_ms, 5u);
  EXPECT_EQ(config.listen, "h:1");
}

TEST(ConfigTest, DefaultTextIsTheDefaults) {
  ServerConfig config;
  const absl::Status status = ApplyConfigText(ConfigText({}), "defaults", &config);
  ASSERT_TRUE(status.ok()) << status;
  const ServerConfig defaults;
  EXPECT_EQ(config.listen, "127.0.0.1:7411");
  EXPECT_EQ(config.in_flight_bytes_max, defaults.in_flight_bytes_max);
  EXPECT_EQ(config.engine.scan_chunks_max, defaults.engine.scan_chunks_max);
  EXPECT_EQ(config.engine.balancer.algorithm, defaults.engine.balancer.algorithm);
  EXPECT_EQ(config.engine.balancer.threshold, defaults.engine.balancer.threshold);
  EXPECT_TRUE(ValidateConfig(defaults).ok());
}

// The names stand in the order of the enums' values; the engine's own defaults are printed.
TEST(ConfigTest, EveryNameIsItsValue) {
  const auto parsed = [](const std::string& line) {
    ServerConfig config;
    EXPECT_TRUE(ApplyConfigText("[engine]\n" + line, "x", &config).ok()) << line;
    return config.engine;
  };
  EXPECT_EQ(parsed("placement = \"dense\"").placement, Placement::kDense);
  EXPECT_EQ(parsed("placement = \"none\"").placement, Placement::kNone);
  EXPECT_EQ(parsed("memory_placement = \"local\"").memory_placement, MemoryPlacement::kLocal);
  EXPECT_EQ(parsed("memory_placement = \"interleaved\"").memory_placement,
            MemoryPlacement::kInterleaved);
  EXPECT_EQ(parsed("huge_pages = \"auto\"").huge_pages, HugePages::kAuto);
  EXPECT_EQ(parsed("huge_pages = \"reserved\"").huge_pages, HugePages::kReserved);
  EXPECT_EQ(parsed("huge_pages = \"advised\"").huge_pages, HugePages::kAdvised);
  EXPECT_EQ(parsed("huge_pages = \"none\"").huge_pages, HugePages::kNone);
  for (const char* line : {"placement = \"dense\"\n", "memory_placement = \"local\"\n",
                           "huge_pages = \"auto\"\n", "superblock_bytes = 2097152\n"}) {
    EXPECT_THAT(ConfigText({}), HasSubstr(line));
  }
}

TEST(ConfigTest, LimitsOfTimeHaveDefaultsMayBeNoneAndEndAtADay) {
  ServerConfig config;
  EXPECT_EQ(config.call_ms_max, 60'000u);
  EXPECT_EQ(config.stall_ms_max, 30'000u);
  EXPECT_TRUE(ApplyConfigText("[server]\ncall_ms_max = 0\nstall_ms_max = 0\n", "x", &config).ok());
  EXPECT_EQ(config.call_ms_max, 0u);
  EXPECT_EQ(config.stall_ms_max, 0u);
  EXPECT_TRUE(ValidateConfig(config).ok());
  EXPECT_THAT(Refusal("[server]\ncall_ms_max = 86400001\n"),
              HasSubstr("call_ms_max is 86400001, must be between 0 and 86400000"));
  EXPECT_THAT(Refusal("[server]\nstall_ms_max = -1\n"), HasSubstr("stall_ms_max is -1"));
}

TEST(ConfigTest, ValuesFromElsewhereAreValidated) {
  ServerConfig config;
  config.calls_per_connection_max = 0;
  EXPECT_THAT(std::string(ValidateConfig(config).message()),
              HasSubstr("server.calls_per_connection_max is 0, must be between 1 and 65536"));
  config = {};
  config.engine.balancer.threshold = 1000;
  EXPECT_EQ(std::string(ValidateConfig(config).message()),
            "balancer.threshold is 1000, must be between 0.01 and 100");
  config = {};
  config.engine.balancer.max_pause_us = 9;
  EXPECT_THAT(std::string(ValidateConfig(config).message()), HasSubstr("balancer.max_pause_us"));
  for (const char* listen :
       {"", "host", ":1", "host:", "host:http", "host:-1", "host:65536", "::1:7411", "[]:7411"}) {
    config = {};
    config.listen = listen;
    EXPECT_THAT(std::string(ValidateConfig(config).message()), HasSubstr("server.listen is"));
  }
  for (const char* listen : {"host:0", "[::1]:7411", "unix:/tmp/eris"}) {
    config = {};
    config.listen = listen;
    EXPECT_TRUE(ValidateConfig(config).ok()) << listen;
  }
}

TEST(ConfigTest, SeveralAddressesAreAnArrayOrATextWithCommas) {
  ServerConfig config;
  ASSERT_TRUE(
      ApplyConfigText("[server]\nlisten = [\"a:1\", \"unix:/tmp/b\"]\n", "x", &config).ok());
  EXPECT_EQ(config.listen, "a:1,unix:/tmp/b");
  EXPECT_TRUE(ValidateConfig(config).ok());
  ASSERT_TRUE(ApplyConfigText("[server]\nlisten = \"a:1, b:2\"\n", "x", &config).ok());
  EXPECT_TRUE(ValidateConfig(config).ok());
  config.listen = "a:1,b";
  EXPECT_THAT(std::string(ValidateConfig(config).message()),
              HasSubstr("server.listen is \"a:1,b\", must be host:port"));
  EXPECT_THAT(Refusal("[server]\nlisten = [\"a:1\", 7]\n"),
              HasSubstr("listen is an array with 7, must be texts in quotes"));
  EXPECT_THAT(Refusal("[server]\nhttp = [\"a:1\"]\n"), HasSubstr("http is an array, must be"));
}

TEST(ConfigTest, ModeOfASocketFileIsOctal) {
  ServerConfig config;
  for (const char* mode : {"0", "660", "0777"}) {
    config.unix_mode = mode;
    EXPECT_TRUE(ValidateConfig(config).ok()) << mode;
  }
  for (const char* mode : {"", "08", "rw", "1000", "00660"}) {
    config.unix_mode = mode;
    EXPECT_THAT(std::string(ValidateConfig(config).message()), HasSubstr("server.unix_mode is"))
        << mode;
  }
}

TEST(ConfigTest, AnAddressForClientsHasHostAndPort) {
  ServerConfig config;
  for (const char* advertise : {"", "db1:7411", "[::1]:1", "10.0.0.7:65535"}) {
    config.advertise = advertise;
    EXPECT_TRUE(ValidateConfig(config).ok()) << advertise;
  }
  for (const char* advertise : {"db1", ":7411", "db1:0", "db1:65536", "unix:/tmp/eris"}) {
    config.advertise = advertise;
    EXPECT_THAT(std::string(ValidateConfig(config).message()),
                HasSubstr(std::string("server.advertise is \"") + advertise + "\", must be host:"));
  }
}

// Before the engine takes its memory.
TEST(ConfigTest, FilesOfTlsAreGivenTogether) {
  const auto problem = [](const SecurityOptions& security) {
    ServerConfig config;
    config.security = security;
    return std::string(ValidateConfig(config).message());
  };
  EXPECT_EQ(problem({.tls_cert = "c"}), "security.tls_cert is set without security.tls_key");
  ServerConfig read;
  EXPECT_THAT(CheckConfigText("[security]\n\ntls_key = \"k\"\n", "f.toml", &read),
              ElementsAre("f.toml:3: security.tls_key is set without security.tls_cert"));
  EXPECT_EQ(problem({.tls_key = "k"}), "security.tls_key is set without security.tls_cert");
  EXPECT_EQ(problem({.tls_client_ca = "a"}),
            "security.tls_client_ca is set without security.tls_cert and security.tls_key");
  EXPECT_EQ(problem({.tls_cert = "c", .tls_key = "k", .tls_client_ca = "a"}), "");
}

TEST(ConfigTest, TheAddressOfThePageHasHostAndPort) {
  ServerConfig config;
  for (const char* http : {"", "127.0.0.1:0", "[::1]:7412", "db1:65535"}) {
    config.http = http;
    EXPECT_TRUE(ValidateConfig(config).ok()) << http;
  }
  for (const char* http : {"7412", "localhost", ":7412", "localhost:", "localhost:65536",
                           "localhost:-1", "::1:7412", "unix:/tmp/eris"}) {
    config.http = http;
    EXPECT_THAT(std::string(ValidateConfig(config).message()),
                HasSubstr(std::string("server.http is \"") + http + "\", must be host:"));
  }
}

TEST(ConfigTest, MissingFileIsNotFoundByName) {
  ServerConfig config;
  const absl::Status status = ApplyConfigFile("/nonexistent/eris.toml", &config);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nonexistent/eris.toml"));
}

TEST(ConfigTest, FileIsReadAndNamedInMessages) {
  const std::string path = testing::TempDir() + "/eris_config_test.toml";
  std::FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("[server]\nlisten = \"h:1\"\nbad = 1\n", file);
  std::fclose(file);
  ServerConfig config;
  EXPECT_THAT(std::string(ApplyConfigFile(path, &config).message()),
              StartsWith(path + ":3: unknown key bad"));
  std::remove(path.c_str());
}

TEST(ConfigTest, TheTextOfAConfigurationIsThatConfiguration) {
  ServerConfig config;
  config.engine.aeu_cpus = {4, 2};
  config.engine.topology = "numa:1 core:9 pu:1";
  config.port_file = "a \"quoted\" \\ path\n\x7f";
  config.engine.balancer.threshold = 0.125;
  ServerConfig read;
  ASSERT_TRUE(ApplyConfigText(ConfigText(config), "text", &read).ok());
  EXPECT_EQ(ConfigText(read), ConfigText(config));
  EXPECT_THAT(read.engine.aeu_cpus, ElementsAre(4, 2));
  EXPECT_EQ(read.port_file, config.port_file);
}

TEST(ConfigTest, TheTableHasARowForEveryKey) {
  const std::string table = OptionsTable();
  EXPECT_THAT(table,
              HasSubstr("| `aeu_count` | `--aeu-count`, `--aeus` | `ERIS_AEU_COUNT` | `0` |  |"));
  EXPECT_THAT(table, HasSubstr("| `threshold` | `--balancer-threshold` | `ERIS_BALANCER_THRESHOLD` "
                               "| `0.25` | 0.01 to 100 | "));
  EXPECT_THAT(table, HasSubstr("`ERIS_SUPERBLOCK_BYTES` | `2 MiB` | 2 MiB to 32 MiB | "));
  for (const ConfigOption& option : ConfigOptions()) {
    EXPECT_THAT(table, HasSubstr("| `" + option.key + "` | `" + option.flag + "`"));
  }
}

TEST(ConfigTest, ACheckNamesEveryErrorInTheOrderOfTheLines) {
  ServerConfig config;
  const std::vector<std::string> problems = CheckConfigText(
      "[server]\n"
      "lissten = \"x\"\n"
      "call_ms_max = 7\n"
      "drain_timeout_ms = soon\n"  // no TOML
      "http = \"7412\"\n"
      "[engine]\n"
      "placement = \"spare\"\n"
      "window = 3\n"
      "= 4\n",  // no TOML
      "eris.toml", &config);
  ASSERT_EQ(problems.size(), 6u) << testing::PrintToString(problems);
  EXPECT_THAT(problems[0], StartsWith("eris.toml:2: unknown key lissten"));
  EXPECT_THAT(problems[1], StartsWith("eris.toml:4: "));
  EXPECT_THAT(problems[2], StartsWith("eris.toml:7: engine.placement is 'spare'"));
  EXPECT_THAT(problems[3], StartsWith("eris.toml:8: unknown key window in section [engine]; it "
                                      "belongs in [balancer]"));
  EXPECT_THAT(problems[4], StartsWith("eris.toml:9: "));
  EXPECT_THAT(problems[5], StartsWith("eris.toml:5: server.http is \"7412\""));
  EXPECT_EQ(config.call_ms_max, 7u);  // what is right is applied
  EXPECT_EQ(CheckConfigText("[server]\n", "eris.toml", &config).size(), 1u);  // http, still
}

TEST(ConfigTest, ACheckOfManyErrorsHasAnEnd) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "= 1\n";
  ServerConfig config;
  EXPECT_EQ(CheckConfigText(text, "eris.toml", &config).size(), kConfigProblemsMax);
  // Errors at the end of the text, where there is no line to blame.
  for (const char* torn :
       {"[server", "[server]\nlisten = \"\"\"a\n", "[engine]\naeu_cpus = [1,\n"}) {
    EXPECT_GE(CheckConfigText(torn, "eris.toml", &config).size(), 1u) << torn;
  }
}

TEST(ConfigTest, ValuesKnowWhereTheyComeFrom) {
  ServerConfig config;
  ASSERT_TRUE(
      ApplyConfigText("[server]\n\nhttp = \"h:1\"\ncall_ms_max = 5\n", "a.toml", &config).ok());
  const auto option = [](absl::string_view name) -> const ConfigOption& {
    const auto found = FindOption(name);
    EXPECT_TRUE(found.ok()) << found.status();
    return **found;
  };
  ASSERT_TRUE(SetOption(option("call_ms_max"), "6", "ERIS_CALL_MS_MAX", &config).ok());
  EXPECT_EQ(OriginOf(option("server.http"), config), "a.toml:3");
  EXPECT_EQ(OriginOf(option("server.call_ms_max"), config), "ERIS_CALL_MS_MAX");
  EXPECT_EQ(OriginOf(option("server.listen"), config), "default");
  EXPECT_EQ(ValueText(option("server.http"), config), "\"h:1\"");
  // What is refused later names the place, too.
  ASSERT_TRUE(SetOption(option("http"), "7", "--http", &config).ok());
  EXPECT_THAT(std::string(ValidateConfig(config).message()),
              StartsWith("--http: server.http is \"7\""));
}

TEST(ConfigTest, OptionsAreFoundByNameAndByKey) {
  EXPECT_EQ((*FindOption("balancer.enabled"))->key, "enabled");
  EXPECT_EQ((*FindOption("enabled"))->section, "balancer");
  EXPECT_THAT(std::string(FindOption("server.call_ms_mx").status().message()),
              HasSubstr("did you mean server.call_ms_max?"));
  EXPECT_TRUE(absl::IsInvalidArgument(FindOption("").status()));
  for (const ConfigOption& option : ConfigOptions()) {
    const auto found = FindOption(option.name());
    ASSERT_TRUE(found.ok()) << option.name();
    EXPECT_EQ(*found, &option);
  }
}

TEST(ConfigTest, OptionsOfTheBalancerAndOfCallsAreLive) {
  for (const char* name : {"server.call_ms_max", "server.stall_ms_max", "server.sample_interval_ms",
                           "server.drain_timeout_ms", "server.stream_bytes_max",
                           "server.queue_ms_max", "server.log_level", "server.slow_call_ms",
                           "engine.task_scheduling", "balancer.threshold", "balancer.enabled"}) {
    EXPECT_TRUE((*FindOption(name))->live) << name;
  }
  for (const char* name : {"server.listen", "server.metadata_bytes_max", "engine.aeu_count",
                           "engine.memory_limit_bytes", "engine.scan_slice_us"}) {
    EXPECT_FALSE((*FindOption(name))->live) << name;
  }
}

}  // namespace
}  // namespace eris::server
