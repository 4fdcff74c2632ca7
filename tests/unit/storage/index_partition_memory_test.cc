// Every request for memory of every operation on partitions is refused once, alone and with all
// that follow: the n-th, for n from 1 until the operation asks no more. What is refused has changed
// nothing, of a batch exactly the keys that say so are missing, and each byte is accounted for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "storage/index/index_partition.h"
#include "storage/tree/tree_check.h"
#include "storage/tree/tree_node.h"
#include "tests/fuzz/tree_inventory.h"
#include "tests/support/extract.h"
#include "tests/support/test_batch.h"
#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

using Mode = memory::FailurePoint::Mode;

// Partitions side by side, and the rows that they should hold.
struct Parts {
  Parts() { all.push_back(*IndexPartition::Create(Range{}, memory.cache)); }

  IndexPartition& operator[](size_t which) { return *all[which]; }
  TreeRef root(size_t which = 0) const { return all[which]->tree().root(); }

  // Runs on the first partition that has the key's range; false: refused.
  std::vector<KeyState> Execute(Operation operation, const std::vector<uint64_t>& keys) {
    test::TestBatch batch{.operation = operation, .keys = keys};
    for (const uint64_t key : keys) batch.values.push_back(key + 1);
    return batch.Run(*all[0]).states;
  }
  // The same, with the rows told what has been done. The number of keys refused.
  size_t Write(Operation operation, const std::vector<uint64_t>& keys) {
    const std::vector<KeyState> states = Execute(operation, keys);
    size_t refused = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (states[i] == KeyState::kNoMemory) {
        EXPECT_FALSE(rows.contains(keys[i]));
        ++refused;
        continue;
      }
      EXPECT_EQ(states[i] == KeyState::kPresent, rows.contains(keys[i]));
      if (operation == Operation::kErase) {
        rows.erase(keys[i]);
      } else {
        rows[keys[i]] = keys[i] + 1;
      }
    }
    return refused;
  }
  void Split(uint64_t key) {
    all.emplace_back(
        static_cast<IndexPartition*>(all.back()->SplitAt(Key::FromU64(key))->release()));
  }

  void Check() const {
    fuzz::TreeInventory inventory;
    for (const auto& part : all) {
      ASSERT_EQ(CheckTree(part->tree()), absl::OkStatus());
      fuzz::AddTree(part->tree(), inventory);
    }
    ASSERT_EQ(inventory.rows, Rows(rows.begin(), rows.end()));
    ASSERT_EQ(CheckMemory(inventory, memory.cache), absl::OkStatus());
  }

  TreeMemory memory;
  std::vector<std::unique_ptr<IndexPartition>> all;  // by range
  Model rows;
};

// `count` full runs below one TreeNode: 56 ascending keys each, of another first byte.
std::vector<uint64_t> FullRuns(uint64_t count) {
  std::vector<uint64_t> keys;
  for (uint64_t run = 0; run < count; ++run) {
    for (uint64_t i = 0; i < kRunPairsMax; ++i) keys.push_back(run << 56 | i << 32);
  }
  return keys;
}
std::vector<uint64_t> Dense(uint64_t from, uint64_t count) {
  std::vector<uint64_t> keys(count);
  for (uint64_t i = 0; i < count; ++i) keys[i] = from + i;
  return keys;
}
std::vector<uint64_t> Sparse(uint64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<uint64_t> keys(count);
  for (uint64_t& key : keys) key = random();
  return keys;
}
std::vector<uint64_t> Some(uint64_t seed) {  // pages, runs and TreeNodes at several levels
  std::vector<uint64_t> keys = Sparse(600, seed);
  for (uint64_t base : {uint64_t{0}, uint64_t{1} << 63, (uint64_t{1} << 63) + 0x10000}) {
    for (const uint64_t key : Dense(base, 700)) keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}
ExchangeChunk ChunkOf(const Range& covers, const std::vector<uint64_t>& keys) {
  ExchangeChunk chunk{covers, {}, {}};
  for (const uint64_t key : keys) {
    if (!covers.ContainsU64(key)) continue;
    chunk.keys.push_back(key);
    chunk.values.push_back(key + 1);
  }
  return chunk;
}

struct Operated {
  const char* name;
  std::function<void(Parts&)> prepare;
  // False, or the number of keys refused: it was refused, and has changed nothing.
  std::function<size_t(Parts&)> run;
  std::function<bool(const Parts&)> reached = nullptr;  // what the operation is to lead to
  bool needs_memory = true;
};
void PrintTo(const Operated& operated, std::ostream* out) { *out << operated.name; }

size_t RefusedOf(const absl::Status& status) {
  EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kResourceExhausted) << status;
  return status.ok() ? 0 : 1;
}

class IndexPartitionMemoryTest : public testing::TestWithParam<Operated> {
 protected:
  // Whether the operation has come to the n-th request. What is left of the count is asked for.
  static bool Fired(memory::LocalCache& cache, uint64_t nth) {
    std::vector<void*> blocks;
    bool fired = true;
    for (uint64_t i = 0; i < nth && fired; ++i) {
      void* block = cache.Allocate(64);
      fired = block != nullptr;
      if (fired) blocks.push_back(block);
    }
    for (void* block : blocks) cache.Free(block, 64);
    return fired;
  }

