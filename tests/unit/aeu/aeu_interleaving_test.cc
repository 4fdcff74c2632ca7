// Seeded simulation in one thread: several AEUs with tiny buffers and several sources of commands,
// some with tables that are wrong; a seeded scheduler decides who goes on next. One command per key
// is under way at a time, so a key's answers are exactly those of a map. A scan is exact on the
// keys that nobody wrote while it ran. ERIS_SEED=n runs that one seed again.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/aeu_lab.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

namespace eris::aeu {
namespace {

using routing::CommandType;
using routing::ObjectRoute;
using routing::PartOutcome;
using storage::Key;
using storage::KeyState;
using test::TestReply;
using test::TestScanPart;

constexpr uint64_t kSeeds = test::Fewer(500, 100);
constexpr int kBatchesOfASeed = 80;
constexpr int kStepsMax = 200'000;

test::LabMemory& Memory() {
  static test::LabMemory memory;
  return memory;
}

class Simulation {
 public:
  explicit Simulation(uint64_t seed)
      : random_(seed),
        aeus_(1 + static_cast<uint32_t>(random_() % 8)),
        lab_(Memory(), aeus_, random_() % 2 == 0 ? 64 << 10 : 4 << 10,
             random_() % 2 == 0 ? 4 << 10 : 1 << 10),
        keys_(200 + random_() % 5000) {
    // Every AEU has a range, so that none takes the object for unknown.
    std::vector<uint64_t> starts = RandomStarts();
    while (starts.size() < aeus_) starts = RandomStarts();
    std::vector<AeuId> owners = RandomOwners(starts.size());
    for (uint32_t i = 0; i < aeus_; ++i) owners[i] = {i};
    std::shuffle(owners.begin(), owners.end(), random_);
    route_ = &lab_.Create(3, {5}, starts, owners);
    for (uint64_t i = 1 + random_() % 4; i > 0; --i) {
      Source source;
      source.client = std::make_unique<test::LabClient>(lab_);
      if (random_() % 2 == 0) {
        const auto stale_starts = RandomStarts();
        const auto stale_owners = RandomOwners(stale_starts.size());
        source.stale = std::make_unique<ObjectRoute>(
            3, ObjectId{5}, std::make_unique<routing::RangeTable>(0, stale_starts, stale_owners));
      }
      sources_.push_back(std::move(source));
    }
    // Some AEUs are slow.
    for (uint32_t i = 0; i < aeus_; ++i) weights_.push_back(1 + random_() % 8);
  }

  void Run() {
    int steps = 0;
    while (batches_left_ > 0 || !batches_.empty() || scan_) {
      ASSERT_LT(++steps, kStepsMax)
          << "something never ends: " << batches_.size() << " batches, " << batches_left_
          << " to come, " << (scan_ ? "a scan" : "no scan");
      switch (random_() % dice_) {
        case 0:
          SendAgain();
          if (batches_left_ > 0 && batches_.size() < 40) StartBatch();
          break;
        case 1:
          if (scan_) {
            ReadScan();
          } else if (batches_left_ > 0 && random_() % 4 == 0) {
            StartScan();
          }
          break;
        default:
          StepOne();
      }
      for (size_t i = 0; i < batches_.size();) {
        Batch& batch = *batches_[i];
        if (batch.waits || batch.reply->answered < batch.expected) {
          ++i;
          continue;
        }
        ASSERT_EQ(batch.reply->answered, batch.expected) << "answered twice";
        if (EndBatch(batch)) {
          batches_[i] = std::move(batches_.back());
          batches_.pop_back();
        }
        if (testing::Test::HasFatalFailure()) return;
      }
      if (testing::Test::HasFatalFailure()) return;
    }
    lab_.Settle();
    for (uint32_t i = 0; i < aeus_; ++i) {
      ASSERT_FALSE(lab_[i].HasWork());
      moved_ += lab_[i].counters().redirected.Read();
    }
    CheckEverything();
  }

  uint64_t moved() const { return moved_; }
  uint64_t scans() const { return scans_; }

 private:
  struct Source {
    std::unique_ptr<test::LabClient> client;
    std::unique_ptr<ObjectRoute> stale;  // nullptr: knows the right table
  };
  struct Batch {
    CommandType type;
    size_t source;
    std::vector<uint64_t> keys;
    std::vector<uint64_t> values;
    std::unique_ptr<TestReply> reply;
    uint64_t expected = 0;  // keys answered when the round under way has ended
    bool waits = false;     // for its source to send it again
  };
  struct Scan {
    TestScanPart part{2, 16};
    uint64_t lo, hi;        // still to be asked for
    uint64_t asked_hi = 0;  // of the part that is out
    uint64_t from, to;
    std::map<uint64_t, uint64_t> before;
    std::map<uint64_t, uint64_t> rows;
    std::set<uint64_t> written;  // while it runs: nothing is said about these
    uint64_t parts = 0;
  };

