// Limits bytes per second over several threads, without credit for idle time: once bytes have been
// moved, all threads wait until they are paid for. Never blocks; the callers tell the time, in
// nanoseconds of one clock.
#ifndef ERIS_BASE_BYTE_RATE_H_
#define ERIS_BASE_BYTE_RATE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace eris::base {

class ByteRate {
 public:
  // 0: no limit. What is owed is paid for at the new rate. One thread at a time.
  void SetLimit(uint64_t bytes_per_s, uint64_t now_ns) {
    const double before = byte_ns_.load(std::memory_order_relaxed);
    const double after = bytes_per_s == 0 ? 0 : 1e9 / static_cast<double>(bytes_per_s);
    if (before == after) return;
    const auto owed_ns = static_cast<double>(WaitNs(now_ns));
    byte_ns_.store(after, std::memory_order_relaxed);
    paid_ns_.store(before > 0 ? now_ns + Bounded(owed_ns / before * after) : 0,
                   std::memory_order_relaxed);
  }

  // So many bytes have been moved. Any thread.
  void Add(uint64_t bytes, uint64_t now_ns) {
    const double byte_ns = byte_ns_.load(std::memory_order_relaxed);
    if (byte_ns <= 0) return;
    uint64_t paid_ns = paid_ns_.load(std::memory_order_relaxed);
    const auto with_these = [&] {
      const uint64_t owed_ns = paid_ns > now_ns ? paid_ns - now_ns : 0;
      return now_ns + Bounded(static_cast<double>(owed_ns) + static_cast<double>(bytes) * byte_ns);
    };
    while (!paid_ns_.compare_exchange_weak(paid_ns, with_these(), std::memory_order_relaxed)) {
    }
  }

  // How long the next bytes must wait; 0: they may go. Any thread.
  uint64_t WaitNs(uint64_t now_ns) const {
    if (!IsLimited()) return 0;
    const uint64_t paid_ns = paid_ns_.load(std::memory_order_relaxed);
    return paid_ns > now_ns ? paid_ns - now_ns : 0;
  }
  bool IsLimited() const { return byte_ns_.load(std::memory_order_relaxed) > 0; }
  // What is paid for in so much time, at least one byte and at most `most`.
  uint64_t BytesIn(uint64_t ns, uint64_t most) const {
    const double byte_ns = byte_ns_.load(std::memory_order_relaxed);
    const auto bytes = static_cast<double>(ns) / byte_ns;  // infinite without a limit
    return bytes >= static_cast<double>(most) ? most
                                              : std::max(uint64_t{1}, static_cast<uint64_t>(bytes));
  }

 private:
  static constexpr double kWaitNsMax = 1e18;  // may still be added to a time

  // Up, so that no byte is for free.
  static uint64_t Bounded(double ns) { return 1 + static_cast<uint64_t>(std::min(kWaitNsMax, ns)); }

  // Shared: any thread reads and writes them. relaxed: each is a figure for itself that publishes
  // nothing; a thread that reads an old one moves a piece too early or too late.
  std::atomic<double> byte_ns_{0};    // what a byte costs; 0: no limit
  std::atomic<uint64_t> paid_ns_{0};  // when all is paid for
};

}  // namespace eris::base

#endif  // ERIS_BASE_BYTE_RATE_H_
