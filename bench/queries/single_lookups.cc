#include "bench/queries/single_lookups.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "absl/types/span.h"
#include "bench/key_order.h"
#include "bench/must.h"
#include "bench/routing/machine.h"

namespace eris::bench {
namespace {

constexpr uint64_t kLookedUpKeys = 1 << 20;

// Made by the first call.
Object LookedUp(Engine& engine, Session& session) {
  constexpr char kName[] = "looked_up";
  if (!engine.Describe(kName).ok()) {
    Must(engine.Create(kName, {.expected = {0, kLookedUpKeys}}));
    std::vector<uint64_t> keys(kLookedUpKeys);
    std::iota(keys.begin(), keys.end(), uint64_t{0});
    Must(session.Upsert(Must(session.Open(kName)), keys, keys));
  }
  return Must(session.Open(kName));
}

// `sorted`: ascending.
double At(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

nlohmann::json SingleLookups(Engine& engine, uint64_t ms,
                             const std::function<void(Session&)>& meanwhile) {
  const auto session = engine.NewSession();
  const Object index = LookedUp(engine, *session);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> loops{0};
  std::thread others;
  if (meanwhile) {
    others = std::thread([&] {
      const auto own = engine.NewSession();
      while (!stop.load(std::memory_order_relaxed)) {
        meanwhile(*own);
        loops.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  std::vector<double> us;
  const uint64_t end_ns = NowNs() + ms * 1'000'000;
  const auto is_enough = [&] {
    return NowNs() >= end_ns && (!meanwhile || loops.load(std::memory_order_relaxed) > 0);
  };
  for (uint64_t i = 0; i == 0 || !is_enough(); ++i) {
    const uint64_t key = Mix(i) % kLookedUpKeys;
    uint64_t value = 0;
    uint8_t found = 0;
    const uint64_t begin_ns = NowNs();
    Must(session->Lookup(index, absl::MakeConstSpan(&key, 1), absl::MakeSpan(&value, 1),
                         absl::MakeSpan(&found, 1)));
    us.push_back(static_cast<double>(NowNs() - begin_ns) / 1e3);
    if (found == 0 || value != key) Die("a wrong value");
  }
  stop.store(true, std::memory_order_relaxed);
  if (others.joinable()) others.join();
  std::sort(us.begin(), us.end());
  return {{"lookups", us.size()},
          {"p50_us", At(us, 0.5)},
          {"p99_us", At(us, 0.99)},
          {"p999_us", At(us, 0.999)},
          {"loops", loops.load(std::memory_order_relaxed)}};
}

}  // namespace eris::bench
