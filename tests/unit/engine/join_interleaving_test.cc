// Seeded simulation in one thread: a join over AEUs with tiny buffers, few small blocks and a
// reader that takes its time, while ranges of both objects move between AEUs and tables are
// published late; some seeds cancel the join, or drop one of its objects, somewhere on its way. The
// rows are those of a join of maps. ERIS_SEED=n runs that one seed again.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "tests/support/seed.h"
#include "tests/unit/engine/join_lab.h"

namespace eris::engine {
namespace {

using storage::Key;
using storage::Range;
using test::JoinLab;
using Joined = std::tuple<uint64_t, uint64_t, uint64_t>;

constexpr uint64_t kSeeds = 600;
constexpr int kStepsMax = 400'000;

test::LabMemory& Memory() {
  static test::LabMemory memory;
  return memory;
}

class Simulation {
 public:
  explicit Simulation(uint64_t seed)
      : random_(seed),
        lab_(Memory(), RandomOptions()),
        keys_{100 + random_() % 3000, 50 + random_() % 1000} {
    for (uint64_t i = random_() % keys_[0]; i > 0; --i) {
      rows_[0][random_() % keys_[0]] = random_() % keys_[1];
    }
    for (uint64_t i = random_() % (2 * keys_[1]); i > 0; --i) {
      rows_[1][random_() % keys_[1]] = random_() % 100;
    }
    for (int which = 0; which < 2; ++which) {
      std::set<uint64_t> starts{0};
      for (uint64_t i = random_() % (3 * lab_.size()); i > 0; --i) {
        starts.insert(1 + random_() % keys_[which]);
      }
      std::vector<AeuId> owners;
      for (size_t i = 0; i < starts.size(); ++i) owners.push_back(RandomAeu());
      objects_[which] = lab_.Create(which == 0 ? "outer" : "inner", {starts.begin(), starts.end()},
                                    owners, rows_[which]);
    }
    // Some AEUs are slow, some seeds move a lot.
    for (uint32_t i = 0; i < lab_.size(); ++i) weights_.push_back(1 + random_() % 8);
    moves_left_ = random_() % 2 == 0 ? 0 : static_cast<int>(random_() % 60);
    dice_ = 4 + random_() % 20;
    if (random_() % 2 == 0) options_.range = {random_() % keys_[0], random_() % (2 * keys_[0])};
    if (options_.range.Empty()) options_.range = {};
    if (random_() % 3 == 0) options_.inner_values = KeyRange{random_() % 50, 50 + random_() % 60};
    sizes_ = {.block_rows = 8 * (1 + static_cast<uint32_t>(random_() % 12)),
              .blocks_max = 1 + static_cast<uint32_t>(random_() % 12)};
    const uint64_t end = random_() % 4;
    if (end == 1) cancel_at_ = 1 + static_cast<int>(random_() % 600);
    if (end == 2) drop_at_ = 1 + static_cast<int>(random_() % 600);
    Expect();
  }

  void Run() {
    auto join = JoinState::Create(lab_.core(), lab_.core().session_nodes.Here(), objects_[0],
                                  objects_[1], options_, sizes_);
    ASSERT_TRUE(join.ok()) << join.status();
    join_ = *join;
    int steps = 0;
    while (!ended_) {
      ASSERT_LT(++steps, kStepsMax) << "the join never ends";
      if (steps == cancel_at_) join_->Cancel(absl::CancelledError("cancelled"));
      if (steps == drop_at_) Drop();
      switch (random_() % dice_) {
        case 0:
          Read();
          break;
        case 1:
          if (moves_left_ > 0) MoveOne();
          break;
        case 2:
          if (random_() % 4 == 0) PublishOne();
          break;
        default:
          StepOne();
      }
      if (testing::Test::HasFatalFailure()) break;
    }
    kept_.clear();
    join_->Unref();
    lab_.Settle();
    for (uint32_t i = 0; i < lab_.size(); ++i) {
      const RoutingStats routing = lab_[i].Routing();
      refused_ += routing.refused;
      redirected_ += routing.redirected;
    }
    CheckRows();
  }

  uint64_t refused() const { return refused_; }
  uint64_t redirected() const { return redirected_; }
  uint64_t moved() const { return moved_; }
  bool complete() const { return status_.ok(); }

 private:
  test::JoinLabOptions RandomOptions() {
    test::JoinLabOptions options;
    options.aeus = 1 + static_cast<uint32_t>(random_() % 7);
    options.half_bytes = random_() % 3 == 0 ? 64 << 10 : 1 << 10;
    options.outgoing_bytes = random_() % 2 == 0 ? 1 << 10 : 512;
    return options;
  }
  AeuId RandomAeu() { return {static_cast<uint32_t>(random_() % lab_.size())}; }

  void Expect() {
    for (const auto& [key, value] : rows_[0]) {
      const auto found = rows_[1].find(value);
      if (!options_.range.Contains(key) || found == rows_[1].end()) continue;
      if (options_.inner_values && !options_.inner_values->Contains(found->second)) continue;
      expected_.emplace_back(key, value, found->second);
    }
  }

