// An engine at the size that the project promises: 512 AEUs on 64 NumaNodes (a synthetic machine),
// stepped by hand, against std::map; and what all buffers together may take then.
//
// With A AEUs, N NumaNodes, O data objects, S sessions, incoming buffers of H bytes a half,
// outgoing buffers of B bytes, at most P bytes of them a Port, and batches of at most K keys:
//
//   incoming buffers  A * 2H                       reserved when the engine opens, untouched
//   outgoing buffers  (A + S + 1) * (P + 64 KiB)   at most: blocks are made when a command needs
//                                                  one; 64 KiB are the multicast buffers, the 1
//                                                  is the engine's own Port
//     their headers   A * 128 P/B + (S + 1) * 128 P/512 + (A + S + 1) * 16 KiB
//   a Port's tables   (A + S + 1) * 140 A          at most, for those who have addressed every AEU
//     keys under way  (S + 1) * 20 K + A * 20 B/12 of the largest batch yet; of a full record
//   data, at least    N * O * 2 MiB                a superblock where an object has rows; with
//                                                  the incoming buffers below
//                                                  memory_limit_bytes
//
// All but the last, with the default options, 512 AEUs and 16 sessions, must stay below 4 GiB.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/cache_line.h"
#include "engine/engine_impl.h"
#include "memory/size_class.h"
#include "routing/block_pool.h"
#include "storage/tree/tree_run.h"
#include "tests/sim/aeu_peer.h"
#include "tests/support/any_model.h"
#include "tests/support/any_object.h"
#include "tests/support/hand_engine.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"
#include "tests/support/test_reply.h"

