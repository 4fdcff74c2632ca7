#include "tests/stress/session_model.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace eris::stress {
namespace {

constexpr const char* kVerbNames[] = {"upsert",  "erase",           "lookup", "insert",
                                      "replace", "compare-and-set", "add"};

}  // namespace

std::string SessionModel::Take(const Batch& batch, const Answers& answers) {
  std::string wrong;
  for (size_t i = 0; i < batch.numbers.size(); ++i) {
    if (answers.known) {
      if (!answers.keys[i].executed) continue;
      const std::string one = TakeOne(batch, i, answers.keys[i]);
      if (wrong.empty()) wrong = one;
      continue;
    }
    if (batch.verb == Verb::kLookup) continue;
    Values& may = keys_[batch.numbers[i]];
    const uint64_t value = batch.verb == Verb::kErase ? 0 : batch.values[i];
    if (std::find(may.begin(), may.end(), value) == may.end()) may.push_back(value);
  }
  return wrong;
}

std::string SessionModel::TakeOne(const Batch& batch, size_t i, const Answer& answer) {
  Values& may = keys_[batch.numbers[i]];
  const uint64_t given = batch.values.empty() ? 0 : batch.values[i];
  // What the key held before, as the answer has it; without a value it may be any that was there.
  bool value_says = answer.existed;
  uint64_t before = answer.existed ? answer.value : 0;
  uint64_t after = given;
  bool applied = true;  // what it should say
  switch (batch.verb) {
    case Verb::kUpsert:
      value_says = false;
      break;
    case Verb::kErase:
      value_says = false;
      after = 0;
      break;
    case Verb::kLookup:
      after = before;
      break;
    case Verb::kInsert:
      applied = !answer.existed;
      after = answer.existed ? before : given;
      break;
    case Verb::kReplace:
      applied = answer.existed;
      after = answer.existed ? given : 0;
      break;
    case Verb::kCompareAndSet:
      applied = answer.existed && before == batch.expected[i];
      after = applied ? given : before;
      break;
    case Verb::kAdd:
      if (answer.existed) before = answer.value - given;
      after = before + given;
      break;
  }
  const bool conditional = batch.verb > Verb::kLookup;
  const bool possible = std::any_of(may.begin(), may.end(), [&](uint64_t one) {
    return value_says ? one == before : (one != 0) == answer.existed;
  });
  std::string wrong;
  if (!possible || (conditional && answer.applied != applied)) {
    wrong = absl::StrCat(kVerbNames[static_cast<size_t>(batch.verb)], " of ", given,
                         " to key number ", batch.numbers[i], ", operation ", i, " of ",
                         batch.numbers.size(), ", existed=", answer.existed,
                         " applied=", answer.applied, " value=", answer.value,
                         "; expected=", batch.expected.empty() ? 0 : batch.expected[i],
                         "; it holds ", absl::StrJoin(may, " or "), " (0: absent)");
  }
  may.assign(1, after);
  return wrong;
}

}  // namespace eris::stress
