// The whole server in a machine with several NumaNodes: `eris serve` as a process of its own
// answers a client over the loopback, its memory lies where it belongs, and SIGTERM ends it.
// ERIS_PROGRAM is the path of eris.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "clients/eris_client.h"
#include "tests/numa/page_locations.h"
#include "tests/numa/pool_ranges.h"
#include "topology/topology.h"

namespace eris::numa_lab {
namespace {

constexpr char kObject[] = "object";

class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* program = std::getenv("ERIS_PROGRAM");
    if (program == nullptr) GTEST_SKIP() << "ERIS_PROGRAM names no eris to start";
    port_file_ = testing::TempDir() + "eris-port-" + std::to_string(getpid());
    server_ = fork();
    if (server_ == 0) {
      execl(program, program, "serve", "--listen", "127.0.0.1:0", "--port-file", port_file_.c_str(),
            nullptr);
      _exit(127);
    }
    ASSERT_GT(server_, 0);
    const std::optional<std::string> port = AwaitPort();
    ASSERT_TRUE(port) << "the server did not start";
    address_ = "127.0.0.1:" + *port;
    auto client = client::Client::Connect({.server = address_});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }
  void TearDown() override {
    if (server_ > 0 && !ended_) kill(server_, SIGKILL), waitpid(server_, nullptr, 0);
  }