namespace eris {
namespace {

constexpr uint32_t kManyAeus = 512;
constexpr uint32_t kNumaNodes = 64;
constexpr uint32_t kSessions = 4;
constexpr uint32_t kPartitions = 700;
constexpr uint64_t kLargestKey = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kMiB = 1 << 20;
constexpr size_t kMulticastBytes = 64 << 10;  // of a Port

// Sanitizers take their time, and memory of their own.
using test::kSanitized;
constexpr int kRounds = test::Fewer(200, 100);

// The bytes of all buffers, as explained at the head of this file.
uint64_t BufferBytesMax(const Options& options, uint64_t aeus, uint64_t sessions) {
  const uint64_t outgoing = options.outgoing_buffer_bytes;
  const uint64_t port = options.port_buffers_bytes_max;
  const uint64_t outside = sessions + 1;
  const uint64_t ports = aeus + outside;
  constexpr uint64_t kSmallest = 512;  // block of a Port outside the engine
  const uint64_t blocks = ports * (port + kMulticastBytes);
  const uint64_t headers =
      routing::Block::RecordsAt() * (aeus * (port / outgoing) + outside * (port / kSmallest) +
                                     ports * (kMulticastBytes / kSmallest));
  // The index of each AEU's target; targets, cursors and three lists of them, which grow by
  // doubling.
  const uint64_t tables = ports * aeus * (4 + 2 * (24 + 32 + 3 * 4));
  const uint64_t keys = 20 * (outside * kBatchKeysMax + aeus * (outgoing / 12));
  return aeus * 2 * options.incoming_buffer_bytes + blocks + headers + tables + keys;
}

uint64_t ResidentBytes() {
  uint64_t all_pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> all_pages >> resident_pages;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Anything but even: single keys at both ends, powers of two, a dense stretch, and some anywhere.
std::vector<uint64_t> UnevenSplitPoints(std::mt19937_64& random) {
  std::set<uint64_t> points = {kLargestKey, kLargestKey - 1};
  for (uint64_t i = 1; i <= 100; ++i) points.insert(i);
  for (int bit = 7; bit < 64; ++bit) points.insert(uint64_t{1} << bit);
  for (uint64_t i = 0; i < 200; ++i) points.insert((uint64_t{1} << 40) + 3 * i);
  while (points.size() < kPartitions - 1) points.insert(random() | 1);
  return {points.begin(), points.end()};
}

class ManyAeusTest : public testing::Test {
 protected:
  static void Sized(Options& options) {
    const Options defaults;
    options.topology = "numa:64 core:8 pu:1";
    options.memory_limit_bytes = 2048 * kMiB;
    options.incoming_buffer_bytes = defaults.incoming_buffer_bytes;
    options.outgoing_buffer_bytes = defaults.outgoing_buffer_bytes;
    options.port_buffers_bytes_max = defaults.port_buffers_bytes_max;
    options.send_wait_ms_max = 60'000;  // a stepper that lost its core refuses nobody
  }

  // Most AEUs have nothing to do most of the time.
  void StepThoseWithWork() {
    bool worked = false;
    for (uint32_t i = 0; i < kManyAeus; ++i) {
      aeu::Aeu& aeu = engine_->aeu({i});
      if (aeu.HasWork()) worked |= aeu.Step({});
    }
    if (!worked) sched_yield();
  }
  // Steps until `call`, on another thread, has returned.
  template <class Call>
  void StepWhile(Call call) {
    std::atomic<bool> done{false};
    std::thread thread([&] {
      call();
      done.store(true);
    });
    while (!done.load()) StepThoseWithWork();
    thread.join();
  }
  void StepUntilIdle() {
    const auto has_work = [&](uint32_t i) { return engine_->aeu({i}).HasWork(); };
    for (uint32_t i = 0; i < kManyAeus;) {
      if (has_work(i)) {
        StepThoseWithWork();
        i = 0;
      } else {
        ++i;
      }
    }
  }
  void CreateUneven() {
    CreateOptions options;
    options.split_points = UnevenSplitPoints(random_);
    StepWhile([&] { starts_ = test::OrDie(engine_->Create("o", options)).partition_starts; });
    ASSERT_EQ(starts_.size(), kPartitions);
  }
  uint64_t ReservedBytes() {
    uint64_t bytes = 0;
    for (const NumaNodeStats& one : engine_->Stats().numa_nodes) bytes += one.reserved_bytes;
    return bytes;
  }
  // Sent == delivered, and of each AEU delivered == answered + forwarded. Returns the forwarded.
  uint64_t ExpectNothingLost() {
    const EngineStats stats = engine_->Stats();
    uint64_t sent = stats.sessions_routing.sent, delivered = 0, forwarded = 0;
    for (const AeuStats& one : stats.aeus) {
      EXPECT_EQ(one.routing.delivered, one.routing.answered + one.routing.forwarded)
          << "AEU " << one.id.value;
      sent += one.routing.sent;
      delivered += one.routing.delivered;
      forwarded += one.routing.forwarded;
    }
    EXPECT_EQ(sent, delivered);
    EXPECT_EQ(stats.sessions_routing.refused, 0u);
    return forwarded;
  }

  std::mt19937_64 random_{test::Seed()};
  test::HandEngine engine_{kManyAeus, &ManyAeusTest::Sized};
  std::vector<uint64_t> starts_;
};

// One calling thread's part of the keys, and what it expects of them.
class Caller {
 public:
  Caller(Engine& engine, const std::vector<uint64_t>& starts, uint32_t self)
      : model_(engine, test::AnyKind::kIndex, "o"), random_(test::Seed() + 1 + self), self_(self) {
    for (const uint64_t start : starts) {
      for (const uint64_t key : {start - 1, start, start + 1}) {  // wraps: 0 and 2^64-1
        if (OwnerOf(key) == self_) boundaries_.push_back(key);
      }
    }
  }
  static uint32_t OwnerOf(uint64_t key) {
    return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15u) >> 32) % kSessions;
  }
  void UpsertBoundaries() { Run(WriteMode::kUpsert, boundaries_); }
  void RunRound(int round) {
    // Mostly small ones; now and then far more than one pass of all AEUs' buffers holds.
    const size_t n = round % 50 == 49 ? 100'000 : 1 + random_() % (round % 2 == 0 ? 16 : 3000);
    std::vector<uint64_t> keys(n);
    for (uint64_t& key : keys) key = NextKey();
    std::optional<WriteMode> mode;
    if (random_() % 4 > 0) mode = random_() % 3 > 0 ? WriteMode::kUpsert : WriteMode::kErase;
    Run(mode, keys);
  }
  void LookupAll() {
    std::vector<uint64_t> keys = boundaries_;
    for (const auto& [key, value] : model_.rows()) keys.push_back(key.first);
    std::shuffle(keys.begin(), keys.end(), random_);
    Run(std::nullopt, keys);
  }
  const std::map<test::AnyKey, uint64_t>& rows() const { return model_.rows(); }

