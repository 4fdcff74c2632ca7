// Records the allocations and frees of the engine's own prefix tree during random upserts and
// erases of sparse keys in steady state, for allocator_lab to replay.
//
//   tree_trace --out <file> [--keys 3000000,800000,200000] [--sections 8] [--records 4000000]
//   [--seed 1]
//
// There is a tree, that is a partition, for each number in `keys`, all on one cache: with these
// sizes every kind of TreeNode keeps growing and shrinking. A tree's keys come from a universe of
// twice as many; each operation picks one at random and upserts or erases it, so about `keys` of
// them exist and every second operation changes the tree. The build-up inserts half of each
// universe, then runs as many operations, so that the blocks lie as they do after a while. Built
// with logging/memory/local_cache.h in place of the engine's header.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/key_order.h"
#include "bench/memory/trace.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "storage/tree/prefix_tree.h"

namespace eris::bench {
namespace {

// Keys of a group: each takes one random bit of a word.
constexpr uint32_t kGroupKeys = 64;
static_assert(kGroupKeys <= storage::kFindGroupMax);

// The block sizes of runs and TreeNodes: numbers of lines, and the largest TreeNode. The class of a
// record is the index.
constexpr std::array<uint32_t, storage::kRunSizes + 1> kBlockBytes = [] {
  std::array<uint32_t, storage::kRunSizes + 1> bytes{};
  unsigned lines = storage::kRunLinesMax;
  for (uint32_t i = storage::kRunSizes; i-- > 0; lines = storage::SmallerRunLines(lines)) {
    bytes[i] = lines * base::kCacheLineBytes;
  }
  bytes.back() = sizeof(storage::TreeNode256);
  return bytes;
}();

// Allocates blocks last in, first out, and records each call. The slot is stored before the block,
// in a separate cache line so that the block keeps its alignment.
class RecordingCache final : public memory::LocalCache {
 public:
  RecordingCache() : arena_(size_t{16} << 30) {}

  void* Allocate(size_t bytes) override {
    const uint32_t size_class = ClassOf(bytes);
    std::vector<std::byte*>& free = free_[size_class];
    std::byte* block;
    if (!free.empty()) {
      block = free.back();
      free.pop_back();
    } else {
      block = arena_.Take(base::kCacheLineBytes + base::RoundUp(bytes, base::kCacheLineBytes)) +
              base::kCacheLineBytes;
      const uint32_t slot = slots_++;
      std::memcpy(block - sizeof slot, &slot, sizeof slot);
    }
    Record(/*free=*/false, size_class, block);
    live_bytes_ += bytes;
    return block;
  }
  void Free(void* block, size_t bytes) override {
    const uint32_t size_class = ClassOf(bytes);
    Record(/*free=*/true, size_class, static_cast<std::byte*>(block));
    free_[size_class].push_back(static_cast<std::byte*>(block));
    live_bytes_ -= bytes;
  }

  const std::vector<TraceRecord>& records() const { return records_; }
  uint32_t slots() const { return slots_; }
  uint64_t live_bytes() const { return live_bytes_; }

 private:
  // Address space whose pages are allocated on first use.
  class Arena {
   public:
    explicit Arena(size_t bytes) : left_(bytes) {
      void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (mapped == MAP_FAILED) Die("no address space");
      madvise(mapped, bytes, MADV_HUGEPAGE);
      next_ = static_cast<std::byte*>(mapped);
    }
    std::byte* Take(size_t bytes) {
      if (bytes > left_) Die("the trace needs more memory than 16 GiB");
      std::byte* taken = next_;
      next_ += bytes;
      left_ -= bytes;
      return taken;
    }

   private:
    std::byte* next_;
    size_t left_;
  };

  static uint32_t ClassOf(size_t bytes) {
    for (uint32_t i = 0; i < kBlockBytes.size(); ++i) {
      if (kBlockBytes[i] == bytes) return i;
    }
    Die("a block of " + std::to_string(bytes) + " bytes is no TreeNode");
  }
  void Record(bool free, uint32_t size_class, const std::byte* block) {
    uint32_t slot;
    std::memcpy(&slot, block - sizeof slot, sizeof slot);
    records_.emplace_back(free, size_class, slot);
  }

  Arena arena_;
  std::array<std::vector<std::byte*>, kBlockBytes.size()> free_;
  std::vector<TraceRecord> records_;
  uint32_t slots_ = 0;
  uint64_t live_bytes_ = 0;
};

// Random operations in groups: a lookup of the whole group first brings the paths into the cache,
// as in an index partition.
class Churn {
 public:
  Churn(memory::LocalCache& cache, const std::vector<uint32_t>& keys, uint64_t seed)
      : random_(seed) {
    for (const uint32_t some : keys) {
      trees_.push_back({std::make_unique<storage::PrefixTree>(cache), 2 * uint64_t{some}});
      keys_ += some;
    }
  }

