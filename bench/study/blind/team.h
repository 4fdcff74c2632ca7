// The blind program's threads, and the cpus they may use. They know of no NumaNode; the order of
// cpus is what a user gives a program from outside (OMP_PLACES, taskset). Paper: III-B.
#ifndef ERIS_BENCH_STUDY_BLIND_TEAM_H_
#define ERIS_BENCH_STUDY_BLIND_TEAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/routing/machine.h"
#include "bench/study/blind/requested_bytes.h"

namespace eris::bench::study {

class Team {
 public:
  // `cpus`: one for each thread, or empty: the system places them.
  Team(size_t threads, std::vector<int> cpus) : threads_(threads), cpus_(std::move(cpus)) {}
  // One thread, the caller's.
  static Team OfCaller() { return Team(0, {}); }

  size_t size() const { return threads_ == 0 ? 1 : threads_; }

  // Calls work(thread) on all threads, and returns when all have ended.
  template <class Work>
  void Run(const Work& work) const {
    if (threads_ == 0) {
      work(size_t{0});
      return;
    }
    std::vector<std::thread> running;
    running.reserve(threads_);
    for (size_t i = 0; i < threads_; ++i) {
      running.emplace_back([this, i, &work] {
        if (!cpus_.empty()) PinTo(cpus_[i]);
        work(i);
        TellRequested();
      });
    }
    for (std::thread& one : running) one.join();
  }
  // Calls work(thread, begin, end): each thread has an equal share of 0 .. count-1.
  template <class Work>
  void RunShares(uint64_t count, const Work& work) const {
    Run([&](size_t thread) {
      work(thread, count * thread / size(), count * (thread + 1) / size());
    });
  }

 private:
  const size_t threads_;  // 0: the caller
  const std::vector<int> cpus_;
};

// A cpu for each thread. "dense": fills a NumaNode before the next one, and a core's hardware
// threads before the next core. "sparse": goes round the NumaNodes, and round their cores. "none":
// no cpus. With more threads than cpus, it begins again.
std::vector<int> CpusFor(const std::string& affinity, size_t threads);

}  // namespace eris::bench::study

#endif  // ERIS_BENCH_STUDY_BLIND_TEAM_H_