 private:
  uint64_t NextKey() {
    const uint64_t kind = random_() % 4;
    if (kind == 0) return boundaries_[random_() % boundaries_.size()];
    if (kind == 1 && !model_.rows().empty()) {  // one that is there, or next to it
      const auto at = model_.rows().lower_bound({random_(), 0});
      return at == model_.rows().end() ? model_.rows().begin()->first.first : at->first.first;
    }
    for (;;) {
      const uint64_t key = random_() >> (kind == 2 ? random_() % 64 : 0);
      if (OwnerOf(key) == self_) return key;
    }
  }
  void Run(std::optional<WriteMode> mode, const std::vector<uint64_t>& keys) {
    test::AnyRows rows;
    for (const uint64_t key : keys) rows.push_back({{key, 0}, random_()});
    model_.Run(mode, rows);
  }

  test::AnyModel model_;
  std::mt19937_64 random_;
  const uint32_t self_;
  std::vector<uint64_t> boundaries_;
};

TEST_F(ManyAeusTest, SessionsAreAnsweredAsByAMap) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  const uint64_t incoming_bytes = kManyAeus * 2 * Options().incoming_buffer_bytes;
  EXPECT_EQ(ReservedBytes(), incoming_bytes);
  const uint64_t resident_before = ResidentBytes();
  CreateUneven();
  EXPECT_EQ(ReservedBytes(), incoming_bytes);  // no row yet

