// What a conditional write does to one key: the complete semantics of the four operations, one
// function for each, and Decide for all. A function gets a pointer to the key's value (nullptr: the
// key is absent). It returns what to store, if anything, and the answer. Pure; any thread.
#ifndef ERIS_STORAGE_CONDITIONAL_WRITE_H_
#define ERIS_STORAGE_CONDITIONAL_WRITE_H_

#include <cstdint>

#include "base/check.h"
#include "storage/batch.h"

namespace eris::storage {

struct ConditionalWrite {
  bool stores = false;
  uint64_t stored = 0;
  // Valid unless there is no memory for a new key.
  KeyState state = KeyState::kAbsent;
  bool answers = false;  // there is a value to answer with
  uint64_t answer = 0;

  // Called if there is no memory, before anything is stored.
  void Refuse() {
    state = KeyState::kNoMemory;
    answers = false;
  }
  // Writes the answer of the part's key at `index`.
  void Answer(const BatchPart& part, uint32_t index) const {
    const uint32_t at = part.At(index);
    if (answers) part.values_out[at] = answer;
    part.states_out[at] = state;
  }
};

// The answer is the existing value.
inline ConditionalWrite InsertIfAbsent(const uint64_t* value, uint64_t desired) {
  if (value == nullptr) return {.stores = true, .stored = desired};
  return {.state = KeyState::kPresent, .answers = true, .answer = *value};
}

// The answer is the value that was replaced.
inline ConditionalWrite ReplaceIfPresent(const uint64_t* value, uint64_t desired) {
  if (value == nullptr) return {};
  return {.stores = true,
          .stored = desired,
          .state = KeyState::kPresent,
          .answers = true,
          .answer = *value};
}

// The answer is the value that was found, equal or not. An absent key equals nothing.
inline ConditionalWrite CompareAndSet(const uint64_t* value, uint64_t desired, uint64_t expected) {
  if (value == nullptr) return {};
  const bool equal = *value == expected;
  return {.stores = equal,
          .stored = desired,
          .state = equal ? KeyState::kPresent : KeyState::kUnequal,
          .answers = true,
          .answer = *value};
}

// Modulo 2^64; add the two's complement of a number to subtract it. An absent key counts from 0.
// The answer is the sum.
inline ConditionalWrite Add(const uint64_t* value, uint64_t delta) {
  const uint64_t sum = (value == nullptr ? 0 : *value) + delta;
  return {.stores = true,
          .stored = sum,
          .state = value == nullptr ? KeyState::kAbsent : KeyState::kPresent,
          .answers = true,
          .answer = sum};
}

// `expected` is used only for kCompareAndSet. REQUIRES: IsConditional(operation).
inline ConditionalWrite Decide(Operation operation, const uint64_t* value, uint64_t desired,
                               uint64_t expected) {
  switch (operation) {
    case Operation::kInsertIfAbsent:
      return InsertIfAbsent(value, desired);
    case Operation::kReplaceIfPresent:
      return ReplaceIfPresent(value, desired);
    case Operation::kCompareAndSet:
      return CompareAndSet(value, desired, expected);
    case Operation::kAdd:
      return Add(value, desired);
    case Operation::kLookup:
    case Operation::kUpsert:
    case Operation::kErase:
    case Operation::kPutRows:
    case Operation::kLookupRows:
      break;
  }
  ERIS_CHECK(false);  // these depend on no value
  return {};
}

// The same for a key of a batch.
inline ConditionalWrite Decide(Operation operation, const uint64_t* value, const BatchPart& part,
                               uint32_t index) {
  const uint64_t expected = part.expected == nullptr ? 0 : part.expected[index];
  return Decide(operation, value, part.values_in[index], expected);
}

}  // namespace eris::storage

#endif  // ERIS_STORAGE_CONDITIONAL_WRITE_H_
