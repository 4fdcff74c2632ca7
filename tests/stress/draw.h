// Draws the batches that one session sends, mostly of its hot keys: every operation, keys that
// occur several times, and compare-and-sets whose expected values are those that the session has
// sent last. One thread.
#ifndef ERIS_TESTS_STRESS_DRAW_H_
#define ERIS_TESTS_STRESS_DRAW_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/stress/session_model.h"
#include "tests/stress/world.h"
#include "tests/support/any_object.h"

namespace eris::stress {

// The keys of each session, spread over the key space: the hot keys first, then keys that are used
// seldom. The latter come and go, so that memory is taken and given back.
inline constexpr uint64_t kHotKeys = 12;
inline constexpr uint64_t kSeldomKeys = 8000;
inline constexpr uint64_t kSessionKeys = kHotKeys + kSeldomKeys;
inline constexpr uint64_t kBatchKeys = 16;

// REQUIRES: a write.
inline WriteMode ModeOf(Verb verb) {
  constexpr WriteMode kModes[] = {WriteMode::kUpsert,
                                  WriteMode::kErase,
                                  WriteMode{},
                                  WriteMode::kInsertIfAbsent,
                                  WriteMode::kReplaceIfPresent,
                                  WriteMode::kCompareAndSet,
                                  WriteMode::kAdd};
  return kModes[static_cast<size_t>(verb)];
}
// Whether a kind of object has the operation.
inline bool Has(test::AnyKind kind, Verb verb) {
  return verb == Verb::kLookup || test::Takes(kind, ModeOf(verb));
}

// A batch as a session sends it, in the columns of a kind. Owns them.
class SentRows {
 public:
  // The keys are those of `owner`.
  SentRows(test::AnyKind kind, const Batch& batch, uint64_t owner)
      : verb_(batch.verb), rows_(kind), expected_(kind) {
    for (size_t i = 0; i < batch.numbers.size(); ++i) {
      rows_.Add({SpreadKey(batch.numbers[i], owner), 5},
                batch.values.empty() ? 0 : batch.values[i]);
    }
    for (const uint64_t value : batch.expected) expected_.Add({}, value);
  }
  RowBatch keys() { return rows_.keys(); }
  WriteBatch write() {
    WriteBatch batch = rows_.write(ModeOf(verb_));
    if (verb_ == Verb::kCompareAndSet) batch.expected = expected_.values();
    return batch;
  }

 private:
  const Verb verb_;
  test::AnyBatch rows_, expected_;
};

class Draw {
 public:
  // `streamed`: writes alone, as a stream of them takes them.
  Draw(test::AnyKind kind, uint64_t seed, bool streamed)
      : kind_(kind), streamed_(streamed), random_(seed), last_(kSessionKeys, 0) {}

  Batch Next() {
    Batch batch{.verb = NextVerb()};
    const uint64_t keys = 1 + random_() % kBatchKeys;
    const bool hot = random_() % 16 != 0;
    for (uint64_t n = 0; n < keys; ++n) {
      const uint64_t number = hot ? random_() % kHotKeys : kHotKeys + random_() % kSeldomKeys;
      const auto& numbers = batch.numbers;
      batch.doubled |= std::find(numbers.begin(), numbers.end(), number) != numbers.end();
      Put(batch, number);
    }
    return batch;
  }

 private:
  Verb NextVerb() {
    // Half of them compare and set, where the kind can: each of those depends on the one before.
    static constexpr Verb kDrawn[] = {
        Verb::kUpsert,        Verb::kUpsert,        Verb::kErase,         Verb::kLookup,
        Verb::kLookup,        Verb::kInsert,        Verb::kReplace,       Verb::kAdd,
        Verb::kCompareAndSet, Verb::kCompareAndSet, Verb::kCompareAndSet, Verb::kCompareAndSet,
        Verb::kCompareAndSet, Verb::kCompareAndSet};
    for (;;) {
      const Verb verb = kDrawn[random_() % std::size(kDrawn)];
      if (Has(kind_, verb) && (!streamed_ || verb != Verb::kLookup)) return verb;
    }
  }
  // `last_` is what the key holds if nothing is refused; 0: it is absent.
  void Put(Batch& batch, uint64_t number) {
    uint64_t& last = last_[number];
    const uint64_t value = ++next_;
    batch.numbers.push_back(number);
    switch (batch.verb) {
      case Verb::kLookup:
        return;
      case Verb::kErase:
        last = 0;
        return;
      case Verb::kUpsert:
        last = value;
        break;
      case Verb::kInsert:
        if (last == 0) last = value;
        break;
      case Verb::kReplace:
        if (last != 0) last = value;
        break;
      case Verb::kAdd:
        last += value;
        break;
      case Verb::kCompareAndSet: {
        const bool fails = last == 0 || random_() % 16 == 0;
        batch.expected.push_back(fails ? value : last);
        if (!fails) last = value;
        break;
      }
    }
    batch.values.push_back(value);
  }

  const test::AnyKind kind_;
  const bool streamed_;
  std::mt19937_64 random_;
  std::vector<uint64_t> last_;
  uint64_t next_ = 0;
};

}  // namespace eris::stress

#endif  // ERIS_TESTS_STRESS_DRAW_H_
