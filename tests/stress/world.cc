#include "tests/stress/world.h"

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace eris::stress {
namespace {

[[noreturn]] void Die(const absl::Status& status) {
  std::fprintf(stderr, "stress: %s\n", status.ToString().c_str());
  std::exit(1);
}

}  // namespace

World::World(const StressOptions& options)
    : options_(options),
      until_(options.seconds > 0 ? absl::Now() + absl::Seconds(options.seconds)
                                 : absl::InfiniteFuture()) {
  Options engine;
  engine.topology = "numa:2 core:2 pu:1";
  engine.aeu_count = options.aeus;
  engine.memory_limit_bytes = options.memory_mib << 20;
  engine.memory_decay_ms = 200;
  engine.send_wait_ms_max = 60'000;  // nothing is refused because AEUs are slow
  engine.balancer.enabled = options.balancer;
  engine.balancer.max_pause_us = 50;
  if (options.balancer) {
    engine.balancer.period_ms = 10;
    engine.balancer.threshold = 0.02;
  }
  if (options.small_buffers) {
    engine.incoming_buffer_bytes = 64 << 10;
    engine.outgoing_buffer_bytes = 4 << 10;
    engine.port_buffers_bytes_max = 8 << 10;
  }
  auto opened = Engine::Open(engine);
  if (!opened.ok()) Die(opened.status());
  engine_ = *std::move(opened);
}

uint64_t World::SeedOf(const std::string& thread) const {
  return options_.seed * 0x9e3779b97f4a7c15 + std::hash<std::string>()(thread);
}

void World::CreateMovable(test::AnyKind kind, const std::string& name) {
  test::AnyObject object(*engine_, kind, name);
  const absl::Status created =
      object.Create({uint64_t{1} << 62, uint64_t{2} << 62, uint64_t{3} << 62});
  if (!created.ok()) Die(created);
  movables_.push_back({name, object.links(), !object.has_keys()});
}

bool World::Ending() const {
  if (ending_.load(std::memory_order_relaxed) || absl::Now() >= until_) return true;
  return options_.batches > 0 && Get(Figure::kBatches) >= options_.batches;
}

void World::End() { ending_.store(true, std::memory_order_relaxed); }

void World::Fault(const std::string& what) {
  base::MutexLock lock(&mu_);
  if (++faults_ <= options_.faults_max) std::fprintf(stderr, "FAULT %s\n", what.c_str());
  if (faults_ >= options_.faults_max) End();
}

uint64_t World::faults() const {
  base::MutexLock lock(&mu_);
  return faults_;
}

bool World::OkOrRefused(const absl::Status& status, const std::string& where) {
  if (status.ok() || absl::IsResourceExhausted(status)) return true;
  Fault(absl::StrCat(where, ": ", status.ToString()));
  return false;
}

bool World::ReadOk(const absl::Status& status, const std::string& where) {
  if (status.ok()) return true;
  if (absl::IsAborted(status)) {
    Count(Figure::kAborted);
  } else if (absl::IsResourceExhausted(status)) {
    Count(Figure::kNoChunk);
  } else {
    Fault(absl::StrCat(where, ": ", status.ToString()));
  }
  return false;
}

}  // namespace eris::stress
