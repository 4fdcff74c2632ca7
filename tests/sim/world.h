// The real classes that a simulation drives, put together without an engine: AEUs, their endpoints,
// Ports and data objects. Everything that depends on how those are constructed stands here.
#ifndef ERIS_TESTS_SIM_WORLD_H_
#define ERIS_TESTS_SIM_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aeu/aeu.h"
#include "memory/cache_directory.h"
#include "memory/memory_manager.h"
#include "routing/port.h"
#include "tests/support/aeu_lab.h"
#include "tests/support/test_endpoints.h"

namespace eris::sim {

struct WorldOptions {
  uint32_t aeus = 1;
  size_t half_bytes = 64 << 10;          // of an incoming buffer
  size_t aeu_outgoing_bytes = 4 << 10;   // of an AEU's Port, per target
  size_t aeu_pool_bytes = 1 << 20;       // of an AEU's Port
  size_t port_outgoing_bytes = 4 << 10;  // of a Port outside
  size_t port_pool_bytes = 1 << 20;      // of a Port outside
};

// AEUs belong to two NumaNodes in turn.
inline constexpr uint32_t kNumaNodes = 2;
inline uint32_t NumaNodeOf(AeuId aeu) { return aeu.value % kNumaNodes; }

// A data object: the truth that AEUs and control see. Clients have views of their own.
struct WorldObject {
  WorldObject(uint32_t slot, ObjectId id, std::vector<uint64_t> starts, std::vector<AeuId> owners,
              test::LabMemory& memory)
      : route(slot, id,
              std::make_unique<routing::RangeTable>(1, std::move(starts), std::move(owners))) {
    const auto caches = std::make_shared<memory::CacheDirectory>();
    for (memory::NumaNodePool* const pool : {&memory.pool, &memory.other_pool}) {
      managers.push_back(std::make_unique<memory::MemoryManager>(
          id, *pool, std::vector<memory::NumaNodePool*>(), caches));
    }
  }

  routing::ObjectRoute route;
  // By NumaNode; cleared once every AEU has dropped the object.
  std::vector<std::unique_ptr<memory::MemoryManager>> managers;
};

// A record on its way to an AEU, as words.
using Record = std::vector<uint64_t>;
inline routing::CommandHeader* HeaderOf(Record& record) {
  return reinterpret_cast<routing::CommandHeader*>(record.data());
}

class World {
 public:
  World(test::LabMemory& memory, const WorldOptions& options);
  ~World();

  uint32_t aeus() const { return static_cast<uint32_t>(aeus_.size()); }
  aeu::Aeu& operator[](uint32_t aeu) { return *aeus_[aeu]; }
  const aeu::Aeu& operator[](uint32_t aeu) const { return *aeus_[aeu]; }
  test::LabMemory& memory() { return memory_; }
  routing::SnapshotRegistry& snapshots() { return endpoints_.directory().snapshots(); }

  // Puts `next` in force, for everybody who reads `route`.
  void Publish(routing::ObjectRoute& route, std::unique_ptr<const routing::RangeTable> next) {
    route.Publish(std::move(next), endpoints_.directory().table_readers());
  }
  // For a client. Never waits. `home` outlives its blocks.
  std::unique_ptr<routing::Port> MakePort(routing::ReturnPoint* home = nullptr);

  // One turn. Without `whole_scans` each scan advances by one run of rows: the clock decides
  // nothing.
  bool Step(uint32_t aeu, bool whole_scans, size_t ingress_bytes) {
    return aeus_[aeu]->Step(
        {.scan_ns = whole_scans ? kForEverNs : 0, .idle_ns = 0, .ingress_bytes = ingress_bytes});
  }
  bool AtRest() const;
  // What the counters must come to once nothing is under way; empty: they do.
  std::string CheckCounters() const;

  // What waits for the AEU's next turn, in its order, taken away and put back: for planted bugs.
  // Appended to `records`. What is in the incoming buffer comes from other AEUs.
  void TakeIncoming(uint32_t aeu, std::vector<Record>& records);
  // `keep_block`: one block that has been read is not let go.
  void TakeIngress(uint32_t aeu, bool keep_block, std::vector<Record>& records);
  void PutRecords(uint32_t aeu, const std::vector<Record>& records);

 private:
  static constexpr uint64_t kForEverNs = 1'000'000'000'000'000;

  test::LabMemory& memory_;
  const WorldOptions options_;
  test::TestEndpoints endpoints_;
  routing::BlockPool* put_back_ = nullptr;       // blocks of PutRecords
  std::vector<routing::Block*> kept_;            // by a planted bug
  std::vector<std::unique_ptr<aeu::Aeu>> aeus_;  // last: they use all of the above
};

}  // namespace eris::sim

#endif  // ERIS_TESTS_SIM_WORLD_H_