  void RefuseEach(Mode mode) {
    uint64_t refusals = 0;
    for (uint64_t nth = 1;; ++nth) {
      SCOPED_TRACE("request " + std::to_string(nth) + (mode == Mode::kOnce ? "" : " and later"));
      ASSERT_LT(nth, 2000u);
      Parts parts;
      GetParam().prepare(parts);
      ASSERT_NO_FATAL_FAILURE(parts.Check());
      parts.memory.cache.ArmFailures(nth, mode);
      const size_t refused = GetParam().run(parts);
      // With all later ones refused, the first request after it tells no more: only once it is not.
      const bool fired = mode == Mode::kOnce ? Fired(parts.memory.cache, nth) : refused > 0;
      parts.memory.cache.ArmFailures(0, Mode::kOnce);
      ASSERT_NO_FATAL_FAILURE(parts.Check());
      ASSERT_FALSE(HasFailure());
      ASSERT_FALSE(!fired && refused > 0);
      refusals += refused > 0;
      if (refused == 0 && GetParam().reached) {
        ASSERT_TRUE(GetParam().reached(parts));
      }
      if (!fired) break;
      // The memory is there again: it goes on where it was.
      if (refused > 0) {
        ASSERT_EQ(GetParam().run(parts), 0u);
        ASSERT_NO_FATAL_FAILURE(parts.Check());
      }
    }
    EXPECT_EQ(refusals > 0, GetParam().needs_memory);
  }
};

TEST_P(IndexPartitionMemoryTest, OneRequestIsRefused) { RefuseEach(Mode::kOnce); }
TEST_P(IndexPartitionMemoryTest, AllRequestsFromOneOnAreRefused) { RefuseEach(Mode::kFromThen); }

Operated Growth(const char* name, uint64_t runs, TreeNodeKind from, TreeNodeKind to) {
  return {name,
          [runs, from](Parts& parts) {
            parts.Write(Operation::kUpsert, FullRuns(runs));
            ASSERT_EQ(parts.root().kind(), from);
          },
          [runs](Parts& parts) { return parts.Write(Operation::kUpsert, {runs << 56}); },
          [to](const Parts& parts) { return parts.root().kind() == to; }};
}
Operated Batch256(const char* name, Operation operation, std::vector<uint64_t> keys) {
  return {
      name, [](Parts& parts) { parts.Write(Operation::kUpsert, Some(1)); },
      [operation, keys = std::move(keys)](Parts& parts) { return parts.Write(operation, keys); }};
}
// Cuts at the key; or joins what was cut there, upwards or downwards.
Operated SplitCase(const char* name, std::vector<uint64_t> keys, uint64_t cut) {
  return {name, [keys = std::move(keys)](Parts& parts) { parts.Write(Operation::kUpsert, keys); },
          [cut](Parts& parts) {
            auto upper = parts[0].SplitAt(Key::FromU64(cut));
            if (upper.ok()) parts.all.emplace_back(static_cast<IndexPartition*>(upper->release()));
            return RefusedOf(upper.status());
          },
          [cut](const Parts& parts) { return parts.all[1]->range().lo == Key::FromU64(cut); }};
}
Operated AbsorbCase(const char* name, std::vector<uint64_t> keys, uint64_t cut, bool upwards) {
  return {name,
          [keys = std::move(keys), cut](Parts& parts) {
            parts.Write(Operation::kUpsert, keys);
            parts.Split(cut);
          },
          [upwards](Parts& parts) {
            const Range ranges[2] = {parts[0].range(), parts[1].range()};
            const absl::Status status = parts[upwards].Absorb(parts[!upwards]);
            if (!status.ok()) {
              EXPECT_EQ(parts[0].range(), ranges[0]);
              EXPECT_EQ(parts[1].range(), ranges[1]);
            }
            return RefusedOf(status);
          },
          [upwards](const Parts& parts) {
            return parts.all[upwards]->range() == Range{} && parts.all[!upwards]->size() == 0;
          }};
}
// A chunk of keys on one side of the cut to the rows on the other side; at 0: to none.
Operated IngestCase(const char* name, std::vector<uint64_t> keys, uint64_t cut, bool from_above) {
  return {
      name,
      [keys, cut, from_above](Parts& parts) {
        if (cut == 0) {
          parts.all[0] = *IndexPartition::Create({Key{}, Key{}}, parts.memory.cache);
          return;
        }
        parts.Write(Operation::kUpsert, keys);
        parts.Split(cut);
        const size_t leaves = from_above ? 1 : 0;
        parts.all.erase(parts.all.begin() + static_cast<ptrdiff_t>(leaves));
        const Range range = parts[0].range();
        std::erase_if(parts.rows, [&](const auto& row) { return !range.ContainsU64(row.first); });
      },
      [keys, cut, from_above](Parts& parts) {
        const Range covers =
            from_above ? Range{Key::FromU64(cut), std::nullopt} : Range{Key{}, Key::FromU64(cut)};
        const ExchangeChunk chunk = ChunkOf(covers, keys);
        const absl::Status status = parts[0].Ingest(chunk);
        if (status.ok()) {
          for (const uint64_t key : chunk.keys) parts.rows[key] = key + 1;
        }
        return RefusedOf(status);
      },
      [](const Parts& parts) { return parts.all[0]->range() == Range{}; }};
}
Operated ExtractCase(const char* name, std::vector<uint64_t> keys, uint32_t rows) {
  return {name, [keys = std::move(keys)](Parts& parts) { parts.Write(Operation::kUpsert, keys); },
          [rows](Parts& parts) {
            ExchangeChunk chunk;
            const absl::Status status = test::Extract(parts[0], rows, chunk);
            for (const uint64_t key : chunk.keys) parts.rows.erase(key);
            return RefusedOf(status);
          },
          nullptr,
          /*needs_memory=*/false};
}

