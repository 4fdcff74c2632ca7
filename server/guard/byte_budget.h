// A shared limit for the bytes of all calls together. Any thread, never blocks.
#ifndef ERIS_SERVER_GUARD_BYTE_BUDGET_H_
#define ERIS_SERVER_GUARD_BYTE_BUDGET_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/check.h"

namespace eris::server {

class ByteBudget {
 public:
  // Taken bytes; the destructor returns them.
  class Charge {
   public:
    Charge() = default;
    Charge(Charge&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
    Charge& operator=(Charge&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Charge() {
      if (budget_ != nullptr) budget_->GiveBack(bytes_);
    }
    // Takes `more` bytes of the same budget. False: they do not fit. REQUIRES: not empty.
    [[nodiscard]] bool TryGrow(uint64_t more) {
      if (!budget_->TryAdd(more, budget_->bytes_max_)) return false;
      bytes_ += more;
      return true;
    }
    // Returns all but `bytes`. REQUIRES: not empty, bytes <= bytes().
    void Shrink(uint64_t bytes) {
      ERIS_DCHECK(bytes <= bytes_);
      budget_->GiveBack(bytes_ - bytes);
      bytes_ = bytes;
    }
    explicit operator bool() const { return budget_ != nullptr; }
    uint64_t bytes() const { return budget_ == nullptr ? 0 : bytes_; }

   private:
    friend class ByteBudget;
    Charge(ByteBudget* budget, uint64_t bytes) : budget_(budget), bytes_(bytes) {}
    ByteBudget* budget_ = nullptr;
    uint64_t bytes_ = 0;
  };

  explicit ByteBudget(uint64_t bytes_max) : bytes_max_(bytes_max) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;
  ~ByteBudget() { ERIS_DCHECK(used() == 0); }

  // An empty Charge if `bytes` more do not fit, or do not fit in `within`, which is at most
  // bytes_max(), for callers that must leave room for others. The budget outlives the charge.
  [[nodiscard]] Charge TryTake(uint64_t bytes) { return TryTake(bytes, bytes_max_); }
  [[nodiscard]] Charge TryTake(uint64_t bytes, uint64_t within) {
    return TryAdd(bytes, within) ? Charge(this, bytes) : Charge();
  }

  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t bytes_max() const { return bytes_max_; }

 private:
  bool TryAdd(uint64_t bytes, uint64_t within) {
    // relaxed, here and below: only a count; it publishes no data.
    uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (used > within || bytes > within - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void GiveBack(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  // Immutable after construction.
  const uint64_t bytes_max_;
  // Shared: written and read by every thread that serves a call.
  std::atomic<uint64_t> used_{0};
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_BYTE_BUDGET_H_