  // A group's tree is chosen by size, so that all keys are equally likely.
  uint64_t keys() const { return keys_; }
  uint64_t operations() const { return operations_; }
  uint64_t live_keys() const {
    uint64_t live = 0;
    for (const Tree& one : trees_) live += one.tree->size();
    return live;
  }
  void InsertHalf() {
    for (Tree& one : trees_) {
      for (uint64_t i = 0; i < one.universe; i += 2) Upsert(*one.tree, KeyAt(i, /*sparse=*/true));
    }
  }
  void Group() {
    uint64_t at = random_() % (2 * keys_);
    const Tree* picked = trees_.data();
    for (; at >= picked->universe; ++picked) at -= picked->universe;
    storage::PrefixTree& tree = *picked->tree;
    uint64_t keys[kGroupKeys];
    uint64_t* values[kGroupKeys];
    for (uint64_t& key : keys) key = KeyAt(random_() % picked->universe, /*sparse=*/true);
    tree.FindGroup(keys, kGroupKeys, values);
    for (const uint64_t key : keys) {
      if (random_() & 1) {
        Upsert(tree, key);
      } else {
        tree.Erase(key);
      }
    }
    operations_ += kGroupKeys;
  }
  // The blocks are freed with the cache.
  void Abandon() {
    for (Tree& one : trees_) one.tree->Abandon();
  }

 private:
  struct Tree {
    std::unique_ptr<storage::PrefixTree> tree;
    uint64_t universe;
  };

  static void Upsert(storage::PrefixTree& tree, uint64_t key) {
    if (tree.Upsert(key, key) == storage::UpsertResult::kNoMemory) Die("no memory");
  }

  std::vector<Tree> trees_;
  uint64_t keys_ = 0;
  std::mt19937_64 random_;
  uint64_t operations_ = 0;
};

void Write(const std::string& path, const TraceHeader& header,
           const std::vector<TraceRecord>& records) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) Die("cannot write " + path);
  const uint64_t counted = header.build_records + header.sections * header.section_records;
  const bool written =
      std::fwrite(&header, sizeof header, 1, file) == 1 &&
      std::fwrite(records.data(), sizeof(TraceRecord), counted, file) == counted &&
      std::fwrite(records.data(), sizeof(TraceRecord), kLookAhead, file) == kLookAhead;
  if (std::fclose(file) != 0 || !written) Die("cannot write " + path);
}

void PrintShare(const RecordingCache& cache, uint64_t build_records) {
  std::array<uint64_t, kBlockBytes.size()> counts{};
  const std::vector<TraceRecord>& records = cache.records();
  for (size_t i = build_records; i < records.size(); ++i) ++counts[records[i].size_class()];
  for (size_t i = 0; i < counts.size(); ++i) {
    std::printf("  %4u bytes: %5.2f %% of the records\n", kBlockBytes[i],
                100.0 * static_cast<double>(counts[i]) /
                    static_cast<double>(records.size() - build_records));
  }
}

int Main(int argc, char** argv) {
  std::string out;
  std::vector<uint32_t> keys = {3'000'000, 800'000, 200'000};
  uint64_t sections = 8, section_records = 4'000'000, seed = 1;
  ParseFlags(argc, argv,
             {{"--out", out},
              {"--keys", keys, 1024, 1u << 26},
              {"--sections", sections, 1, 1000},
              {"--records", section_records, 1000, 1'000'000'000},
              {"--seed", seed, 0, ~0u}});
  if (out.empty())
    Die("tree_trace --out <file> [--keys n,..] [--sections n] [--records n] [--seed n]");

  RecordingCache cache;
  Churn churn(cache, keys, seed);
  churn.InsertHalf();
  while (churn.operations() < churn.keys()) churn.Group();
  TraceHeader header;
  header.seed = seed;
  header.keys = churn.live_keys();
  header.build_records = cache.records().size();
  header.sections = sections;
  header.section_records = section_records;
  header.live_bytes = cache.live_bytes();
  const uint64_t operations_before = churn.operations();
  while (cache.records().size() < header.build_records + sections * section_records) churn.Group();
  header.key_operations = churn.operations() - operations_before;
  header.slots = cache.slots();
  header.classes = kBlockBytes.size();
  std::copy(kBlockBytes.begin(), kBlockBytes.end(), header.class_bytes.begin());
  Write(out, header, cache.records());
  std::printf(
      "seed %llu: %llu keys in %llu bytes, %.3f records per key operation\n",
      static_cast<unsigned long long>(seed), static_cast<unsigned long long>(header.keys),
      static_cast<unsigned long long>(header.live_bytes),
      static_cast<double>(sections * section_records) / static_cast<double>(header.key_operations));
  PrintShare(cache, header.build_records);
  churn.Abandon();
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
