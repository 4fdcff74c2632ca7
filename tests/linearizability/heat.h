// A load that keeps the balancer busy: lookups of the rows behind a few neighbouring keys, which
// are others every few periods. A thread of its own for as long as it lives.
#ifndef ERIS_TESTS_LINEARIZABILITY_HEAT_H_
#define ERIS_TESTS_LINEARIZABILITY_HEAT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>

#include "clients/eris_client.h"
#include "tests/linearizability/loaded_object.h"

namespace eris {

class Heat {
 public:
  // `client` and `object` outlive it.
  Heat(client::Client& client, const LoadedObject& object, uint64_t seed);
  ~Heat() { Stop(); }
  // Ends the load. Lookups that did not find a row as nobody has changed it; the first is printed.
  uint64_t Stop();

 private:
  void Run();

  client::Client& client_;
  const LoadedObject& object_;
  std::mt19937_64 random_;  // owned by the thread
  uint64_t wrong_ = 0;      // owned by the thread, and after its end by Stop
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace eris

#endif  // ERIS_TESTS_LINEARIZABILITY_HEAT_H_