  // The limit only ends a test that has failed.
  std::optional<std::string> AwaitPort() {
    for (int attempt = 0; attempt < 3000; ++attempt) {
      std::string port;
      if (std::ifstream(port_file_) >> port) return port;
      int status = 0;
      if (waitpid(server_, &status, WNOHANG) == server_) {
        ended_ = true;
        return std::nullopt;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return std::nullopt;
  }

  // What `eris memory verify` prints about every page, and its exit code.
  struct Verified {
    std::string text;
    int exit_code = -1;
  };
  Verified Verify() {
    Verified verified;
    int output[2];
    if (pipe(output) != 0) return verified;
    const pid_t verify = fork();
    if (verify == 0) {
      dup2(output[1], STDOUT_FILENO);
      const char* program = std::getenv("ERIS_PROGRAM");
      execl(program, program, "--server", address_.c_str(), "memory", "verify", "--pages", "0",
            nullptr);
      _exit(127);
    }
    close(output[1]);
    char text[4096];
    for (ssize_t n = 0; (n = read(output[0], text, sizeof text)) > 0;) {
      verified.text.append(text, static_cast<size_t>(n));
    }
    close(output[0]);
    int status = 0;
    if (waitpid(verify, &status, 0) == verify && WIFEXITED(status)) {
      verified.exit_code = WEXITSTATUS(status);
    }
    return verified;
  }

  struct Planted {
    uintptr_t page = 0;
    uint32_t from = 0;
  };
  // Moves a page of the server's data to another NumaNode that has memory; nullopt: there is none.
  std::optional<Planted> MisplaceOne(const topology::Topology& topology) const {
    // Largest first: threads' stacks are bound, too, and no data.
    std::vector<PoolRange> ranges = PoolRanges(std::to_string(server_));
    std::sort(ranges.begin(), ranges.end(),
              [](const auto& a, const auto& b) { return a.bytes() > b.bytes(); });
    for (const PoolRange& range : ranges) {
      const auto other =
          std::find_if(topology.numa_nodes().begin(), topology.numa_nodes().end(),
                       [&](const topology::NumaNode& node) {
                         return node.memory_bytes > 0 && node.os_index != range.os_numa_node;
                       });
      if (other == topology.numa_nodes().end()) return std::nullopt;
      for (uintptr_t page = range.begin; page < range.end; page += kPageBytes) {
        if (MovePage(page, other->os_index, server_)) return Planted{page, range.os_numa_node};
      }
    }
    return std::nullopt;
  }

  std::string port_file_;
  std::string address_;
  pid_t server_ = -1;
  bool ended_ = false;
  std::unique_ptr<client::Client> client_;
};

TEST_F(ServerTest, AnswersClientsFromMemoryThatLiesWhereItBelongs) {
  constexpr uint64_t kKeys = 200'000;
  const absl::StatusOr<ObjectInfo> object = client_->Create(kObject, {.expected = {0, kKeys}});
  ASSERT_TRUE(object.ok()) << object.status();
  std::vector<uint64_t> keys(kKeys), values(kKeys);
  std::iota(keys.begin(), keys.end(), 0);
  for (uint64_t i = 0; i < kKeys; ++i) values[i] = i * 3;
  ASSERT_TRUE(client_->Write(*object, WriteMode::kUpsert, keys, values).ok());

  const absl::StatusOr<client::LookupResult> found = client_->Lookup(*object, keys);
  ASSERT_TRUE(found.ok()) << found.status();
  for (uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(found->found[i]) << i;
    ASSERT_EQ(found->rows.Uint64s(0)[i], i * 3) << i;
  }
  // Small calls, one after the other: each wakes an AEU that sleeps.
  for (uint64_t i = 0; i < 200; ++i) {
    const auto one = client_->Lookup(*object, {keys[i * 997]});
    ASSERT_TRUE(one.ok()) << one.status();
    ASSERT_EQ(one->rows.Uint64s(0)[0], i * 997 * 3);
  }
  uint64_t scanned = 0;
  const auto scan = client_->Scan(*object, {.range = {.lo = 1000, .hi = kKeys}});
  client::OwnedRows rows;
  for (;;) {
    const absl::StatusOr<bool> more = scan->Next(rows);
    ASSERT_TRUE(more.ok()) << more.status();
    if (!*more) break;
    for (const uint64_t key : rows.Uint64s(0)) ASSERT_EQ(key, 1000 + scanned++);
  }
  EXPECT_EQ(scanned, kKeys - 1000);
  ASSERT_TRUE(client_->Write(*object, WriteMode::kErase, KeyColumns(keys.data(), 1000)).ok());

  const absl::StatusOr<EngineStats> stats = client_->Stats();
  ASSERT_TRUE(stats.ok()) << stats.status();
  for (const AeuStats& aeu : stats->aeus) {
    EXPECT_GE(aeu.cpu, 0);
    EXPECT_GT(aeu.keys, 0u);
    EXPECT_GT(aeu.parks, 0u);  // it sleeps between calls
  }
  // As the kernel sees the server's pools from outside.
  uint64_t bound = 0, present = 0, reserved = 0;
  for (const NumaNodeStats& node : stats->numa_nodes) reserved += node.reserved_bytes;
  for (const PoolRange& range : PoolRanges(std::to_string(server_))) {
    bound += range.bytes();
    for (const auto& [numa_node, pages] : range.pages_on) {
      present += pages * range.page_bytes;
      EXPECT_EQ(numa_node, range.os_numa_node) << pages << " pages";
    }
  }
  const absl::StatusOr<topology::Topology> topology = topology::Topology::Discover();
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(stats->numa_nodes.size(), topology->numa_nodes().size());
  if (topology->numa_nodes().size() > 1) {
    EXPECT_LE(reserved, bound);
    EXPECT_GE(present, kKeys * sizeof(uint64_t));
  }

  Verified verified = Verify();
  EXPECT_EQ(verified.exit_code, 0) << verified.text;
  EXPECT_THAT(verified.text, testing::HasSubstr("100.00 %"));
  EXPECT_THAT(verified.text, testing::HasSubstr("all where they should be"));
  if (const auto planted = MisplaceOne(*topology)) {
    verified = Verify();
    EXPECT_EQ(verified.exit_code, 5) << verified.text;
    ASSERT_TRUE(MovePage(planted->page, planted->from, server_));
    verified = Verify();
    EXPECT_EQ(verified.exit_code, 0) << verified.text;
  } else {
    EXPECT_EQ(std::count_if(topology->numa_nodes().begin(), topology->numa_nodes().end(),
                            [](const auto& node) { return node.memory_bytes > 0; }),
              1)
        << "no page could be moved";
  }

  kill(server_, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(server_, &status, 0), server_);
  ended_ = true;
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace eris::numa_lab
