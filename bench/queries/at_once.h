// Readers of queries that begin together.
#ifndef ERIS_BENCH_QUERIES_AT_ONCE_H_
#define ERIS_BENCH_QUERIES_AT_ONCE_H_

#include <cstdint>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "bench/routing/machine.h"
#include "eris/engine.h"

namespace eris::bench {

// Calls read(i, a session of its own) in a thread for each i below `readers`. Milliseconds from the
// moment at which all may begin until the last has returned.
inline double MsOfAll(Engine& engine, uint32_t readers,
                      absl::FunctionRef<void(uint32_t, Session&)> read) {
  std::latch ready(readers), begin(1);
  std::vector<std::thread> threads;
  for (uint32_t reader = 0; reader < readers; ++reader) {
    threads.emplace_back([&, reader] {
      const std::unique_ptr<Session> session = engine.NewSession();
      ready.count_down();
      begin.wait();
      read(reader, *session);
    });
  }
  ready.wait();
  const uint64_t begin_ns = NowNs();
  begin.count_down();
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(NowNs() - begin_ns) / 1e6;
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_QUERIES_AT_ONCE_H_
