// A sample of the keys of rows that one AEU has added to one data object, evenly over all that it
// ever added, whatever their order. Written by the AEU, read by any thread meanwhile. A fixed 8
// KiB.
//
// The sketch keeps one random key for every `rows_per_key` added rows. When it is full, it drops
// every other key and doubles rows_per_key. A reader that runs at the same time may read a key
// twice or miss one, but never reads a key that was not added.
#ifndef ERIS_AEU_KEY_SKETCH_H_
#define ERIS_AEU_KEY_SKETCH_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace eris::aeu {

class KeySketch {
 public:
  static constexpr uint32_t kKeys = 1024;
  static constexpr uint64_t kRowsPerKeyMin = 32;

  // For the AEU: `rows` new rows were added, and none of their keys will be kept. False: at least
  // one will be, so add each of them by its key.
  bool PassOver(uint64_t rows) {
    if (rows >= next_) return false;
    next_ -= rows;
    return true;
  }
  // For the AEU: a row with that key is new.
  void Add(uint64_t key) {
    if (--next_ > 0) return;
    Keep(key);
    // relaxed: only this thread writes it.
    const uint64_t rows_per_key = rows_per_key_.load(std::memory_order_relaxed);
    // At random distances, rows_per_key on average, so that no order of keys resonates with them.
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    next_ = 1 + (random_ >> 32) % (2 * rows_per_key - 1);
  }

  // For any thread: the number of keys. relaxed: a figure.
  uint32_t count() const { return count_.load(std::memory_order_relaxed); }
  // For any thread: appends at most `keys_max` of the keys, evenly chosen. Returns about how many
  // added rows one appended key represents; 0 if the sketch is empty.
  uint64_t Read(uint32_t keys_max, std::vector<uint64_t>& out) const {
    const uint32_t count = count_.load(std::memory_order_acquire);
    const uint32_t taken = count < keys_max ? count : keys_max;
    if (taken == 0) return 0;
    for (uint32_t i = 0; i < taken; ++i) {
      // relaxed: see the head of this file.
      out.push_back(keys_[uint64_t{count} * i / taken].load(std::memory_order_relaxed));
    }
    return rows_per_key_.load(std::memory_order_relaxed) * count / taken;
  }

 private:
  void Keep(uint64_t key) {
    // relaxed: only this thread writes these.
    uint32_t count = count_.load(std::memory_order_relaxed);
    if (count == kKeys) {
      for (size_t i = 0; i < kKeys / 2; ++i) {
        const uint64_t kept = keys_[2 * i].load(std::memory_order_relaxed);
        keys_[i].store(kept, std::memory_order_relaxed);
      }
      count = kKeys / 2;
      const uint64_t rows_per_key = rows_per_key_.load(std::memory_order_relaxed);
      rows_per_key_.store(2 * rows_per_key, std::memory_order_relaxed);
    }
    keys_[count].store(key, std::memory_order_relaxed);
    // Pairs with the acquire in Read: everything counted has been written.
    count_.store(count + 1, std::memory_order_release);
  }

  uint64_t next_ = kRowsPerKeyMin / 2;  // index, among the coming rows, of the next one to keep
  uint64_t random_ = 1;
  // Shared: written by the AEU, read by anyone.
  std::atomic<uint64_t> rows_per_key_{kRowsPerKeyMin};
  std::atomic<uint32_t> count_{0};
  std::array<std::atomic<uint64_t>, kKeys> keys_{};
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_KEY_SKETCH_H_
