// What clients did and were told, as checker/ reads it. One line an operation, blank between
// fields:
//
//   client verb key value expected begin_ns end_ns answer was read
//
//   verb      get, scan (of that key alone), upsert, insert (if absent), cas, erase
//   value     of writes: what was to be written; expected: of cas. Otherwise 0
//   begin_ns  monotonic, before the call; end_ns: after its answer
//   answer    yes     done: of insert and cas written, of get and scan found
//             no      insert and cas: not written; get and scan: not there
//             refused it has had no effect
//             unknown an error that leaves open whether it has had, or will have
//   was       upsert, insert, cas, erase: 1 if the key was there before
//   read      get and scan: the value; insert and cas: the value that was there
#ifndef ERIS_TESTS_LINEARIZABILITY_HISTORY_H_
#define ERIS_TESTS_LINEARIZABILITY_HISTORY_H_

#include <cstdint>
#include <cstdio>
#include <iterator>
#include <vector>

namespace eris {

enum class Verb : uint8_t { kGet, kScan, kUpsert, kInsert, kCas, kErase };
inline constexpr const char* kVerbNames[] = {"get", "scan", "upsert", "insert", "cas", "erase"};
inline constexpr uint32_t kVerbs = std::size(kVerbNames);

enum class Answer : uint8_t { kYes, kNo, kRefused, kUnknown };
inline constexpr const char* kAnswerNames[] = {"yes", "no", "refused", "unknown"};

struct Operation {
  uint32_t client = 0;
  Verb verb = Verb::kGet;
  uint64_t key = 0;
  uint64_t value = 0;
  uint64_t expected = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  Answer answer = Answer::kUnknown;
  bool was = false;
  uint64_t read = 0;
};

// False: the file took not all of it.
inline bool WriteHistory(std::FILE* file, const std::vector<Operation>& operations) {
  for (const Operation& one : operations) {
    std::fprintf(file, "%u %s %lu %lu %lu %ld %ld %s %d %lu\n", one.client,
                 kVerbNames[static_cast<size_t>(one.verb)], one.key, one.value, one.expected,
                 one.begin_ns, one.end_ns, kAnswerNames[static_cast<size_t>(one.answer)],
                 one.was ? 1 : 0, one.read);
  }
  return std::fflush(file) == 0 && std::ferror(file) == 0;
}

}  // namespace eris

#endif  // ERIS_TESTS_LINEARIZABILITY_HISTORY_H_
