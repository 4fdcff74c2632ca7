// Prints a line of load on stderr from the engine's growing counters. Owned by the control loop's
// thread.
#ifndef ERIS_SERVER_ADMIN_LOAD_SAMPLER_H_
#define ERIS_SERVER_ADMIN_LOAD_SAMPLER_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "eris/engine.h"

namespace eris::server {

class LoadSampler {
 public:
  // `engine` outlives the sampler.
  explicit LoadSampler(Engine* engine);

  // Writes Next() to stderr.
  void Sample();
  // The load since the last sample: keys and rows per second, the busiest AEU's share of the keys,
  // memory in use.
  std::string Next(absl::Time now);

 private:
  Engine* const engine_;
  EngineStats last_;
  absl::Time last_time_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_ADMIN_LOAD_SAMPLER_H_
