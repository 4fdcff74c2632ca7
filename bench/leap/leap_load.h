// What other threads do with a range while it migrates: one increments words, one reads all of it
// again and again. Each object belongs to one thread while it runs; counts may be read by any.
// Paper: page_leap 6.
#ifndef ERIS_BENCH_LEAP_LEAP_LOAD_H_
#define ERIS_BENCH_LEAP_LEAP_LOAD_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "bench/routing/machine.h"

namespace eris::bench {

// The places of increments, one after the other; made again for the replay. Skewed as in the paper:
// three of four lie in the first 32nd of the words.
class WritePlaces {
 public:
  WritePlaces(uint64_t words, bool skewed) : words_(words), skewed_(skewed) {}
  uint64_t Next() {
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    const uint64_t high = random_ >> 20;
    return skewed_ && high % 4 != 0 ? (high / 4) % (words_ / 32) : (high / 4) % words_;
  }

 private:
  const uint64_t words_;
  const bool skewed_;
  uint64_t random_ = 1;
};

struct WriterOptions {
  uint32_t writes_per_s = 0;
  bool flat_out = false;  // as fast as it can
  bool skewed = false;
  bool writes_at_all() const { return flat_out || writes_per_s > 0; }
};

// Increments words, so many a second or as fast as it can.
class RangeWriter {
 public:
  RangeWriter(uint64_t* words, uint64_t count, const WriterOptions& options)
      : words_(words), count_(count), options_(options), places_(count, options.skewed) {}

  // Before each Run, or before the first WriteDue.
  void Begin() {
    end_.store(false, std::memory_order_relaxed);
    begin_ns_ = NowNs();
    begun_with_ = writes();
    ForgetLongest();
  }
  // Increments until End. After a pause it makes up for what it has missed.
  void Run() {
    while (!end_.load(std::memory_order_relaxed)) {
      if (options_.flat_out) {
        WriteSome(kWritesPerClock);
      } else {
        WriteDue();
      }
    }
  }
  // All that are due by now.
  void WriteDue() {
    const uint64_t due = (NowNs() - begin_ns_) * options_.writes_per_s / 1'000'000'000;
    while (writes() - begun_with_ < due) {
      WriteSome(std::min(kWritesPerClock, due - (writes() - begun_with_)));
    }
  }
  // Any thread. Relaxed: the thread is joined before anything that it has written is read.
  void End() { end_.store(true, std::memory_order_relaxed); }

  // The words that lack some of their increments. All of them must have been zero in the beginning.
  uint64_t CountLost() {
    WritePlaces again(count_, options_.skewed);
    for (uint64_t i = 0; i < writes(); ++i) --words_[again.Next()];
    uint64_t lost = 0;
    for (uint64_t i = 0; i < count_; ++i) lost += words_[i] != 0;
    return lost;
  }

  // Any thread. Relaxed: they are figures alone.
  uint64_t writes() const { return writes_.load(std::memory_order_relaxed); }
  uint64_t longest_ns() const { return longest_ns_.load(std::memory_order_relaxed); }
  void ForgetLongest() { longest_ns_.store(0, std::memory_order_relaxed); }

 private:
  // The clock costs as much as some writes. What a write waits for takes longer than all of these.
  static constexpr uint64_t kWritesPerClock = 16;

  void WriteSome(uint64_t count) {
    const uint64_t before_ns = NowNs();
    for (uint64_t i = 0; i < count; ++i) {
      // volatile: each write goes to memory.
      volatile uint64_t& word = words_[places_.Next()];
      word = word + 1;
    }
    const uint64_t ns = NowNs() - before_ns;
    writes_.store(writes() + count, std::memory_order_relaxed);
    if (ns > longest_ns()) longest_ns_.store(ns, std::memory_order_relaxed);
  }

  uint64_t* const words_;
  const uint64_t count_;
  const WriterOptions options_;
  WritePlaces places_;
  std::atomic<bool> end_{false};
  uint64_t begin_ns_ = 0;
  uint64_t begun_with_ = 0;
  std::atomic<uint64_t> writes_{0};
  std::atomic<uint64_t> longest_ns_{0};
};

// Sums up the range, from begin to end and again.
class RangeReader {
 public:
  RangeReader(const uint64_t* words, uint64_t count) : words_(words), count_(count) {}

  void Begin() {
    end_.store(false, std::memory_order_relaxed);
    ForgetLongest();
  }
  void Run() {
    uint64_t sum = 0;
    uint64_t at = 0;
    while (!end_.load(std::memory_order_relaxed)) {
      const uint64_t words = std::min(kPieceWords, count_ - at);
      const uint64_t before_ns = NowNs();
      for (uint64_t i = 0; i < words; ++i) sum += words_[at + i];
      const uint64_t ns = NowNs() - before_ns;
      at = at + words == count_ ? 0 : at + words;
      bytes_.store(bytes() + words * sizeof(uint64_t), std::memory_order_relaxed);
      if (ns > longest_ns()) longest_ns_.store(ns, std::memory_order_relaxed);
    }
    sink_ = sum;
  }
  void End() { end_.store(true, std::memory_order_relaxed); }

  // Any thread, as those of RangeWriter. Longest: of a piece of 16 KiB.
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t longest_ns() const { return longest_ns_.load(std::memory_order_relaxed); }
  void ForgetLongest() { longest_ns_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kPieceWords = 2048;

  const uint64_t* const words_;
  const uint64_t count_;
  std::atomic<bool> end_{false};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> longest_ns_{0};
  volatile uint64_t sink_ = 0;  // the sums are needed, as far as the compiler knows
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_LEAP_LEAP_LOAD_H_