std::vector<Operated> AllOperated() {
  const uint64_t middle = uint64_t{1} << 63;
  std::vector<Operated> all = {
      {"FirstKey", [](Parts&) {}, [](Parts& parts) { return parts.Write(Operation::kUpsert, {5}); },
       [](const Parts& parts) { return parts.root().IsRun(); }},
      {"LongerRun", [](Parts& parts) { parts.Write(Operation::kUpsert, Dense(0, 3)); },
       [](Parts& parts) { return parts.Write(Operation::kUpsert, {3}); },
       [](const Parts& parts) { return parts.root().lines() == 2; }},
      {"RunCutInTwo",
       [](Parts& parts) { parts.Write(Operation::kUpsert, Sparse(kRunPairsMax, 3)); },
       [](Parts& parts) { return parts.Write(Operation::kUpsert, {77}); },
       [](const Parts& parts) { return parts.root().kind() == TreeNodeKind::k5; }},
      Growth("TreeNode5To12", 5, TreeNodeKind::k5, TreeNodeKind::k12),
      Growth("TreeNode12To26", 12, TreeNodeKind::k12, TreeNodeKind::k26),
      Growth("TreeNode26To48", 26, TreeNodeKind::k26, TreeNodeKind::k48),
      Growth("TreeNode48To256", 48, TreeNodeKind::k48, TreeNodeKind::k256),
      {"RunsBecomeAPage", [](Parts& parts) { parts.Write(Operation::kUpsert, Dense(0, 112)); },
       [](Parts& parts) { return parts.Write(Operation::kUpsert, {112}); },
       [](const Parts& parts) { return parts.root().IsPage(); }},
      {"TreeNodeAboveAPage", [](Parts& parts) { parts.Write(Operation::kUpsert, Dense(0, 200)); },
       [](Parts& parts) { return parts.Write(Operation::kUpsert, {uint64_t{1} << 40}); },
       [](const Parts& parts) { return parts.root().kind() == TreeNodeKind::k5; }},
      Batch256("Upsert256NewKeys", Operation::kUpsert, Sparse(256, 8)),
      Batch256("Upsert256DenseKeys", Operation::kUpsert, Dense(600, 256)),
      Batch256("Insert256IfAbsent", Operation::kInsertIfAbsent, Sparse(256, 9)),
      SplitCase("SplitInARun", Sparse(40, 4), middle),
      SplitCase("SplitInAPage", Dense(middle - 100, 200), middle - 50),
      SplitCase("SplitOfManyLevels", Some(5), middle + 0x10000 + 300),
      AbsorbCase("AbsorbAboveInARun", Sparse(50, 4), middle, false),
      AbsorbCase("AbsorbBelowInARun", Sparse(50, 4), middle, true),
      AbsorbCase("AbsorbRunsTooLongForOne", FullRuns(1), uint64_t{kRunPairsMax / 2} << 32, false),
      AbsorbCase("AbsorbAboveOfManyLevels", Some(6), middle + 300, false),
      AbsorbCase("AbsorbBelowOfManyLevels", Some(6), middle + 300, true),
      AbsorbCase("AbsorbIntoALargerTreeNode", FullRuns(40), uint64_t{20} << 56, true),
      IngestCase("BuildOfAllKinds", Some(7), 0, true),
      IngestCase("IngestAbove", Some(7), middle + 400, true),
      IngestCase("IngestBelow", Some(7), middle + 400, false),
      ExtractCase("ExtractSome", Some(2), 1000),
      ExtractCase("ExtractAll", Some(2), UINT32_MAX),
      {"EraseHalf", [](Parts& parts) { parts.Write(Operation::kUpsert, Some(1)); },
       [](Parts& parts) {
         std::vector<uint64_t> keys;
         for (const auto& [key, value] : parts.rows) {
           if (keys.size() < parts.rows.size() / 2) keys.push_back(key);
         }
         return parts.Write(Operation::kErase, keys);
       },
       nullptr, /*needs_memory=*/false},
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, IndexPartitionMemoryTest, testing::ValuesIn(AllOperated()),
                         [](const auto& operated) { return operated.param.name; });

}  // namespace
}  // namespace eris::storage
