// Keeps threads that make pages and AEUs that change mappings out of each other's way. The kernel
// has one lock for the mappings of a process: who makes a huge page holds it for some milliseconds,
// and a change of a mapping waits for that. So an AEU asks whether somebody makes pages, and
// mostly nobody begins to while a change is due. Of the whole process; any thread. All atomics are
// relaxed: they only decide when something is done.
#ifndef ERIS_MEMORY_SYSTEM_MAPPING_TRAFFIC_H_
#define ERIS_MEMORY_SYSTEM_MAPPING_TRAFFIC_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace eris::memory {

class MappingTraffic {
 public:
  // While it lives, a mapping is about to be changed.
  class ChangeDue {
   public:
    ChangeDue() { changes_due_.fetch_add(1, std::memory_order_relaxed); }
    ~ChangeDue() { changes_due_.fetch_sub(1, std::memory_order_relaxed); }
    ChangeDue(const ChangeDue&) = delete;
    ChangeDue& operator=(const ChangeDue&) = delete;
  };

  // While it lives, pages are being made. Waits before that while a change is due, but not for
  // long: there may always be one.
  class PagesMade {
   public:
    PagesMade() {
      for (int i = 0; i < kLooks && changes_due_.load(std::memory_order_relaxed) > 0; ++i) {
        std::this_thread::sleep_for(kBetweenLooks);
      }
      makers_.fetch_add(1, std::memory_order_relaxed);
    }
    ~PagesMade() { makers_.fetch_sub(1, std::memory_order_relaxed); }
    PagesMade(const PagesMade&) = delete;
    PagesMade& operator=(const PagesMade&) = delete;
  };

  static bool PagesAreMade() { return makers_.load(std::memory_order_relaxed) > 0; }

 private:
  static constexpr int kLooks = 40;
  static constexpr std::chrono::microseconds kBetweenLooks{50};

  static inline std::atomic<uint32_t> changes_due_{0};
  static inline std::atomic<uint32_t> makers_{0};
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_SYSTEM_MAPPING_TRAFFIC_H_
