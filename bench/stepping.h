// Steps the AEUs of an engine without threads. One thread.
#ifndef ERIS_BENCH_STEPPING_H_
#define ERIS_BENCH_STEPPING_H_

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "engine/engine_impl.h"

namespace eris::bench {

// Runs `call`, which waits for AEUs, on a separate thread. Meanwhile steps the AEUs in turn: `step`
// runs one turn of an AEU, and returns whether it had work.
template <class Call, class Step>
void Stepping(engine::EngineImpl& engine, Call call, Step step) {
  std::atomic<bool> done{false};
  std::thread thread([&] {
    call();
    done.store(true);
  });
  while (!done.load()) {
    bool worked = false;
    for (uint32_t i = 0; i < engine.aeu_count(); ++i) worked |= step(engine.aeu(AeuId{i}));
    if (!worked) sched_yield();
  }
  thread.join();
}
template <class Call>
void Stepping(engine::EngineImpl& engine, Call call) {
  Stepping(engine, call, [](aeu::Aeu& aeu) { return aeu.Step({}); });
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_STEPPING_H_
