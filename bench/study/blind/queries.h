// The queries of the blind program. Each is made of steps, so that its caller can measure what it
// holds before it is freed:
//
//   query.Work(team)   the whole query, its answer consumed
//   query.Free(team)   what it has allocated
//
//   W1  median of the values of each group   a growing buffer for each group, in one shared table
//   W2  number of records of each group      a counter for each group, the same table
//   W3  join by hash, not partitioned        a node for each primary key, in one shared table
//   W4  join by an index that is there       one lookup for each foreign key (IndexJoin)
//
// Paper: Table I, IV-B.
#ifndef ERIS_BENCH_STUDY_BLIND_QUERIES_H_
#define ERIS_BENCH_STUDY_BLIND_QUERIES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/study/blind/datasets.h"
#include "bench/study/blind/team.h"

namespace eris::bench::study {

// Sums over a query's rows, in any order, modulo 2^64.
struct Answer {
  uint64_t rows = 0;
  // W1: (group + 1) * (twice the median + 1). W2: (group + 1) * count. W3, W4: of each matching
  // pair, (primary value + 1) * (foreign value + 1).
  uint64_t checksum = 0;

  void Add(uint64_t one, uint64_t other) {
    ++rows;
    checksum += one * other;
  }
  Answer& operator+=(const Answer& other) {
    rows += other.rows;
    checksum += other.checksum;
    return *this;
  }
  bool operator==(const Answer&) const = default;
};

// What a query reads.
struct Tables {
  std::span<const Record> records;  // of W1 and W2; foreign keys of W3 and W4
  std::span<const Record> primary;  // of W3 and W4: each key once
  uint64_t keys = 0;                // all keys are below
  bool advise_huge = false;         // for the query's own large arrays
};

class Query {
 public:
  virtual ~Query() = default;
  virtual Answer Work(const Team& team) = 0;
  virtual void Free(const Team& team) = 0;
};

// "w1", "w2" or "w3"; the tables must outlive it.
std::unique_ptr<Query> MakeQuery(const std::string& name, const Tables& tables);
// W4; builds the index, with `team`.
std::unique_ptr<Query> MakeIndexJoin(const Tables& tables, const Team& team);

// Twice the median: of an even number of values, the sum of the two in the middle. Reorders the
// values. REQUIRES: there is one.
uint64_t TwiceTheMedian(std::vector<uint64_t>& values);

}  // namespace eris::bench::study

#endif  // ERIS_BENCH_STUDY_BLIND_QUERIES_H_