  std::vector<uint64_t> RandomStarts() {
    std::set<uint64_t> starts{0};
    for (uint64_t i = random_() % (3 * aeus_); i > 0; --i) starts.insert(1 + random_() % keys_);
    return {starts.begin(), starts.end()};
  }
  std::vector<AeuId> RandomOwners(size_t n) {
    std::vector<AeuId> owners;
    for (size_t i = 0; i < n; ++i) owners.push_back({static_cast<uint32_t>(random_() % aeus_)});
    return owners;
  }

  void StepOne() {
    uint64_t ticket = 0;
    for (const uint64_t weight : weights_) ticket += weight;
    ticket = random_() % ticket;
    uint32_t aeu = 0;
    while (ticket >= weights_[aeu]) ticket -= weights_[aeu++];
    // Slices of the least length there is, or without an end: the clock decides nothing.
    const uint64_t scan_ns = random_() % 2 == 0 ? 0 : 1'000'000'000'000'000;
    lab_[aeu].Step({.scan_ns = scan_ns});
  }

  void StartBatch() {
    auto batch = std::make_unique<Batch>();
    batch->type = static_cast<CommandType>(1 + random_() % 3);
    batch->source = random_() % sources_.size();
    for (uint64_t n = 1 + random_() % 300; n > 0; --n) {
      const uint64_t key = random_() % keys_;
      if (!busy_.insert(key).second) continue;
      batch->keys.push_back(key);
      if (batch->type == CommandType::kUpsert) batch->values.push_back(random_());
      if (batch->type != CommandType::kLookup && scan_) scan_->written.insert(key);
    }
    if (batch->keys.empty()) return;
    --batches_left_;
    batch->reply = std::make_unique<TestReply>(batch->keys.size());
    std::vector<uint32_t> all(batch->keys.size());
    for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    batches_.push_back(std::move(batch));
    Source& source = sources_[batches_.back()->source];
    SendBatch(*batches_.back(), all, source.stale ? *source.stale : *route_);
  }

  void SendBatch(Batch& batch, const std::vector<uint32_t>& positions, const ObjectRoute& route) {
    std::vector<uint64_t> keys, values;
    for (const uint32_t position : positions) {
      batch.reply->states[position] = KeyState::kPending;
      keys.push_back(batch.keys[position]);
      if (!batch.values.empty()) values.push_back(batch.values[position]);
    }
    batch.expected += positions.size();
    sources_[batch.source].client->Send(route, batch.type, keys, values, *batch.reply, positions);
  }

  // By the table in force, as a source reads it anew.
  void SendAgain() {
    for (const auto& batch : batches_) {
      if (!batch->waits || random_() % 2 == 0) continue;
      batch->waits = false;
      std::vector<uint32_t> all(batch->keys.size());
      for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
      SendBatch(*batch, all, *route_);
    }
  }

  // False: keys that were moved or refused wait to be sent again.
  bool EndBatch(Batch& batch) {
    std::vector<uint32_t> again;
    for (uint32_t i = 0; i < batch.keys.size(); ++i) {
      const uint64_t key = batch.keys[i];
      const KeyState state = batch.reply->states[i];
      if (state == KeyState::kMoved || state == KeyState::kRefused) {
        again.push_back(i);
        continue;
      }
      const auto row = model_.find(key);
      const bool present = row != model_.end();
      EXPECT_EQ(state, present ? KeyState::kPresent : KeyState::kAbsent) << "key " << key;
      switch (batch.type) {
        case CommandType::kUpsert:
          model_[key] = batch.values[i];
          break;
        case CommandType::kErase:
          model_.erase(key);
          break;
        default:
          if (present) {
            EXPECT_EQ(batch.reply->values[i], row->second) << "key " << key;
          }
      }
    }
    if (testing::Test::HasFailure()) {
      ADD_FAILURE();
      batches_left_ = 0;
      return true;
    }
    if (!again.empty()) {
      for (const uint64_t key : batch.keys) busy_.erase(key);
      for (const uint32_t position : again) busy_.insert(batch.keys[position]);
      Compact(batch, again);
      return false;
    }
    for (const uint64_t key : batch.keys) busy_.erase(key);
    return true;
  }

  // Goes on with the keys at `positions` alone, in a reply of their own; the others are free.
  void Compact(Batch& batch, const std::vector<uint32_t>& positions) {
    std::vector<uint64_t> keys, values;
    for (const uint32_t position : positions) {
      keys.push_back(batch.keys[position]);
      if (!batch.values.empty()) values.push_back(batch.values[position]);
    }
    batch.keys = keys;
    batch.values = values;
    batch.reply = std::make_unique<TestReply>(keys.size());
    batch.expected = 0;
    batch.waits = true;
  }

