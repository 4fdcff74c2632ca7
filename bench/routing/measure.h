// One measurement of a transport: AEUs, each a pinned thread, that only route.
#ifndef ERIS_BENCH_ROUTING_MEASURE_H_
#define ERIS_BENCH_ROUTING_MEASURE_H_

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/cache_line.h"
#include "bench/routing/command.h"
#include "bench/routing/machine.h"
#include "bench/routing/shape.h"

namespace eris::bench {

struct Job {
  Shape shape;
  // a turn's keys are spread over all other AEUs' ranges; else one Send per target
  bool mixed = false;
  uint32_t turn = 1;  // commands that a turn sends
  uint32_t ms = 1;
  std::vector<int> cpus;
};

struct Rate {
  double commands_s = 0;
  double bytes_s = 0;  // with headers
};

// The commands of a source: keys and values in columns, made again for each Send.
class Generator {
 public:
  Generator(uint32_t self, const Job& job)
      : next_(uint64_t{self} << 40), keys_(job.turn), values_(job.turn), ranges_(kRanges) {
    std::mt19937 random(self);
    for (uint64_t& range : ranges_) {
      const uint32_t aeus = job.shape.aeus;
      range = RangeOf((self + 1 + random() % (aeus - 1)) % aeus);
    }
  }
  void Make(uint32_t target, uint32_t count) {
    const uint64_t range = RangeOf(target);
    for (uint32_t i = 0; i < count; ++i) {
      keys_[i] = range | (next_ + i);
      values_[i] = ~(next_ + i);
    }
    count_ = count;
  }
  void MakeMixed(uint32_t count) {
    if (at_ + count > kRanges) at_ = 0;
    const uint64_t* const ranges = &ranges_[at_];
    at_ += count;
    for (uint32_t i = 0; i < count; ++i) {
      keys_[i] = ranges[i] | (next_ + i);
      values_[i] = ~(next_ + i);
    }
    count_ = count;
  }
  std::span<const uint64_t> keys() const { return std::span(keys_).first(count_); }
  const uint64_t* values() const { return values_.data(); }
  uint64_t first() const { return next_; }
  void Skip(uint32_t count) { next_ += count; }

 private:
  static constexpr uint32_t kRanges = 1 << 16;  // random targets, used repeatedly

  uint64_t next_;
  uint32_t count_ = 0;
  uint32_t at_ = 0;
  std::vector<uint64_t> keys_;
  std::vector<uint64_t> values_;
  std::vector<uint64_t> ranges_;
};

// Sends one turn's commands. True: all of them had room.
template <class Lane>
bool SendTurn(Lane& lane, const Job& job, uint32_t self, Generator& generator,
              std::vector<uint32_t>& refused, Tally& sent) {
  if (job.mixed) {
    generator.MakeMixed(job.turn);
    refused.clear();
    lane.SendMixed(generator.keys(), generator.values(), refused);
    sent.AddNumbers(generator.first(), job.turn);
    for (const uint32_t i : refused) sent.TakeBack(generator.first() + i);
    generator.Skip(job.turn);
    return refused.empty();
  }
  bool all = true;
  for (uint32_t i = 1; i < job.shape.aeus; ++i) {
    const uint32_t target = (self + i) % job.shape.aeus;
    generator.Make(target, job.shape.run);
    const uint32_t done = lane.Send(target, generator.keys(), generator.values());
    sent.AddNumbers(generator.first(), done);
    generator.Skip(done);
    all &= done == job.shape.run;
  }
  return all;
}

template <class Transport>
class Measurement {
 public:
  explicit Measurement(const Job& job)
      : job_(job), transport_(job.shape), start_(job.shape.aeus), aeus_(job.shape.aeus) {}

