// An engine whose AEUs are stepped by the test. Calls that wait for AEUs run on a thread of their
// own meanwhile.
#ifndef ERIS_TESTS_SUPPORT_HAND_ENGINE_H_
#define ERIS_TESTS_SUPPORT_HAND_ENGINE_H_

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"
#include "engine/engine_impl.h"
#include "tests/support/objects.h"

namespace eris::test {

class HandEngine {
 public:
  explicit HandEngine(uint32_t aeus, const std::function<void(Options&)>& change = nullptr) {
    Options options;
    options.topology = "numa:1 core:" + std::to_string(aeus) + " pu:1";
    options.aeu_count = aeus;
    options.memory_limit_bytes = uint64_t{1} << 30;
    options.incoming_buffer_bytes = 64 << 10;
    options.outgoing_buffer_bytes = 4 << 10;
    options.port_buffers_bytes_max = 128 << 10;
    if (change) change(options);
    auto engine = engine::EngineImpl::Open(options, engine::EngineImpl::Threads::kNone);
    ERIS_CHECK(engine.ok());
    engine_ = *std::move(engine);
  }
  ~HandEngine() {
    if (engine_) Close();
  }

  engine::EngineImpl& operator*() { return *engine_; }
  engine::EngineImpl* operator->() { return engine_.get(); }

  bool StepAll() {
    bool worked = false;
    for (uint32_t i = 0; i < engine_->aeu_count(); ++i) worked |= engine_->aeu({i}).Step({});
    return worked;
  }
  // Steps until `done`; a minute without it fails a check.
  void StepUntil(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!done()) {
      if (!StepAll()) sched_yield();
      ERIS_CHECK(std::chrono::steady_clock::now() < end);
    }
  }
  // Waits without a step.
  static void Await(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!done()) {
      sched_yield();
      ERIS_CHECK(std::chrono::steady_clock::now() < end);
    }
  }
  // Runs `call` on another thread and steps until it has returned.
  template <class Call>
  auto While(Call call) -> decltype(call()) {
    std::atomic<bool> done{false};
    std::optional<decltype(call())> result;
    std::thread thread([&] {
      result.emplace(call());
      done.store(true);
    });
    StepUntil([&] { return done.load(); });
    thread.join();
    return *std::move(result);
  }
  // Makes the object and opens it.
  Object Create(absl::string_view name, const CreateOptions& options = {}) {
    const auto created = While([&] { return engine_->Create(name, options); });
    if (!created.ok()) std::fprintf(stderr, "%s\n", created.status().ToString().c_str());
    ERIS_CHECK(created.ok());
    return Open(*engine_, name);
  }
  void Close() {
    While([&] {
      engine_->Close();
      return true;
    });
  }

 private:
  std::unique_ptr<engine::EngineImpl> engine_;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_HAND_ENGINE_H_