  std::vector<std::unique_ptr<Caller>> callers;
  for (uint32_t i = 0; i < kSessions; ++i) {
    callers.push_back(std::make_unique<Caller>(*engine_, starts_, i));
  }
  StepWhile([&] {
    std::vector<std::thread> threads;
    for (const auto& caller : callers) {
      threads.emplace_back([&caller] {
        caller->UpsertBoundaries();
        for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
          caller->RunRound(round);
        }
        caller->LookupAll();
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  ASSERT_FALSE(HasFailure());
  const uint64_t grown = ResidentBytes() - std::min(resident_before, ResidentBytes());
  RecordProperty("resident_mib_grown", static_cast<int>(grown / kMiB));
  if (!kSanitized) {
    // Each AEU has a span for each size of a run, few as its rows are.
    const uint64_t spans = kManyAeus * storage::kRunSizes * memory::kSpanBytes;
    EXPECT_LT(grown, BufferBytesMax({}, kManyAeus, kSessions) / 8 + spans);
  }

  EXPECT_GE(ReservedBytes(), incoming_bytes + kNumaNodes * memory::kSuperblockBytes);

  std::map<test::AnyKey, uint64_t> model;
  for (const auto& caller : callers) model.insert(caller->rows().begin(), caller->rows().end());
  const test::AnyRows expected(model.begin(), model.end());
  test::AnyRows rows;
  StepWhile(
      [&] { rows = test::OrDie(test::AnyObject(*engine_, test::AnyKind::kIndex, "o").All()); });
  EXPECT_TRUE(rows == expected) << rows.size() << " rows, not " << expected.size();

  StepUntilIdle();
  EXPECT_EQ(ExpectNothingLost(), 0u);
  for (const AeuStats& one : engine_->Stats().aeus) {
    EXPECT_GT(one.keys, 0u) << "AEU " << one.id.value << " was asked nothing";
  }
}

// What a sender with an outdated table starts while ranges move: each key comes to an AEU that has
// just given it away, goes on through that AEU's Port into another's incoming buffer, and is
// answered from there.
TEST_F(ManyAeusTest, KeysSentToTheirOldAeusAreAnsweredByTheirOwners) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  CreateUneven();
  const engine::ObjectRef object = *engine_->core().catalogue.Find("o");
  const auto table = object->route.Pin();
  // The next AEU but some, on another NumaNode. A huge page of incoming buffer becomes resident at
  // each owner: not of all 512 in a test.
  std::vector<AeuId> wrong = table->owners();
  for (AeuId& owner : wrong) owner.value = (owner.value + 37) % kManyAeus;
  const routing::ObjectRoute outdated(
      object->route.slot(), object->route.object(),
      std::make_unique<const routing::RangeTable>(1, table->starts(), std::move(wrong)));
  constexpr uint32_t kOwners = 40;
  for (uint32_t i = 300; i < 300 + kOwners; ++i) {
    const size_t partition = table->PartitionOf(starts_[i]);
    const AeuId old{(table->owners()[partition].value + 37) % kManyAeus};
    aeu::ObjectSlot* const slot = aeu::AeuTestPeer::SlotOf(engine_->aeu(old), object->route);
    ASSERT_NE(slot, nullptr);
    aeu::Stub stub{table->RangeOf(partition), table->owners()[partition], table->version() + 1};
    if (slot->stub() && slot->stub()->target == stub.target) stub.range.lo = slot->stub()->range.lo;
    slot->SetStub(stub);
  }
  const auto key = [&] { return starts_[300 + random_() % kOwners]; };

  const uint64_t resident_before = ResidentBytes();
  routing::Port port(engine_->core().directory, engine_->core().port_options());
  std::map<uint64_t, uint64_t> model;
  uint64_t keys_sent = 0;
  for (int round = 0; round < 50; ++round) {
    const bool upsert = round % 2 == 0;
    const size_t n = 1 + random_() % (round % 5 == 0 ? 2000 : 50);
    std::vector<uint64_t> keys(n), values(n);
    for (size_t i = 0; i < n; ++i) keys[i] = key(), values[i] = random_();
    test::TestReply reply(n);
    ASSERT_EQ(
        port.Send(
            outdated,
            {.type = upsert ? routing::CommandType::kUpsert : routing::CommandType::kLookup,
             .keys = keys,
             .values = upsert ? std::span<const uint64_t>(values) : std::span<const uint64_t>(),
             .complete = &test::TestReply::Answered,
             .context = &reply},
            storage::KeyState::kRefused),
        0u);
    port.Flush();
    StepUntilIdle();
    ASSERT_EQ(reply.answered, n);
    keys_sent += n;
    for (size_t i = 0; i < n; ++i) {
      const bool there = model.contains(keys[i]);
      ASSERT_EQ(reply.state_column[i],
                there ? storage::KeyState::kPresent : storage::KeyState::kAbsent);
      if (upsert) {
        model[keys[i]] = values[i];
      } else if (there) {
        ASSERT_EQ(reply.value_column[i], model[keys[i]]);
      }
    }
  }
  EXPECT_EQ(ExpectNothingLost(), keys_sent);
  const uint64_t grown = ResidentBytes() - std::min(resident_before, ResidentBytes());
  RecordProperty("resident_mib_grown", static_cast<int>(grown / kMiB));
  if (!kSanitized) {
    EXPECT_LT(grown, BufferBytesMax({}, kManyAeus, 0) / 8);
  }
}

TEST_F(ManyAeusTest, BuffersStayBelowFourGibibytes) {
  EXPECT_LE(BufferBytesMax({}, kManyAeus, 16), uint64_t{4} << 30);

  // The bound of a Port's blocks is what a Port keeps to that can send no more.
  routing::PortOptions options = engine_->core().port_options();
  options.wait_ns = 0;
  routing::Port port(engine_->core().directory, options);
  std::vector<AeuId> all;
  for (uint32_t i = 0; i < kManyAeus; ++i) all.push_back({i});
  // Drops of an object that no AEU has, so large that a block holds one of them.
  std::vector<std::byte> segment(4096 - sizeof(routing::CommandHeader));
  test::TestReply reply(1);
  const routing::CommandHeader drop{.type = routing::CommandType::kDrop,
                                    .object = ObjectId{1u << 30},
                                    .complete = &test::TestReply::Answered,
                                    .context = &reply,
                                    .count = 1};
  std::vector<AeuId> refused;
  uint64_t sent = 0;
  for (uint32_t i = 0; refused.empty() && i < 1000; ++i) {
    port.Multicast(all, drop, segment, refused);
    sent += all.size();
  }
  EXPECT_FALSE(refused.empty());
  sent -= refused.size();
  bool room = true;
  segment.resize(options.outgoing_bytes - sizeof(routing::CommandHeader));
  for (uint32_t i = 0; room && i < 1000; ++i) {
    room = port.SendTo({i % kManyAeus}, drop, segment);
    sent += room ? 1 : 0;
  }
  EXPECT_FALSE(room);
  port.Flush();
  EXPECT_LE(port.allocated_bytes(), options.pool_bytes_max + kMulticastBytes);
  EXPECT_GE(port.allocated_bytes(), options.pool_bytes_max);
  StepUntilIdle();
  EXPECT_EQ(reply.answered, sent);
  EXPECT_EQ(port.outstanding(), 0u);
}

}  // namespace
}  // namespace eris