  Rate Run() {
    std::vector<std::thread> threads;
    for (uint32_t self = 0; self < aeus_.size(); ++self) {
      threads.emplace_back([this, self] { Body(self); });
    }
    for (std::thread& thread : threads) thread.join();

    Tally sent, received;
    // By the AEUs' own clocks: a thread without a core would read the time late.
    uint64_t began_ns = ~uint64_t{0}, ended_ns = 0;
    for (const PerAeu& aeu : aeus_) {
      sent.Add(aeu.sent);
      received.Add(aeu.received);
      began_ns = std::min(began_ns, aeu.began_ns);
      ended_ns = std::max(ended_ns, aeu.ended_ns);
    }
    if (received.commands != sent.commands ||
        (Transport::kGenerated && (!received.SameSet(sent) || received.torn != 0))) {
      Die("sent " + std::to_string(sent.commands) + " commands, received " +
          std::to_string(received.commands) + ", or their contents differ");
    }
    const double seconds = static_cast<double>(ended_ns - began_ns) * 1e-9;
    return {static_cast<double>(received.commands) * transport_.CommandsPerUnit() / seconds,
            static_cast<double>(received.bytes) / seconds};
  }

 private:
  // A command that has not arrived this long after the last one is lost.
  static constexpr uint64_t kLostAfterNs = 5'000'000'000;
  static constexpr uint32_t kIdleTurns = 64;

  struct alignas(base::kNoSharingBytes) PerAeu {
    Tally sent;  // before finished_
    Tally received;
    uint64_t began_ns = 0;
    uint64_t ended_ns = 0;
    // Valid while others still send to it; relaxed except for the sum at the end.
    std::atomic<uint64_t> received_so_far{0};
  };

  // All AEUs have published how much they sent, and all of that has been read.
  bool AllRead() const {
    // acquire: pairs with the release in Body; `sent` is whole.
    if (finished_.load(std::memory_order_acquire) < aeus_.size()) return false;
    uint64_t sent = 0;
    uint64_t received = 0;
    for (const PerAeu& aeu : aeus_) {
      sent += aeu.sent.commands;
      received += aeu.received_so_far.load(std::memory_order_relaxed);
    }
    return received == sent;
  }

  void Body(uint32_t self) {
    PinTo(job_.cpus[self % job_.cpus.size()]);
    typename Transport::Lane lane(transport_, self);
    Generator generator(self, job_);
    std::vector<uint32_t> refused;
    refused.reserve(job_.turn);
    Tally sent, received;
    const uint32_t idle_turns = job_.shape.aeus > job_.cpus.size() ? 1 : kIdleTurns;
    uint32_t idle = 0;
    const auto rest = [&](bool progress) {
      if (progress) {
        idle = 0;
      } else if (++idle >= idle_turns) {
        std::this_thread::yield();
      }
    };
    start_.arrive_and_wait();  // everything is allocated and touched
    aeus_[self].began_ns = NowNs();
    const uint64_t until_ns = aeus_[self].began_ns + uint64_t{job_.ms} * 1'000'000;
    do {  // one turn at least, however late the core came
      lane.Drain(received);
      bool all = true;
      if constexpr (Transport::kGenerated) {
        all = SendTurn(lane, job_, self, generator, refused, sent);
      } else {
        for (uint32_t i = 1; i < job_.shape.aeus; ++i) {
          const uint64_t words = lane.SendBytes((self + i) % job_.shape.aeus, job_.shape.run);
          sent.commands += words;
          all &= words != 0;
        }
      }
      // A producer without room pauses: refused commands were made for nothing.
      rest(all);
    } while (NowNs() < until_ns);
    while (!lane.Flush()) {
      if (NowNs() > until_ns + kLostAfterNs) Die("AEU " + std::to_string(self) + " finds no room");
      rest(lane.Drain(received));
    }
    PerAeu& mine = aeus_[self];
    mine.sent = sent;
    finished_.fetch_add(1, std::memory_order_release);  // pairs with the acquire in AllRead
    uint64_t last_ns = NowNs();
    for (;;) {
      mine.received_so_far.store(received.commands, std::memory_order_relaxed);
      if (AllRead()) break;
      const bool progress = lane.Drain(received);
      const uint64_t now_ns = NowNs();
      if (progress) last_ns = now_ns;
      if (now_ns - last_ns > kLostAfterNs) break;
      rest(progress);
    }
    mine.ended_ns = NowNs();
    mine.received = received;
  }

  const Job& job_;
  Transport transport_;
  std::barrier<> start_;
  std::vector<PerAeu> aeus_;
  std::atomic<uint32_t> finished_{0};
};

template <class Transport>
Rate Measure(const Job& job) {
  return Measurement<Transport>(job).Run();
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_MEASURE_H_
