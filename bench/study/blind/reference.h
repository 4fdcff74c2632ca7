// The same answers by a map and a sort of the standard library, in one thread: what the queries are
// checked with. Slow.
#ifndef ERIS_BENCH_STUDY_BLIND_REFERENCE_H_
#define ERIS_BENCH_STUDY_BLIND_REFERENCE_H_

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "bench/study/blind/queries.h"

namespace eris::bench::study {

inline Answer ReferenceOf(const std::string& query, const Tables& tables) {
  Answer answer;
  if (query == "w3" || query == "w4") {
    std::multimap<uint64_t, uint64_t> primary;
    for (const Record& record : tables.primary) primary.emplace(record.key, record.value);
    for (const Record& record : tables.records) {
      const auto [begin, end] = primary.equal_range(record.key);
      for (auto at = begin; at != end; ++at) answer.Add(at->second + 1, record.value + 1);
    }
    return answer;
  }
  std::map<uint64_t, std::vector<uint64_t>> groups;
  for (const Record& record : tables.records) groups[record.key].push_back(record.value);
  for (auto& [key, values] : groups) {
    std::sort(values.begin(), values.end());
    const size_t count = values.size();
    const uint64_t twice = values[(count - 1) / 2] + values[count / 2];
    answer.Add(key + 1, query == "w1" ? twice + 1 : count);
  }
  return answer;
}

}  // namespace eris::bench::study

#endif  // ERIS_BENCH_STUDY_BLIND_REFERENCE_H_
