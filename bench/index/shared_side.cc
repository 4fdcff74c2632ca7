// The tree that all threads share (bench/shared/), used by one thread: measures the cost of its
// atomics compared with ERIS's own tree. Batches of 1 go key by key.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/index/side.h"
#include "bench/index/structure_lab.h"
#include "bench/shared/shared_memory.h"
#include "bench/shared/shared_tree.h"

namespace eris::bench {
namespace {

class SharedStructure {
 public:
  static constexpr bool kOrdered = false;
  static constexpr bool kBulkLoads = false;
  static constexpr bool kReplaces = true;

  explicit SharedStructure(uint64_t)
      : memory_(SharedPlacement::kFirstTouch, uint64_t{16} << 30),
        tree_(memory_.manager()),
        thread_(tree_) {}

  void Insert(const uint64_t* keys, const uint64_t* values, size_t count, size_t batch) {
    if (batch > 1) {
      if (!thread_.Upsert(keys, values, count)) Die("no memory");
      return;
    }
    for (size_t i = 0; i < count; ++i) {
      if (thread_.Upsert(keys[i], values[i]) == UpsertResult::kNoMemory) {
        Die("no memory");
      }
    }
  }
  void Replace(const uint64_t* keys, const uint64_t* values, size_t count, size_t batch) {
    Insert(keys, values, count, batch);
  }
  Found Lookup(const uint64_t* keys, size_t count, size_t batch) {
    Found all;
    if (batch == 1) {
      for (size_t i = 0; i < count; ++i) {
        const std::optional<uint64_t> value = thread_.Lookup(keys[i]);
        if (value) all.Add(keys[i], *value);
      }
      return all;
    }
    for (size_t i = 0; i < count; i += batch) {
      const size_t part = std::min(batch, count - i);
      thread_.Lookup(keys + i, part, values_.data(), found_.get());
      for (size_t j = 0; j < part; ++j) {
        if (found_[j]) all.Add(keys[i + j], values_[j]);
      }
    }
    return all;
  }
  uint64_t Erase(const uint64_t*, size_t, size_t) { Die("eris_shared has no erase"); }
  uint64_t ValueAt(uint64_t key) { return thread_.Lookup(key).value(); }
  uint64_t size() const { return tree_.CountKeys(); }
  void AddMemory(Json& json) {
    const memory::ObjectAccount account = memory_.manager().Account();
    json.Add("used", account.used_bytes).Add("committed", account.committed_bytes);
  }

 private:
  SharedMemory memory_;
  SharedTree tree_;
  SharedTree::Thread thread_;
  std::vector<uint64_t> values_ = std::vector<uint64_t>(kBlockKeys);
  std::unique_ptr<bool[]> found_{new bool[kBlockKeys]};
};

}  // namespace

std::vector<NamedSide> SharedSides() {
  return {{"eris_shared", [](const SideOptions& options) -> std::unique_ptr<Side> {
             return std::make_unique<StructureLab<SharedStructure>>(options);
           }}};
}

}  // namespace eris::bench
