// Real AEUs with an index over all of them, and for each a bare partition with the same rows: the
// difference is the cost of routing. No threads of its own.
#ifndef ERIS_BENCH_ROUTING_LOOK_UP_LAB_H_
#define ERIS_BENCH_ROUTING_LOOK_UP_LAB_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "aeu/aeu.h"
#include "bench/routing/huge_buffer.h"
#include "bench/routing/machine.h"
#include "memory/local_cache.h"
#include "memory/memory_manager.h"
#include "memory/numa_node_pool.h"
#include "memory/system/memory_budget.h"
#include "routing/answers.h"
#include "routing/block_pool.h"
#include "routing/endpoint.h"
#include "routing/port.h"
#include "routing/return_point.h"
#include "storage/index/index_partition.h"
#include "topology/topology.h"

namespace eris::bench {

// Sparse: a bijection that spreads its argument over all 64 bits.
inline uint64_t SparseKey(uint64_t i) {
  i = (i ^ (i >> 31)) * 0x9e3779b97f4a7c15u;
  i = (i ^ (i >> 29)) * 0xbf58476d1ce4e5b9u;
  return i ^ (i >> 32);
}
inline uint64_t ValueOf(uint64_t key) { return ~key; }

// The columns of one request, reused when it has been answered.
struct LookupReply final : routing::Reply {
  explicit LookupReply(uint32_t count) : values_column(count), states_column(count) {
    values = values_column.data();
    states = states_column.data();
  }
  static void Answered(routing::Reply* reply, uint32_t answered) noexcept {
    // release: pairs with the acquire load of the source, which reads the columns.
    static_cast<LookupReply*>(reply)->left.fetch_sub(answered, std::memory_order_acq_rel);
  }

  std::vector<uint64_t> values_column;
  std::vector<storage::KeyState> states_column;
  const uint64_t* keys = nullptr;
  alignas(128) std::atomic<uint32_t> left{0};
};

// Where the blocks of a Port come home whose thread looks there by itself, as a session's does that
// waits for an answer.
class Home final : public routing::ReturnListener {
 public:
  // As a session's Port.
  routing::PortOptions OfSession(const routing::PortOptions& options) {
    routing::PortOptions of_session = options;
    of_session.way = routing::PortOptions::Way::kIngress;
    of_session.home = &blocks_;
    return of_session;
  }
  void Collect() { routing::CollectAnswers(blocks_); }
  void BlocksAreHome() noexcept override {}

 private:
  routing::ReturnPoint blocks_{*this};
};

class LookupLab {
 public:
  LookupLab(uint32_t aeus, uint64_t keys, size_t incoming_bytes = 1 << 20) : keys_(keys) {
    std::vector<uint64_t> starts;
    std::vector<AeuId> owners;
    for (uint32_t i = 0; i < aeus; ++i) {
      starts.push_back(i == 0 ? 0 : ~uint64_t{0} / aeus * i);
      owners.push_back({i});
      buffers_.push_back(std::make_unique<HugeBuffer>(2 * incoming_bytes));
      directory_.Add(
          std::make_unique<routing::AeuEndpoint>(buffers_.back()->data(), incoming_bytes));
    }
    table_ = std::make_unique<const routing::RangeTable>(1, starts, owners);
    route_.emplace(
        0, ObjectId{1},
        std::make_unique<const routing::RangeTable>(1, std::move(starts), std::move(owners)));
    for (uint32_t i = 0; i < aeus; ++i) {
      aeus_.push_back(std::make_unique<aeu::Aeu>(AeuId{i}, directory_, routing::PortOptions{}));
    }
    Fill();
  }
  ~LookupLab() {
    for (auto& partition : bare_) partition->Abandon();
  }

  uint32_t aeus() const { return static_cast<uint32_t>(aeus_.size()); }
  aeu::Aeu& aeu(uint32_t i) { return *aeus_[i]; }
  storage::Partition& bare(uint32_t i) { return *bare_[i]; }
  const routing::EndpointDirectory& directory() const { return directory_; }
  const routing::ObjectRoute& route() const { return *route_; }

  // Random existing keys; only of one AEU if given.
  std::vector<uint64_t> Probes(size_t count, uint64_t seed, std::optional<AeuId> aeu) const {
    std::mt19937_64 random(seed);
    std::vector<uint64_t> probes;
    while (probes.size() < count) {
      const uint64_t key = SparseKey(random() % keys_);
      if (!aeu || table_->OwnerOf(key) == *aeu) probes.push_back(key);
    }
    return probes;
  }