  void StepOne() {
    uint64_t ticket = 0;
    for (const uint64_t weight : weights_) ticket += weight;
    ticket = random_() % ticket;
    uint32_t aeu = 0;
    while (ticket >= weights_[aeu]) ticket -= weights_[aeu++];
    // Slices of the least length there is, or without an end: the clock decides nothing.
    lab_.Step(aeu, random_() % 2 == 0 ? 0 : 1'000'000'000'000'000);
  }

  void Read() {
    if (!kept_.empty() && random_() % 2 == 0) {
      std::swap(kept_[random_() % kept_.size()], kept_.back());
      kept_.pop_back();
    }
    auto next = join_->Next(absl::InfinitePast());
    if (absl::IsDeadlineExceeded(next.status())) return;
    if (absl::IsFailedPrecondition(next.status())) {
      ASSERT_FALSE(kept_.empty());
      kept_.clear();
      return;
    }
    if (!next.ok() || !*next) {
      status_ = next.status();
      ended_ = true;
      return;
    }
    const eris::Chunk& chunk = **next;
    ASSERT_GT(chunk.rows(), 0u);
    for (uint64_t i = 0; i < chunk.rows(); ++i) {
      seen_.emplace_back(chunk.Uint64s(0)[i], chunk.Uint64s(1)[i], chunk.Uint64s(2)[i]);
    }
    if (random_() % 4 == 0) kept_.push_back(*next);
  }

  void MoveOne() {
    const int which = static_cast<int>(random_() % 2);
    if (objects_[which]->dropped()) return;
    const AeuId from = RandomAeu(), to = RandomAeu();
    auto& ranges = lab_.Slot(*objects_[which], from).ranges();
    if (ranges.empty() || from == to) return;
    Range range = ranges[random_() % ranges.size()].partition->range();
    // All of it, or one end, or a piece of it.
    const uint64_t keys = keys_[which];
    if (random_() % 2 == 0 && range.lo.head < keys) {
      const Key lo = Key::FromU64(range.lo.head + random_() % (keys - range.lo.head));
      if (range.Contains(lo)) range.lo = lo;
    }
    if (random_() % 2 == 0) {
      const Key hi = Key::FromU64(range.lo.head + 1 + random_() % keys);
      if (!range.hi || hi < *range.hi) range.hi = hi;
    }
    if (range.Empty()) return;
    lab_.Move(*objects_[which], range, from, to);
    unpublished_[which] = true;
    --moves_left_;
    ++moved_;
  }
  void PublishOne() {
    const int which = static_cast<int>(random_() % 2);
    if (!unpublished_[which] || objects_[which]->dropped()) return;
    lab_.Publish(*objects_[which]);
    unpublished_[which] = false;
  }
  void Drop() {
    const int which = static_cast<int>(random_() % 2);
    dropped_ = true;
    lab_.Drop(*objects_[which]);
  }

  void CheckRows() {
    std::sort(seen_.begin(), seen_.end());
    ASSERT_TRUE(std::adjacent_find(seen_.begin(), seen_.end()) == seen_.end())
        << "a row came twice";
    ASSERT_TRUE(std::includes(expected_.begin(), expected_.end(), seen_.begin(), seen_.end()));
    if (status_.ok()) {
      ASSERT_EQ(seen_.size(), expected_.size());
    } else if (absl::IsNotFound(status_)) {
      ASSERT_TRUE(dropped_);
    } else {
      ASSERT_TRUE(absl::IsCancelled(status_) && cancel_at_ > 0) << status_;
    }
  }

  std::mt19937_64 random_;
  JoinLab lab_;
  const uint64_t keys_[2];
  JoinLab::Rows rows_[2];
  ObjectRef objects_[2];  // the outer one, the inner one
  std::vector<uint64_t> weights_;
  JoinOptions options_;
  JoinSizes sizes_;
  uint64_t dice_ = 0;
  int cancel_at_ = -1;
  int drop_at_ = -1;
  int moves_left_ = 0;
  bool unpublished_[2] = {};
  bool dropped_ = false;
  bool ended_ = false;
  JoinState* join_ = nullptr;
  absl::Status status_;
  std::vector<std::shared_ptr<const eris::Chunk>> kept_;
  std::vector<Joined> expected_, seen_;
  uint64_t refused_ = 0, redirected_ = 0, moved_ = 0;
};

TEST(JoinInterleavingTest, TheRowsAreThoseOfAJoinOfMaps) {
  const auto given = test::GivenSeed();
  const uint64_t first = test::Seed();
  uint64_t refused = 0, redirected = 0, moved = 0, complete = 0;
  for (uint64_t seed = first; seed < first + (given ? 1 : kSeeds); ++seed) {
    SCOPED_TRACE(test::SeedText(seed));
    Simulation simulation(seed);
    simulation.Run();
    ASSERT_FALSE(HasFailure());
    refused += simulation.refused();
    redirected += simulation.redirected();
    moved += simulation.moved();
    complete += simulation.complete();
  }
  if (!given) {
    // The seeds together have been everywhere.
    EXPECT_GT(refused, 1000u);
    EXPECT_GT(redirected, 100u);
    EXPECT_GT(moved, 1000u);
    EXPECT_GT(complete, kSeeds / 2);
    EXPECT_LT(complete, kSeeds - kSeeds / 10);
  }
}

}  // namespace
}  // namespace eris::engine
