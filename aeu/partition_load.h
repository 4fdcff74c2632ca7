// The load of one partition, for the balancer: a sampled histogram of accesses over its key
// sub-ranges, execution time and size. Bounded: 64 buckets that double their width when a key lies
// beyond them. Written by the owning AEU, read by anyone (relaxed: a sample may be a few accesses
// off, and while the buckets are folded it may count some twice). Paper: ERIS 3.3.1.
#ifndef ERIS_AEU_PARTITION_LOAD_H_
#define ERIS_AEU_PARTITION_LOAD_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "aeu/load_counters.h"
#include "storage/key.h"

namespace eris::aeu {

class PartitionLoad {
 public:
  static constexpr uint32_t kBuckets = 64;
  // One key in so many is counted, so that sampling costs far less than the look-up.
  static constexpr uint32_t kSampleEvery = 32;

  explicit PartitionLoad(const storage::Range& range) : lo_(range.lo.head) {}

  // The AEU: keys of this partition that it has executed.
  void Record(const uint64_t* keys, uint32_t count) {
    // The phase goes on from batch to batch: small batches are sampled as much as large ones.
    uint32_t i = phase_;
    for (; i < count; i += kSampleEvery) Touch(keys[i]);
    phase_ = i - count;
  }
  void RecordExecution(uint64_t keys, uint64_t elapsed_ns) {
    keys_.Add(keys);
    execution_ns_.Add(elapsed_ns);
  }
  void SetSize(uint64_t rows) { rows_.Set(rows); }

  // Anyone. Bucket i covers [lo + (i << width_log2), lo + ((i + 1) << width_log2)).
  uint64_t lo() const { return lo_; }
  uint32_t width_log2() const { return static_cast<uint32_t>(width_log2_.Read()); }
  uint64_t bucket(uint32_t i) const { return buckets_[i].Read(); }
  uint64_t keys() const { return keys_.Read(); }
  uint64_t execution_ns() const { return execution_ns_.Read(); }
  uint64_t rows() const { return rows_.Read(); }

 private:
  void Touch(uint64_t key) {
    const uint64_t offset = key - lo_;
    while ((offset >> width_log2_.Read()) >= kBuckets) Fold();
    buckets_[offset >> width_log2_.Read()].Add(1);
  }
  void Fold() {
    for (uint32_t i = 0; i < kBuckets / 2; ++i) {
      buckets_[i].Set(buckets_[2 * i].Read() + buckets_[2 * i + 1].Read());
    }
    for (uint32_t i = kBuckets / 2; i < kBuckets; ++i) buckets_[i].Set(0);
    width_log2_.Add(1);
  }

  // Immutable after construction.
  const uint64_t lo_;

  // Owned by the AEU thread.
  uint32_t phase_ = 0;

  // Shared: written by the AEU, read by anyone.
  Counter width_log2_;
  std::array<Counter, kBuckets> buckets_;
  Counter keys_;
  Counter execution_ns_;
  Counter rows_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_PARTITION_LOAD_H_