 private:
  void Fill() {
    routing::Port port(directory_, {.pool_bytes_max = 64 << 20});
    Install(port);
    Load(port);
    uint64_t rows = 0;
    for (const auto& partition : bare_) rows += partition->size();
    if (rows != keys_) Die("rows are missing");
  }

  // An empty range for each AEU, and a bare partition of the same range.
  void Install(routing::Port& port) {
    managers_.push_back(std::make_unique<memory::MemoryManager>(ObjectId{1}, pool_));
    LookupReply installed(1);
    for (uint32_t i = 0; i < aeus(); ++i) {
      const routing::InstallSegment install{
          .range = table_->RangeOf(i), .manager = managers_[0].get(), .route = &*route_};
      installed.left = 1;
      if (!port.SendTo({i},
                       {.type = routing::CommandType::kInstall,
                        .object = ObjectId{1},
                        .complete = &LookupReply::Answered,
                        .context = &installed,
                        .count = 1},
                       {reinterpret_cast<const std::byte*>(&install), sizeof install}))
        Die("no room to install");
      port.Flush();
      Await(installed);

      managers_.push_back(std::make_unique<memory::MemoryManager>(ObjectId{2}, pool_));
      memory::LocalCache* cache = managers_.back()->NewCache();
      if (cache == nullptr) Die("no memory for a cache");
      auto partition = storage::IndexPartition::Create(install.range, *cache);
      if (!partition.ok()) Die("no memory for a partition");
      bare_.push_back(*std::move(partition));
    }
  }

  // All keys, into both.
  void Load(routing::Port& port) {
    constexpr uint32_t kBatch = 65536;
    std::vector<uint64_t> keys(kBatch), values(kBatch);
    LookupReply reply(kBatch);
    for (uint64_t first = 0; first < keys_; first += kBatch) {
      const auto n = static_cast<uint32_t>(std::min<uint64_t>(kBatch, keys_ - first));
      for (uint32_t i = 0; i < n; ++i) keys[i] = SparseKey(first + i);
      // By owner: the bare partitions take pieces.
      std::sort(keys.begin(), keys.begin() + n);
      for (uint32_t i = 0; i < n; ++i) values[i] = ValueOf(keys[i]);
      reply.left = n;
      if (port.Send(*route_,
                    {.type = routing::CommandType::kUpsert,
                     .keys = std::span(keys).first(n),
                     .values = std::span(values).first(n),
                     .complete = &LookupReply::Answered,
                     .context = &reply},
                    storage::KeyState::kRefused) != 0)
        Die("no room to load");
      port.Flush();
      Await(reply);
      LoadBare(std::span(keys).first(n), values.data(), reply.states);
    }
  }

  void LoadBare(std::span<const uint64_t> keys, const uint64_t* values, storage::KeyState* states) {
    std::vector<uint32_t> positions(keys.size());
    std::iota(positions.begin(), positions.end(), 0);
    std::vector<AeuId> owners(keys.size());
    table_->OwnersOf(keys, owners);
    for (uint32_t i = 0; i < keys.size();) {
      const AeuId owner = owners[i];
      uint32_t end = i;
      while (end < keys.size() && owners[end] == owner) ++end;
      const storage::BatchPart part{.count = end - i,
                                    .keys = &keys[i],
                                    .values_in = &values[i],
                                    .positions = positions.data(),
                                    .values_out = nullptr,
                                    .states_out = states};
      bare_[owner.value]->Execute({storage::Operation::kUpsert, {&part, 1}});
      i = end;
    }
  }

  void Await(const LookupReply& reply) {
    while (reply.left.load(std::memory_order_acquire) > 0) {
      for (auto& aeu : aeus_) aeu->Step({});
    }
  }

  const uint64_t keys_;
  memory::MemoryBudget budget_{uint64_t{1} << 36};
  memory::NumaNodePool pool_{topology::NumaNode{}, /*bind=*/false, budget_};
  std::vector<std::unique_ptr<memory::MemoryManager>> managers_;
  std::vector<std::unique_ptr<storage::IndexPartition>> bare_;
  std::vector<std::unique_ptr<HugeBuffer>> buffers_;
  routing::EndpointDirectory directory_;
  std::unique_ptr<const routing::RangeTable> table_;  // the route's
  std::optional<routing::ObjectRoute> route_;
  std::vector<std::unique_ptr<aeu::Aeu>> aeus_;  // last: they use everything above
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_LOOK_UP_LAB_H_
