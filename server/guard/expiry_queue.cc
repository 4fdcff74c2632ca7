#include "server/guard/expiry_queue.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"

namespace eris::server {

using std::chrono::milliseconds;

void ExpiryQueue::Watch::Begin(ExpiryQueue& queue, std::shared_ptr<Owner> owner, uint64_t tag,
                               Clock::time_point now) {
  End();
  queue_ = &queue;
  queue.Link(this, std::move(owner), tag, now);
}

void ExpiryQueue::Watch::End() {
  if (queue_ != nullptr) std::exchange(queue_, nullptr)->Remove(this);
}

ExpiryQueue::ExpiryQueue(milliseconds limit, std::function<void(Clock::duration)> arm)
    : limit_(limit), arm_(std::move(arm)) {}

void ExpiryQueue::SetLimit(milliseconds limit) {
  {
    base::MutexLock lock(&mu_);
    limit_.store(limit, std::memory_order_relaxed);  // see limit()
    if (limit.count() == 0 || oldest_ == nullptr) {
      armed_ = false;  // a pending sweep may be too late for what begins now
      return;
    }
    armed_ = true;
  }
  arm_(Clock::duration::zero());
}

ExpiryQueue::~ExpiryQueue() { ERIS_CHECK(watched() == 0); }

std::optional<ExpiryQueue::Clock::duration> ExpiryQueue::Sweep(Clock::time_point now) {
  std::vector<std::pair<std::shared_ptr<Owner>, uint64_t>> expired;
  std::optional<Clock::duration> next;
  {
    base::MutexLock lock(&mu_);
    const milliseconds limit = this->limit();
    // Minimum time between sweeps, because the clock is coarse.
    const Clock::duration tick = std::clamp(limit / 64, milliseconds(1), milliseconds(1000));
    const bool limited = limit.count() > 0;
    while (limited && oldest_ != nullptr && oldest_->began_ + limit <= now) {
      Watch* const watch = oldest_;
      expired.emplace_back(std::move(watch->owner_), watch->tag_);
      Unlink(watch);
    }
    armed_ = limited && oldest_ != nullptr;
    if (armed_) next = std::max(oldest_->began_ + limit - now, tick);
  }
  // Outside the lock: owners have their own locks, and may begin a watch.
  for (auto& [owner, tag] : expired) owner->OnExpired(tag);
  return next;
}

size_t ExpiryQueue::watched() const {
  base::MutexLock lock(&mu_);
  return watched_;
}

void ExpiryQueue::Link(Watch* watch, std::shared_ptr<Owner> owner, uint64_t tag,
                       Clock::time_point now) {
  Clock::duration limit{};
  {
    base::MutexLock lock(&mu_);
    limit = this->limit();
    watch->owner_ = std::move(owner);
    watch->tag_ = tag;
    watch->began_ = now;
    watch->linked_ = true;
    watch->older_ = newest_;
    watch->newer_ = nullptr;
    (newest_ == nullptr ? oldest_ : newest_->newer_) = watch;
    newest_ = watch;
    ++watched_;
    if (limit.count() == 0 || std::exchange(armed_, true)) return;
  }
  arm_(limit);
  // SetLimit may have armed it for now meanwhile, and this would have put it off.
  if (this->limit() != limit) arm_(Clock::duration::zero());
}

void ExpiryQueue::Unlink(Watch* watch) {
  (watch->older_ == nullptr ? oldest_ : watch->older_->newer_) = watch->newer_;
  (watch->newer_ == nullptr ? newest_ : watch->newer_->older_) = watch->older_;
  watch->linked_ = false;
  --watched_;
}

void ExpiryQueue::Remove(Watch* watch) {
  std::shared_ptr<Owner> dropped;  // destroyed outside the lock
  base::MutexLock lock(&mu_);
  if (!watch->linked_) return;
  dropped.swap(watch->owner_);
  Unlink(watch);
}

}  // namespace eris::server