  void StartScan() {
    scan_ = std::make_unique<Scan>();
    scan_->from = scan_->lo = random_() % keys_;
    scan_->to = scan_->hi = scan_->lo + 1 + random_() % keys_;
    scan_->before = model_;
    for (const auto& batch : batches_) {
      if (batch->type != CommandType::kLookup)
        scan_->written.insert(batch->keys.begin(), batch->keys.end());
    }
    scan_->part.GiveAll();
    SendPart();
    ++scans_;
  }

  // To the owner of the first key, sometimes to somebody else.
  void SendPart() {
    const auto table = route_->Pin();
    const size_t partition = table->PartitionOf(scan_->lo);
    const auto owned = table->RangeOf(partition);
    scan_->asked_hi = owned.hi ? std::min(owned.hi->head, scan_->hi) : scan_->hi;
    AeuId to = table->owners()[partition];
    if (random_() % 8 == 0) to = {static_cast<uint32_t>(random_() % aeus_)};
    if (!lab_.TrySendScan(*route_, to, {Key::FromU64(scan_->lo), Key::FromU64(scan_->asked_hi)},
                          scan_->part)) {
      part_waits_ = true;
      return;
    }
    part_waits_ = false;
    ++scan_->parts;
  }

  void ReadScan() {
    if (part_waits_) return SendPart();
    TestScanPart& part = scan_->part;
    const bool ended = part.ended == scan_->parts;
    if (auto* chunk = part.TakeFilled()) {
      for (uint32_t i = 0; i < chunk->rows.rows; ++i) {
        const uint64_t key = chunk->rows.keys[i];
        EXPECT_TRUE(scan_->rows.empty() || scan_->rows.rbegin()->first < key) << key;
        EXPECT_TRUE(key >= scan_->from && key < scan_->to) << key;
        scan_->rows[key] = chunk->rows.values[i];
      }
      part.GiveChunk(chunk);
      return;
    }
    if (!ended) return;
    if (part.outcome() == PartOutcome::kMoved) {
      scan_->lo = part.rest()->lo.head;
    } else {
      ASSERT_EQ(part.outcome(), PartOutcome::kAnswered);
      scan_->lo = scan_->asked_hi;
    }
    part.Reset();
    if (scan_->lo < scan_->hi) return SendPart();
    for (auto row = scan_->before.lower_bound(scan_->from);
         row != scan_->before.end() && row->first < scan_->to; ++row) {
      if (scan_->written.contains(row->first)) continue;
      const auto seen = scan_->rows.find(row->first);
      ASSERT_TRUE(seen != scan_->rows.end()) << "the scan has no key " << row->first;
      ASSERT_EQ(seen->second, row->second) << row->first;
    }
    for (const auto& [key, value] : scan_->rows) {
      ASSERT_TRUE(scan_->before.contains(key) || scan_->written.contains(key)) << key;
    }
    scan_.reset();
  }

  void CheckEverything() {
    for (uint64_t from = 0; from < keys_; from += 50) {
      std::vector<uint64_t> keys;
      for (uint64_t key = from; key < std::min(keys_, from + 50); ++key) keys.push_back(key);
      TestReply reply(keys.size());
      sources_[0].client->Send(*route_, CommandType::kLookup, keys, {}, reply);
      lab_.Settle();
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto row = model_.find(keys[i]);
        ASSERT_EQ(reply.states[i], row != model_.end() ? KeyState::kPresent : KeyState::kAbsent);
        if (row != model_.end()) {
          ASSERT_EQ(reply.values[i], row->second);
        }
      }
    }
  }

  std::mt19937_64 random_;
  const uint32_t aeus_;
  test::AeuLab lab_;
  const uint64_t keys_;
  const uint64_t dice_ = 3 + random_() % 2;  // how often AEUs get their turn
  ObjectRoute* route_ = nullptr;
  std::vector<Source> sources_;
  std::vector<uint64_t> weights_;
  std::vector<std::unique_ptr<Batch>> batches_;
  std::unique_ptr<Scan> scan_;
  bool part_waits_ = false;
  std::set<uint64_t> busy_;
  std::map<uint64_t, uint64_t> model_;
  int batches_left_ = kBatchesOfASeed;
  uint64_t moved_ = 0;
  uint64_t scans_ = 0;
};

TEST(AeuInterleavingTest, EveryAnswerIsThatOfAMap) {
  const auto given = test::GivenSeed();
  const uint64_t first = test::Seed();
  uint64_t moved = 0, scans = 0;
  for (uint64_t seed = first; seed < first + (given ? 1 : kSeeds); ++seed) {
    SCOPED_TRACE(test::SeedText(seed));
    Simulation simulation(seed);
    simulation.Run();
    ASSERT_FALSE(HasFailure());
    moved += simulation.moved();
    scans += simulation.scans();
  }
  if (!given) {
    // The seeds together have been everywhere.
    EXPECT_GT(moved, kSeeds);
    EXPECT_GT(scans, kSeeds);
  }
}

}  // namespace
}  // namespace eris::aeu
