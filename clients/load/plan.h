// The parameters of a load run, the same for all generators. Plain data; any thread.
#ifndef ERIS_CLIENTS_LOAD_PLAN_H_
#define ERIS_CLIENTS_LOAD_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "clients/load/key_set.h"
#include "clients/load/workload.h"
#include "clients/load/zipf.h"

namespace eris::load {

inline constexpr double kRateMin = 0.001;  // of an open loop, in requests per second

struct Plan {
  std::string object = "bench";
  Workload workload;
  bool load = false;  // upsert every key of the set once, instead of `workload`
  uint64_t keys = 1'000'000;
  Layout layout = Layout::kSparse;
  double key_part = 1;
  double hot_part = 0.01;
  uint32_t hot_percent = 90;
  double shift_s = 10;
  std::optional<Zipf> zipf;      // for the picked part of the keys, if the distribution needs it
  uint32_t missing_percent = 0;  // of looked-up keys

  uint32_t batch = 1024;
  uint32_t generators = 1;  // threads, each with its own target
  uint32_t streams = 1;     // per generator
  uint32_t in_flight = 8;   // requests per stream
  bool unary = false;       // remote: a call for each batch, `streams` times `in_flight` of them

  double rate = 0;        // requests per second of all generators; 0: closed loop
  uint64_t requests = 0;  // of all generators; 0: until the time is over
  double seconds = 10;    // measured, after warm_up_s
  double warm_up_s = 0;
  double interval_s = 1;
  double timeout_s = 30;  // without any answer
  uint64_t seed = 1;
  bool verify = false;
  bool tolerate_refusals = false;  // RESOURCE_EXHAUSTED is counted and ends nothing
  bool until_unavailable = false;  // UNAVAILABLE ends the run and is no error

  uint32_t slots() const { return streams * in_flight; }
  // Generator `index`'s share of `all`.
  uint64_t ShareOf(uint64_t all, uint32_t index) const {
    return all / generators + (index < all % generators ? 1 : 0);
  }
};

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_PLAN_H_
