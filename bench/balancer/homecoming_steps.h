// A partition's memory comes to another NumaNode as in an AEU's turns, but at once and on one
// thread: a census, superblocks that change hands and get new pages, the rest block by block.
#ifndef ERIS_BENCH_BALANCER_HOMECOMING_STEPS_H_
#define ERIS_BENCH_BALANCER_HOMECOMING_STEPS_H_

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "bench/memory/our_memory.h"
#include "bench/routing/machine.h"
#include "memory/superblock_census.h"
#include "storage/home_work.h"
#include "storage/partition.h"

namespace eris::bench {

// CPU time of this thread: on a shared machine a descheduled step is not a long one.
inline uint64_t ThreadNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Total time of calls of one kind, and the longest one.
struct Steps {
  uint64_t ns = 0;
  uint64_t longest_ns = 0;

  template <class Call>
  void Time(const Call& call) {
    const uint64_t begin_ns = ThreadNs();
    call();
    const uint64_t took_ns = ThreadNs() - begin_ns;
    ns += took_ns;
    longest_ns = std::max(longest_ns, took_ns);
  }
};

// What each stage took of both caches' threads.
struct Homecoming {
  Steps census, claims, superblocks, blocks;
  uint64_t bytes_by_superblock = 0;
  uint64_t bytes_by_block = 0;

  uint64_t ns() const { return census.ns + claims.ns + superblocks.ns + blocks.ns; }
  double share_by_superblock() const {
    return static_cast<double>(bytes_by_superblock) /
           static_cast<double>(bytes_by_superblock + bytes_by_block);
  }
};

// A walk over the partition, to its end.
inline storage::HomeWork Walk(storage::Partition& partition, storage::HomeWork work, Steps& piece,
                              OurMemory& memory) {
  constexpr int64_t kPieceBytes = 256 << 10;
  for (bool complete = false; !complete;) {
    work.bytes_left = kPieceBytes;
    piece.Time([&] {
      complete = partition.BringHome(work);
      memory.cache(1).EndTurn();
    });
    piece.Time([&] { OurMemory::EndTurn(memory.cache(0)); });
  }
  return work;
}

// From cache 0 to cache 1, whose the partition is.
inline Homecoming ComeHome(storage::Partition& partition, OurMemory& memory) {
  Homecoming home;
  memory::SuperblockCensus noted(memory.cache(1));
  Walk(partition, {.census = &noted}, home.census, memory);
  home.claims.Time([&] { memory.cache(1).Claim(std::move(noted)); });
  while (memory.cache(1).ClaimsAreOut()) {
    home.claims.Time([&] { memory.cache(0).Collect(); });
    home.claims.Time([&] { memory.cache(1).Collect(); });
  }
  while (memory.cache(1).HasToBring()) {
    uint64_t bytes = 0;
    home.superblocks.Time([&] { memory.cache(1).BringSuperblock(/*wait=*/true, bytes); });
    home.bytes_by_superblock += bytes;
    if (bytes == 0) usleep(100);  // the keeper makes memory ready
  }
  const storage::HomeWork rest = Walk(partition, {}, home.blocks, memory);
  if (rest.refused) Die("rows were left");
  home.bytes_by_block = rest.moved_bytes;
  return home;
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_BALANCER_HOMECOMING_STEPS_H_
