// Measures the cost of splitting a command by owner: Port::Send of random keys and the release of
// its blocks, without an AEU. By ranges of the table and keys of the command: up to 32 ranges, with
// at least 32 keys and four per range, uses vectors, else key by key. Sizes on both sides of these
// limits show whether they are well chosen.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "bench/routing/huge_buffer.h"
#include "routing/endpoint.h"
#include "routing/port.h"

namespace eris::bench {
namespace {

struct NoReply final : routing::Reply {};

void Send(benchmark::State& state) {
  const auto ranges = static_cast<uint32_t>(state.range(0));
  const auto n = static_cast<size_t>(state.range(1));
  const bool upsert = state.range(2) != 0;
  constexpr size_t kHalfBytes = 64 << 10;
  HugeBuffer memory(2 * kHalfBytes * ranges);
  routing::EndpointDirectory directory;
  std::vector<uint64_t> starts;
  std::vector<AeuId> owners;
  for (uint32_t i = 0; i < ranges; ++i) {
    directory.Add(
        std::make_unique<routing::AeuEndpoint>(memory.data() + 2 * kHalfBytes * i, kHalfBytes));
    starts.push_back(~uint64_t{0} / ranges * i);
    owners.push_back({i});
  }
  const routing::ObjectRoute route(0, ObjectId{1},
                                   std::make_unique<routing::RangeTable>(1, starts, owners));
  routing::Port port(directory, {.pool_bytes_max = size_t{64} << 20});
  std::mt19937_64 random(7);
  std::vector<uint64_t> keys(n * 16);
  for (uint64_t& key : keys) key = random();
  std::vector<storage::KeyState> states(n);
  NoReply reply;
  reply.states = states.data();
  size_t batch = 0;
  for (auto _ : state) {
    const auto some = std::span<const uint64_t>(keys).subspan(batch++ % 16 * n, n);
    port.Send(route,
              {.type = upsert ? routing::CommandType::kUpsert : routing::CommandType::kLookup,
               .keys = some,
               .values = upsert ? some : std::span<const uint64_t>(),
               .context = &reply},
              storage::KeyState::kRefused);
    port.Flush();
    for (uint32_t i = 0; i < ranges; ++i) {
      routing::Block* block = directory[AeuId{i}].ingress.TakeAll();
      while (block != nullptr) {
        routing::Block* const next = block->next;
        routing::BlockPool::Release(block);
        block = next;
      }
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * n));
}
BENCHMARK(Send)
    ->ArgNames({"ranges", "keys", "upsert"})
    ->ArgsProduct({{1, 2, 4, 5, 8, 16, 32, 33, 64}, {1024}, {0, 1}})
    ->ArgsProduct({{2, 8, 32}, {1, 16, 31, 32, 127, 128, 256, 4096}, {0}})
    ->ArgsProduct({{512}, {256, 16384}, {0}});

}  // namespace
}  // namespace eris::bench

BENCHMARK_MAIN();
