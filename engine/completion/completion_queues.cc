#include "engine/completion/completion_queues.h"

#include <algorithm>
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

void CompletionQueues::RunDeferred() noexcept {
  if (deferring != this) return;
  deferring = nullptr;
  const uint64_t pushed = std::exchange(pushed_while_deferring, 0);
  for (size_t i = 0; pushed != 0 && i < queues_.size(); ++i) {
    if ((pushed >> i % kBits & 1) != 0) queues_[i]->RunHereOrWake();
  }
}

void CompletionQueues::GiveDeferred() {
  if (deferring != this) return;
  const uint64_t pushed = std::exchange(pushed_while_deferring, 0);
  for (size_t i = 0; pushed != 0 && i < queues_.size(); ++i) {
    if ((pushed >> i % kBits & 1) != 0) queues_[i]->Wake();
  }
}

bool CompletionQueues::Deferred(size_t number) const {
  if (deferring != this) return false;
  pushed_while_deferring |= uint64_t{1} << number % kBits;
  return true;
}

void CompletionQueues::Stop() {
  for (const auto& queue : queues_) queue->Stop();
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
