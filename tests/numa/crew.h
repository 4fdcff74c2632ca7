// Threads on all cpus of the guest that work side by side, step by step, for programs that are
// counted.
#ifndef ERIS_TESTS_NUMA_CREW_H_
#define ERIS_TESTS_NUMA_CREW_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include "bench/routing/machine.h"

namespace eris::numa_lab {

// A thread on each cpu that works in steps; between them all rest, without a turn.
class Crew {
 public:
  // Prepares in its thread what a step then does.
  using Step = std::function<void(int step)>;
  using Make = std::function<Step(uint32_t cpu)>;

  explicit Crew(const Make& make) {
    for (const int cpu : bench::AllowedCpus()) members_.push_back(std::make_unique<Member>(cpu));
    for (const auto& member : members_) {
      // From that cpu, so that what its stack begins with lies on its NumaNode.
      bench::PinTo(member->cpu);
      member->thread = std::thread([&make, member = member.get()] {
        const Step step = make(static_cast<uint32_t>(member->cpu));
        for (;;) {
          member->ended.release();
          member->begins.acquire();
          if (member->step < 0) break;
          step(member->step);
        }
      });
      member->ended.acquire();
    }
  }
  ~Crew() {
    for (const auto& member : members_) Begin(*member, -1);
    for (const auto& member : members_) member->thread.join();
  }
  size_t size() const { return members_.size(); }
  // All do it side by side.
  void Run(int step) {
    for (const auto& member : members_) Begin(*member, step);
    for (const auto& member : members_) member->ended.acquire();
  }
  void RunOne(size_t member, int step) {
    Begin(*members_[member], step);
    members_[member]->ended.acquire();
  }

 private:
  struct Member {
    explicit Member(int its_cpu) : cpu(its_cpu) {}
    const int cpu;
    int step = 0;
    std::binary_semaphore begins{0};
    std::binary_semaphore ended{0};
    std::thread thread;
  };
  static void Begin(Member& member, int step) {
    member.step = step;
    member.begins.release();
  }
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_CREW_H_
