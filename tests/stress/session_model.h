// What one session's answers must be, from the order in which it has sent its batches: the oracle
// of the pipelines and streams. A key belongs to one session. Where the engine does not say which
// keys of a batch were refused, a key may hold one of several values until an answer tells which.
// One thread at a time.
#ifndef ERIS_TESTS_STRESS_SESSION_MODEL_H_
#define ERIS_TESTS_STRESS_SESSION_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

namespace eris::stress {

enum class Verb : uint8_t { kUpsert, kErase, kLookup, kInsert, kReplace, kCompareAndSet, kAdd };

// A batch: operation i is on key number numbers[i]. Values are never 0.
struct Batch {
  Verb verb = Verb::kLookup;
  std::vector<uint64_t> numbers{};
  std::vector<uint64_t> values{};    // as many; of erasures and lookups unused
  std::vector<uint64_t> expected{};  // as many, of kCompareAndSet
  bool doubled = false;              // a key occurs more than once
};

struct Answer {
  bool executed = false;
  bool existed = false;
  bool applied = false;  // of conditional writes
  uint64_t value = 0;    // of conditional writes and of lookups
};
struct Answers {
  std::vector<Answer> keys{};
  // False: some keys were refused, and nothing says which. `keys` then says nothing.
  bool known = true;
};

class SessionModel {
 public:
  explicit SessionModel(size_t keys) : keys_(keys, {0}) {}

  // Takes the batches' answers in the order in which they were sent. What is wrong with them;
  // empty: nothing.
  std::string Take(const Batch& batch, const Answers& answers);

 private:
  using Values = std::vector<uint64_t>;  // what the key may hold; 0: it is absent
  std::string TakeOne(const Batch& batch, size_t i, const Answer& answer);

  std::vector<Values> keys_;
};

}  // namespace eris::stress

#endif  // ERIS_TESTS_STRESS_SESSION_MODEL_H_
