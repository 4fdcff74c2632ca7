// What an AEU notes of the memory that follows a transfer to it (aeu/transfers/homecoming.h). The
// engine allocates it with the transfer, and shows it in the history.
#ifndef ERIS_ROUTING_HOME_NOTE_H_
#define ERIS_ROUTING_HOME_NOTE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/counter.h"
#include "eris/balancer.h"

namespace eris::routing {

// Shared: one AEU writes, any thread reads. relaxed: figures, which order nothing; a reader may see
// one of them without another.
class HomeNote {
 public:
  struct Figures {
    MemoryFollows state = MemoryFollows::kNothing;
    uint64_t ended_ns = 0;  // of the monotonic clock, if it is not under way
    uint64_t bytes = 0;
    uint64_t bytes_remapped = 0;
    uint64_t longest_pause_ns = 0;
  };

  void Begin() { SetState(MemoryFollows::kUnderWay); }
  // A turn has brought so many bytes, and spent so much CPU time on it.
  void AddPiece(uint64_t bytes, uint64_t bytes_remapped, uint64_t cpu_ns) {
    bytes_.Add(bytes);
    bytes_remapped_.Add(bytes_remapped);
    longest_pause_ns_.Set(std::max(longest_pause_ns_.Read(), cpu_ns));
  }
  void End(MemoryFollows state, uint64_t now_ns) {
    ended_ns_.Set(now_ns);
    SetState(state);
  }

  Figures Read() const {
    return {.state = state_.load(std::memory_order_relaxed),
            .ended_ns = ended_ns_.Read(),
            .bytes = bytes_.Read(),
            .bytes_remapped = bytes_remapped_.Read(),
            .longest_pause_ns = longest_pause_ns_.Read()};
  }

 private:
  void SetState(MemoryFollows state) { state_.store(state, std::memory_order_relaxed); }

  std::atomic<MemoryFollows> state_{MemoryFollows::kNothing};
  base::Counter ended_ns_;
  base::Counter bytes_;
  base::Counter bytes_remapped_;
  base::Counter longest_pause_ns_;
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_HOME_NOTE_H_
