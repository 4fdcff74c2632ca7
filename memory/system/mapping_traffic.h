// Keeps threads that make pages ready and AEUs that change mappings out of each other's way. The
// kernel has one lock for the mappings of a process: a thread that makes a huge page holds it for
// some milliseconds, and a change of a mapping waits for that. So an AEU asks first and comes back
// later, and the next page waits for a change that is due or wanted. Of the whole process; any
// thread. All atomics are relaxed: they only decide when something is done, and both sides may
// pass.
#ifndef ERIS_MEMORY_SYSTEM_MAPPING_TRAFFIC_H_
#define ERIS_MEMORY_SYSTEM_MAPPING_TRAFFIC_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace eris::memory {

class MappingTraffic {
  using Clock = std::chrono::steady_clock;

 public:
  // While it lives, a mapping is about to be changed.
  class ChangeDue {
   public:
    ChangeDue() { changes_due_.fetch_add(1, std::memory_order_relaxed); }
    ~ChangeDue() { changes_due_.fetch_sub(1, std::memory_order_relaxed); }
    ChangeDue(const ChangeDue&) = delete;
    ChangeDue& operator=(const ChangeDue&) = delete;
  };

  // While it lives, pages are being made. Waits before that while a change is due or wanted, but
  // not for long: there may always be one.
  class PagesMade {
   public:
    PagesMade() {
      const Clock::time_point latest = Clock::now() + kWaitsMost;
      for (Clock::time_point now; ChangeExpected(now = Clock::now()) && now < latest;) {
        std::this_thread::sleep_for(kBetweenLooks);
      }
      makers_.fetch_add(1, std::memory_order_relaxed);
    }
    ~PagesMade() { makers_.fetch_sub(1, std::memory_order_relaxed); }
    PagesMade(const PagesMade&) = delete;
    PagesMade& operator=(const PagesMade&) = delete;
  };

  // Whether a change would wait now. Then it is wanted, and to be tried again within kComesBack.
  static bool MustComeBack() {
    if (makers_.load(std::memory_order_relaxed) == 0) return false;
    wanted_until_.store((Clock::now() + kComesBack).time_since_epoch().count(),
                        std::memory_order_relaxed);
    return true;
  }

 private:
  static constexpr std::chrono::milliseconds kWaitsMost{2};
  static constexpr std::chrono::microseconds kBetweenLooks{50};
  // A page takes 3 ms on some machines. After its end the next one waits for the rest of this.
  static constexpr std::chrono::milliseconds kComesBack{1};

  static bool ChangeExpected(Clock::time_point now) {
    return changes_due_.load(std::memory_order_relaxed) > 0 ||
           now.time_since_epoch().count() < wanted_until_.load(std::memory_order_relaxed);
  }

  static inline std::atomic<uint32_t> changes_due_{0};
  static inline std::atomic<uint32_t> makers_{0};
  static inline std::atomic<Clock::rep> wanted_until_{0};
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_SYSTEM_MAPPING_TRAFFIC_H_
