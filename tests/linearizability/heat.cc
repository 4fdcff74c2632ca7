#include "tests/linearizability/heat.h"

#include <cinttypes>
#include <cstdio>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace eris {
namespace {

// The balancer moves ranges after two periods of 10 ms with the same load.
constexpr int64_t kPlaceNs = 60'000'000;
constexpr absl::Duration kPause = absl::Milliseconds(1);
// In a batch. AEUs that spend less than 0.5 % of their time on an object leave it as it is, and a
// lookup in a hash takes them some 10 ns.
constexpr size_t kLookups = 2048;

}  // namespace

Heat::Heat(client::Client& client, const LoadedObject& object, uint64_t seed)
    : client_(client), object_(object), random_(seed), thread_([this] { Run(); }) {}

uint64_t Heat::Stop() {
  // relaxed: it ends the loop; the join orders the rest.
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
  return wrong_;
}

void Heat::Run() {
  while (!stop_.load(std::memory_order_relaxed)) {
    const size_t place = random_() % (kKeyCount - 2);
    const Rows rows = RowsBehind(place, place + 2);
    std::vector<Operation> batch;
    for (size_t i = 0; i < kLookups; ++i) {
      batch.push_back({.verb = Verb::kGet, .key = rows.keys[i % rows.keys.size()]});
    }
    const int64_t end_ns = NowNs() + kPlaceNs;
    while (NowNs() < end_ns && !stop_.load(std::memory_order_relaxed)) {
      // A busy machine may refuse it, or be late.
      const bool answered = object_.Execute(client_, absl::MakeSpan(batch)).ok();
      for (size_t i = 0; answered && i < batch.size(); ++i) {
        if (batch[i].answer == Answer::kYes && batch[i].read == rows.values[i % rows.keys.size()])
          continue;
        if (wrong_++ > 0) continue;
        std::fprintf(stderr, "row %" PRIu64 ", which nobody writes to, is %s\n", batch[i].key,
                     batch[i].answer == Answer::kYes ? "another" : "not there");
      }
      absl::SleepFor(kPause);
    }
  }
}

}  // namespace eris
