// The work of one AEU for one data object, for the balancer: the last few thousand sampled keys,
// each with the kind of its command; per kind the number of executed keys and their time; and a
// sample of the keys of added rows. Written by the AEU, read by any thread meanwhile. Bounded: 44
// KiB, allocated with the first command. If the memory is refused there are only no samples. Paper:
// ERIS 3.3 (monitoring).
//
// A reader may see an inconsistent view. If the AEU has gone around the ring meanwhile, it reads a
// later sample instead of an earlier one, and for a moment the key of one with the kind of the
// other. Each word was written for some sample, because the count is released after them. So every
// key that counts was accessed, at worst in another period and with the cost of another kind.
#ifndef ERIS_AEU_ACCESS_SAMPLE_H_
#define ERIS_AEU_ACCESS_SAMPLE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "aeu/state/key_sketch.h"
#include "base/counter.h"
#include "memory/system/failure_point.h"
#include "storage/batch.h"

namespace eris::aeu {

class AccessSample {
 public:
  // One key out of this many is noted, so that sampling costs far less than the lookup.
  static constexpr uint32_t kSampleEvery = 32;
  static constexpr uint32_t kRingKeys = 4096;
  static constexpr uint32_t kKinds = 20;  // keyed commands and scans: routing::CommandType
  // The kind of RecordSpread: its time belongs to no key, so it is never noted.
  static constexpr uint32_t kSpread = 19;

  AccessSample() = default;
  ~AccessSample() { delete ring_.load(std::memory_order_relaxed); }  // no other thread is left
  AccessSample(const AccessSample&) = delete;
  AccessSample& operator=(const AccessSample&) = delete;

  // For the AEU, before it executes the keys, whose answers may replace them: notes some. The
  // sampling phase continues from batch to batch, so small batches are sampled as much as large
  // ones. `keys`: their number if known, else 0; for parts of one key each, only the noted ones are
  // then read. Returns their number, for RecordExecution.
  uint64_t NoteKeys(uint32_t kind, std::span<const storage::BatchPart> parts, uint64_t keys = 0) {
    uint32_t next = next_;
    if (keys == parts.size()) {
      for (; next < keys; next += kSampleEvery) Note(kind, parts[next].keys[0]);
      next_ = next - static_cast<uint32_t>(keys);
      return keys;
    }
    keys = 0;
    for (const storage::BatchPart& part : parts) {
      for (; next < part.count; next += kSampleEvery) Note(kind, part.keys[next]);
      next -= part.count;
      keys += part.count;
    }
    next_ = next;
    return keys;
  }
  // A write of these keys has added `added` rows: those answered as absent before. The keys are
  // read only if one of them is kept, which is rare once there are many rows.
  void RecordAdded(std::span<const storage::BatchPart> parts, uint64_t added) {
    Ring* ring = RingOrNew();
    if (ring == nullptr || ring->rows.PassOver(added)) return;
    for (const storage::BatchPart& part : parts) {
      for (uint32_t i = 0; i < part.count; ++i) {
        if (part.state(i) == storage::KeyState::kAbsent) {
          ring->rows.Add(part.keys[i]);
        }
      }
    }
  }
  // Work that is not counted in keys, for example a slice of a scan: always noted, under the key at
  // which it began.
  void RecordSlice(uint32_t kind, uint64_t key, uint64_t elapsed_ns) {
    Note(kind, key);
    RecordExecution(kind, 1, elapsed_ns);
  }
  // Work on all rows of the AEU alike, for example a slice of a scan of everything: CPU time of the
  // AEU's thread.
  void RecordSpread(uint64_t cpu_ns) {
    keys_[kSpread].Add(1);
    execution_ns_[kSpread].Add(cpu_ns);
  }
  void RecordExecution(uint32_t kind, uint64_t keys, uint64_t elapsed_ns) {
    if (elapsed_ns > kLongBatchNs) [[unlikely]]
      elapsed_ns = Plausible(kind, keys, elapsed_ns);
    keys_[kind].Add(keys);
    execution_ns_[kind].Add(elapsed_ns);
  }

  // For any thread.
  struct Access {
    uint64_t key;
    uint32_t kind;
  };
  // Number of samples since the beginning.
  uint64_t noted() const { return noted_.load(std::memory_order_acquire); }
  // Appends the samples from number `from` on, if they still exist, at most `count_max`, evenly
  // chosen. Returns the number to continue with.
  uint64_t Read(uint64_t from, uint32_t count_max, std::vector<Access>& out) const;
  uint64_t keys(uint32_t kind) const { return keys_[kind].Read(); }
  uint64_t keys() const {
    uint64_t all = 0;
    for (const base::Counter& of_kind : keys_) all += of_kind.Read();
    return all;
  }
  uint64_t execution_ns(uint32_t kind) const { return execution_ns_[kind].Read(); }
  uint64_t spread_ns() const { return execution_ns_[kSpread].Read(); }
  // The sketch of added rows: KeySketch::count and KeySketch::Read.
  uint32_t row_keys() const;
  uint64_t ReadRows(uint32_t keys_max, std::vector<uint64_t>& out) const;

  // Tests make the ring's allocation fail.
  static memory::FailurePoint& AllocationFailures();

 private:
  struct Ring {
    std::array<std::atomic<uint64_t>, kRingKeys> keys;
    std::array<std::atomic<uint8_t>, kRingKeys> kinds;
    KeySketch rows;
  };
  // Longer than a turn's batches normally take.
  static constexpr uint64_t kLongBatchNs = 100'000;

  void Note(uint32_t kind, uint64_t key) {
    Ring* ring = RingOrNew();
    if (ring == nullptr) [[unlikely]]
      return;
    // relaxed: only this thread writes it.
    const uint64_t at = noted_.load(std::memory_order_relaxed);
    ring->keys[at % kRingKeys].store(key, std::memory_order_relaxed);
    ring->kinds[at % kRingKeys].store(static_cast<uint8_t>(kind), std::memory_order_relaxed);
    // Pairs with the acquire in noted(): everything counted has been written.
    noted_.store(at + 1, std::memory_order_release);
  }
  Ring* RingOrNew() {
    // relaxed: only this thread writes it.
    Ring* ring = ring_.load(std::memory_order_relaxed);
    return ring != nullptr ? ring : NewRing();
  }
  Ring* NewRing();
  // If a batch took far longer than batches of its kind, the thread was descheduled for most of it:
  // returns a plausible time.
  uint64_t Plausible(uint32_t kind, uint64_t keys, uint64_t elapsed_ns) const;

  // Owned by the AEU thread.
  uint32_t next_ = 0;  // index, among the coming keys, of the next one to note
  bool refused_ = false;

  // Shared: written by the AEU, read by anyone.
  std::atomic<Ring*> ring_{nullptr};
  std::atomic<uint64_t> noted_{0};
  std::array<base::Counter, kKinds> keys_;
  std::array<base::Counter, kKinds> execution_ns_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_ACCESS_SAMPLE_H_
