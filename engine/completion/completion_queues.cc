#include "engine/completion/completion_queues.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "base/check.h"

namespace eris::engine {
namespace {

constexpr size_t kBits = 64;

// The queues for which this thread defers, and those to which it has pushed tasks since: queue i
// has bit i modulo 64. Looking at one more is harmless.
thread_local const CompletionQueues* deferring = nullptr;
thread_local uint64_t pushed_while_deferring = 0;

}  // namespace

CompletionQueues::CompletionQueues(const std::vector<CompletionThreadOptions>& threads) {
  for (const CompletionThreadOptions& thread : threads) {
    queues_.push_back(std::make_unique<CompletionQueue>(thread, this, queues_.size()));
  }
}

void CompletionQueues::Defer() {
  ERIS_CHECK(deferring == nullptr);
  deferring = this;
}

void CompletionQueues::WakeNoted(uint64_t noted, size_t from) const {
  for (size_t i = from; noted != 0 && i < queues_.size(); ++i) {
    if ((noted >> i % kBits & 1) != 0) queues_[i]->Wake();
  }
}

void CompletionQueues::RunDeferred() noexcept {
  if (deferring != this) return;
  deferring = nullptr;
  const uint64_t noted = std::exchange(pushed_while_deferring, 0);
  if (noted == 0) return;
  const auto first = static_cast<size_t>(std::countr_zero(noted));
  WakeNoted(noted, first + 1);
  queues_[first]->RunHereOrWake();
  if (ended_.load(std::memory_order_relaxed)) [[unlikely]]
    RunEnded();
}

void CompletionQueues::GiveDeferred() {
  if (deferring == this) WakeNoted(std::exchange(pushed_while_deferring, 0), 0);
}

bool CompletionQueues::Deferred(size_t number) const {
  if (deferring != this) return false;
  pushed_while_deferring |= uint64_t{1} << number % kBits;
  return true;
}

void CompletionQueues::Stop() {
  // A task may push to any queue: none ends while another one's thread is running.
  for (const auto& queue : queues_) queue->Join();
  ended_.store(true, std::memory_order_relaxed);
  for (const auto& queue : queues_) queue->End();
  RunEnded();
}

void CompletionQueues::RunEnded() const {
  if (OnCompletionThread()) return;  // the caller of this task looks again
  base::MutexLock lock(&ended_mu_);
  for (bool ran = true; ran;) {
    ran = false;
    for (const auto& queue : queues_) ran |= queue->RunPushedHere();
  }
}

bool CompletionQueues::OnCompletionThread() const {
  return std::any_of(queues_.begin(), queues_.end(),
                     [](const auto& queue) { return queue->OnCompletionThread(); });
}

absl::Status CompletionQueues::binding_status() const {
  for (const auto& queue : queues_) {
    if (!queue->binding_status().ok()) return queue->binding_status();
  }
  return absl::OkStatus();
}

}  // namespace eris::engine
