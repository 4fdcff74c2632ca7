// The memory limit of all sessions' Ports together. Any thread, never blocks.
#ifndef ERIS_ROUTING_BLOCK_ALLOWANCE_H_
#define ERIS_ROUTING_BLOCK_ALLOWANCE_H_

#include <atomic>
#include <cstdint>

namespace eris::routing {

class BlockAllowance {
 public:
  explicit BlockAllowance(uint64_t bytes_max) : bytes_max_(bytes_max) {}
  BlockAllowance(const BlockAllowance&) = delete;
  BlockAllowance& operator=(const BlockAllowance&) = delete;

  // False: less than `bytes` is left.
  [[nodiscard]] bool TryTake(uint64_t bytes) {
    // relaxed, here and below: only a count; it publishes no data.
    if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= bytes_max_) return true;
    Give(bytes);
    return false;
  }
  void Give(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  // Half of it is used: unneeded blocks are then freed instead of kept. So idle Ports keep at most
  // half of it, whatever they have sent before.
  bool Crowded() const { return used() > bytes_max_ / 2; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const uint64_t bytes_max_;
  // Shared: written by Ports, and by the threads that return their blocks.
  std::atomic<uint64_t> used_{0};
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_BLOCK_ALLOWANCE_H_
