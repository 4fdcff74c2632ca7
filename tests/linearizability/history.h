// What clients did and were told, as checker/ reads it. One line for each operation on one key,
// blanks between its fields. A batch is as many operations as it has keys, all with its times.
//
//   lane verb key value expected begin_ns end_ns answer was read order
//
//   lane      operations of one lane with an order take effect on each key in that order: those of
//             a batch, and those of one stream
//   verb      get, scan (that key alone), upsert, insert (if absent), replace (if present), cas,
//             add, erase
//   value     what a write was to store or to add, else 0; expected: cas only, else 0
//   begin_ns  monotonic, before the call; end_ns: after its answer
//   answer    yes     insert, replace, cas: written; get, scan: found; other verbs: done
//             no      insert, replace, cas: not written; get, scan: not found
//             refused the operation has had no effect
//             unknown an error that leaves open whether it has had, or will have
//   was       upsert, insert, replace, cas, add, erase: 1 if the key was there before
//   read      get, scan: the value; insert, replace, cas: the value that was there; add: the sum
//   order     ascending in the lane; 0: none
#ifndef ERIS_TESTS_LINEARIZABILITY_HISTORY_H_
#define ERIS_TESTS_LINEARIZABILITY_HISTORY_H_

#include <cstdint>
#include <cstdio>
#include <vector>

namespace eris {

enum class Verb : uint8_t { kGet, kScan, kUpsert, kInsert, kReplace, kCas, kAdd, kErase };
inline constexpr const char* kVerbNames[] = {"get",     "scan", "upsert", "insert",
                                             "replace", "cas",  "add",    "erase"};

enum class Answer : uint8_t { kYes, kNo, kRefused, kUnknown };
inline constexpr const char* kAnswerNames[] = {"yes", "no", "refused", "unknown"};

struct Operation {
  uint32_t lane = 0;
  Verb verb = Verb::kGet;
  uint64_t key = 0;
  uint64_t value = 0;
  uint64_t expected = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  Answer answer = Answer::kUnknown;
  bool was = false;
  uint64_t read = 0;
  uint64_t order = 0;
};

// False: the file did not take all of it.
inline bool WriteHistory(std::FILE* file, const std::vector<Operation>& operations) {
  for (const Operation& one : operations) {
    std::fprintf(file, "%u %s %lu %lu %lu %ld %ld %s %d %lu %lu\n", one.lane,
                 kVerbNames[static_cast<size_t>(one.verb)], one.key, one.value, one.expected,
                 one.begin_ns, one.end_ns, kAnswerNames[static_cast<size_t>(one.answer)],
                 one.was ? 1 : 0, one.read, one.order);
  }
  return std::fflush(file) == 0 && std::ferror(file) == 0;
}

}  // namespace eris

#endif  // ERIS_TESTS_LINEARIZABILITY_HISTORY_H_
