// An engine whose memory accesses are counted (tests/numa): an AEU on each NumaNode, and on the
// AEUs' cpus nothing else. What must not fail ends the program.
#ifndef ERIS_BENCH_COUNTED_ENGINE_H_
#define ERIS_BENCH_COUNTED_ENGINE_H_

#include <cstdio>
#include <memory>
#include <string>

#include "bench/counted_cpus.h"
#include "bench/must.h"
#include "engine/engine_impl.h"

namespace eris::bench {

// `options`: without the AEUs' cpus. Ranges stay where they are.
inline std::unique_ptr<engine::EngineImpl> OpenCounted(Options options, const CountedCpus& cpus) {
  options.aeu_cpus = cpus.aeus;
  options.balancer.enabled = false;
  cpus.AllowAll();
  auto opened = Must(engine::EngineImpl::Open(options, engine::EngineImpl::Threads::kStart));
  for (const std::string& note : opened->Notes()) std::fprintf(stderr, "%s\n", note.c_str());
  cpus.KeepOthersAway();
  return opened;
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_COUNTED_ENGINE_H_
