// The data sets in memory, as the blind program loads them: arrays from malloc.
#ifndef ERIS_BENCH_STUDY_BLIND_LOADED_TABLES_H_
#define ERIS_BENCH_STUDY_BLIND_LOADED_TABLES_H_

#include <cstdint>
#include <cstdio>
#include <string>

#include "bench/routing/machine.h"
#include "bench/study/blind/datasets.h"
#include "bench/study/blind/large_array.h"
#include "bench/study/blind/queries.h"
#include "bench/study/blind/team.h"

namespace eris::bench::study {

inline bool IsJoin(const std::string& query) { return query == "w3" || query == "w4"; }

class LoadedTables {
 public:
  // `loaders` make the records, each an equal share, which it is the first to touch.
  LoadedTables(bool join, Distribution distribution, double scale, uint64_t seed, bool advise_huge,
               const Team& loaders)
      : dataset_(distribution, join ? Sizes::OfJoin(scale) : Sizes::OfGroups(scale), seed),
        records_(dataset_.sizes().records, advise_huge),
        primary_(join ? dataset_.sizes().keys : 1, advise_huge),
        join_(join),
        advise_huge_(advise_huge) {
    loaders.RunShares(records_.size(), [&](size_t, uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end; ++i) records_[i] = dataset_.At(i);
    });
    if (!join) return;
    loaders.RunShares(primary_.size(), [&](size_t, uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end; ++i) primary_[i] = dataset_.PrimaryAt(i);
    });
  }

  Tables tables() const {
    return {.records = {records_.data(), records_.size()},
            .primary = {primary_.data(), join_ ? primary_.size() : 0},
            .keys = dataset_.sizes().keys,
            .advise_huge = advise_huge_};
  }
  uint64_t bytes() const { return records_.bytes() + (join_ ? primary_.bytes() : 0); }

  // Pairs of u64, key and value: `path`.records and, for a join, `path`.primary.
  void Write(const std::string& path) const {
    WriteOne(path + ".records", records_);
    if (join_) WriteOne(path + ".primary", primary_);
  }

 private:
  static void WriteOne(const std::string& path, const LargeArray<Record>& records) {
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    if (file == nullptr ||
        std::fwrite(records.data(), sizeof(Record), records.size(), file) != records.size() ||
        std::fclose(file) != 0) {
      Die("cannot write " + path);
    }
  }

  const Dataset dataset_;
  LargeArray<Record> records_;
  LargeArray<Record> primary_;
  const bool join_;
  const bool advise_huge_;
};

}  // namespace eris::bench::study

#endif  // ERIS_BENCH_STUDY_BLIND_LOADED_TABLES_H_
