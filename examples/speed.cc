// The speed of the engine inside your own program, as `eris bench lookup --embedded --layout dense`
// measures it: one session, lookups of 1024 keys each, eight of them in flight, callbacks that only
// hand the answer on. docs/guide/speed.md explains each of these. Checks every value.
//
//   speed [keys] [seconds]        default: 1000000 keys, 5 s
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "eris/engine.h"

namespace {

constexpr size_t kBatchKeys = 1024;
constexpr size_t kInFlight = 8;

// Returns the value, or ends the program.
template <class T>
T Get(absl::StatusOr<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
    std::exit(1);
  }
  return std::move(result).value();
}

struct Lookup {
  std::vector<uint64_t> keys;
  eris::BatchResult answer;
};

// Answered lookups, on their way from the engine's completion thread to the calling one.
class Answered {
 public:
  void Put(Lookup* one) {
    {
      const std::lock_guard lock(mu_);
      lookups_.push_back(one);
    }
    any_.notify_one();
  }
  // Waits until there is at least one; takes all.
  void Take(std::vector<Lookup*>& all) {
    all.clear();
    std::unique_lock lock(mu_);
    any_.wait(lock, [&] { return !lookups_.empty(); });
    std::swap(all, lookups_);
  }

 private:
  std::mutex mu_;
  std::condition_variable any_;
  std::vector<Lookup*> lookups_;
};

uint64_t ValueOf(uint64_t key) { return key * 7 + 1; }

// Writes keys 0 to `count` - 1, many at a time.
void Load(eris::Session& session, const eris::Object& object, uint64_t count) {
  constexpr uint64_t kAtOnce = 16384;
  std::vector<uint64_t> keys, values;
  for (uint64_t key = 0; key < count;) {
    keys.clear();
    values.clear();
    for (; key < count && keys.size() < kAtOnce; ++key) {
      keys.push_back(key);
      values.push_back(ValueOf(key));
    }
    const absl::Status status = session.Upsert(object, keys, values);
    if (!status.ok()) Get<int>(status);
  }
}

// The number of keys that were not found, or had another value.
size_t Wrong(const Lookup& lookup) {
  if (!lookup.answer.status.ok()) Get<int>(lookup.answer.status);
  const char* values = lookup.answer.columns[0].values.data();
  size_t wrong = 0;
  for (size_t i = 0; i < lookup.keys.size(); ++i) {
    uint64_t value;
    std::memcpy(&value, values + i * sizeof value, sizeof value);
    wrong += value != ValueOf(lookup.keys[i]) || !eris::BitAt(lookup.answer.existed, i);
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 5;
  if (argc > 3 || count < 1 || !(seconds > 0)) {
    std::fprintf(stderr, "usage: speed [keys, at least 1] [seconds, above 0]\n");
    return 2;
  }
  const auto engine = Get(eris::Engine::Open({.memory_limit_bytes = (512 << 20) + count * 64}));
  // Each AEU gets an equal share of the expected keys. If none were given, they would share all
  // 64-bit numbers, and one AEU would have all keys of this program.
  Get(engine->Create("speed", {.expected = {0, count}}));
  const auto session = engine->NewSession();  // on the thread that uses it
  const auto object = Get(session->Open("speed"));
  Load(*session, object, count);

  Answered answered;
  std::vector<Lookup> lookups(kInFlight);
  uint64_t random = 1;
  const auto start = [&](Lookup& lookup) {
    lookup.keys.resize(kBatchKeys);
    for (uint64_t& key : lookup.keys) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      key = static_cast<uint64_t>(static_cast<double>(random >> 11) * 0x1p-53 *
                                  static_cast<double>(count));
    }
    // The callback runs on a completion thread, where others wait for it: it does next to nothing.
    Get(session->LookupAsync(object, lookup.keys, [&](eris::BatchResult answer) {
      lookup.answer = std::move(answer);
      answered.Put(&lookup);
    }));
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (Lookup& lookup : lookups) start(lookup);
  uint64_t keys = 0, wrong = 0;
  std::vector<Lookup*> some;
  for (size_t in_flight = kInFlight; in_flight > 0;) {
    answered.Take(some);
    const bool goes_on = elapsed() < seconds;
    for (Lookup* one : some) {
      keys += one->keys.size();
      wrong += Wrong(*one);
      // The next one is sent at once, so that the AEUs always have something to do.
      if (goes_on) start(*one);
      if (!goes_on) --in_flight;
    }
  }
  std::printf("%.0f keys/s; %zu AEUs, %zu lookups of %zu keys in flight, %llu wrong\n",
              static_cast<double>(keys) / elapsed(), engine->Stats().aeus.size(), kInFlight,
              kBatchKeys, static_cast<unsigned long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
