// The data sets of the locality study, made from a seed: record i's key and value are functions of
// (seed, i), so any number of threads make the same records. Immutable, any thread.
// Paper: locality in in-memory analytics on NUMA systems, IV-B.
#ifndef ERIS_BENCH_STUDY_BLIND_DATASETS_H_
#define ERIS_BENCH_STUDY_BLIND_DATASETS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace eris::bench::study {

struct Record {
  uint64_t key;
  uint64_t value;  // below 2^31, so that twice a median fits in 32 bits
};

enum class Distribution : uint8_t {
  kMovingCluster,  // uniform in a window of keys that slides from the lowest keys to the highest
  kSequential,     // a segment of equal length for each key, in the keys' order
  kZipf,           // the key of rank r with a probability in proportion to r^-0.5
};

// "moving-cluster", "sequential", "zipf". Ends the program at any other word.
Distribution DistributionOf(const std::string& name);

// How many records and keys the paper has, times the scale; at least one of each.
struct Sizes {
  uint64_t records = 0;
  uint64_t keys = 0;

  // 100 million records in a million groups.
  static Sizes OfGroups(double scale);
  // 256 million foreign keys of 16 million primary keys. A primary key has one record.
  static Sizes OfJoin(double scale);
};

class Dataset {
 public:
  // The paper gives no width of the moving window.
  static constexpr uint64_t kWindowKeys = 1024;
  static constexpr double kZipfExponent = 0.5;

  // REQUIRES: 1 <= sizes.keys <= sizes.records.
  Dataset(Distribution distribution, Sizes sizes, uint64_t seed);

  const Sizes& sizes() const { return sizes_; }
  // i < sizes().records; the key is below sizes().keys.
  Record At(uint64_t i) const { return {KeyAt(i), ValueAt(i)}; }
  // The record of a join's primary key; `key` < sizes().keys.
  Record PrimaryAt(uint64_t key) const;

 private:
  uint64_t KeyAt(uint64_t i) const;
  uint64_t ValueAt(uint64_t i) const;
  uint64_t ZipfRank(double probability) const;

  const Distribution distribution_;
  const Sizes sizes_;
  const uint64_t seed_;
  // Only with kZipf: how probable a rank up to r is, and where to begin looking for a probability.
  std::vector<double> up_to_rank_;
  std::vector<uint32_t> guide_;
};

}  // namespace eris::bench::study

#endif  // ERIS_BENCH_STUDY_BLIND_DATASETS_H_
