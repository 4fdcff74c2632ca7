#include "clients/load/verifier.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace eris::load {
namespace {

bool Bit(absl::string_view bits, size_t row) {
  return row / 8 < bits.size() && (static_cast<uint8_t>(bits[row / 8]) >> (row % 8) & 1) != 0;
}

uint64_t WordAt(const char* words, size_t index) {
  uint64_t word;
  std::memcpy(&word, words + index * sizeof word, sizeof word);
  return word;
}

uint64_t CountWrongLookups(const Request& request, const Answer& answer) {
  const size_t count = request.keys.size();
  if (answer.values.size() != count * sizeof(uint64_t)) return count;
  const bool none_missing = request.missing.empty();
  if (none_missing && (answer.all_present || CountBits(answer.present, count) == count)) {
    return CountWrongValues(request.keys, answer.values.data());
  }
  uint64_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    const bool expected = none_missing || request.missing[i] == 0;
    const bool found = answer.all_present || Bit(answer.present, i);
    const bool right = found == expected &&
                       (!found || WordAt(answer.values.data(), i) == ValueOf(request.keys[i]));
    wrong += right ? 0 : 1;
  }
  return wrong;
}

}  // namespace

uint64_t CountBits(absl::string_view bits, size_t rows) {
  uint64_t count = 0;
  const size_t whole = std::min(bits.size(), rows / 8);
  size_t i = 0;
  for (; i + 8 <= whole; i += 8) count += std::popcount(WordAt(bits.data() + i, 0));
  for (; i < whole; ++i) count += std::popcount(static_cast<uint8_t>(bits[i]));
  for (size_t row = whole * 8; row < rows; ++row) count += Bit(bits, row) ? 1 : 0;
  return count;
}

uint64_t CountWrong(const Request& request, const Answer& answer, bool new_keys) {
  const size_t count = request.keys.size();
  switch (request.operation) {
    case Operation::kLookup:
      return CountWrongLookups(request, answer);
    case Operation::kUpsert: {
      const uint64_t there = answer.all_present ? count : CountBits(answer.present, count);
      return new_keys ? there : count - there;
    }
    case Operation::kInsert:
      return 0;  // an earlier run may have inserted the same keys
    case Operation::kReadModifyWrite:
      if (!request.writing) return CountWrongLookups(request, answer);
      return count - CountBits(answer.applied, count);  // no writer writes another value
    case Operation::kScan:
      return request.wrong;
  }
  return 0;
}

void CheckRows(const KeySet& keys, Request& request, const char* row_keys, const char* values,
               size_t rows) {
  for (size_t i = 0; i < rows; ++i) {
    const uint64_t key = WordAt(row_keys, i);
    const bool ascends = (request.rows == 0 && i == 0) || request.last_key < key;
    request.last_key = key;
    const bool asked_for = key >= request.keys[0];
    if (!ascends || !asked_for || WordAt(values, i) != ValueOf(key)) ++request.wrong;
    if (!keys.IsInSet(key)) continue;
    const uint64_t number = keys.NumberOf(key);
    if (number >= keys.count() || keys.Key(number) != key) {
      ++request.wrong;  // no writer has written such a key
    } else if (number >= request.next_number) {
      request.wrong += number - request.next_number;  // missing rows
      request.next_number = number + 1;
    }
  }
}

void CheckScanEnd(const KeySet& keys, Request& request) {
  const bool all = request.rows_max == 0;
  if (!all && request.rows >= request.rows_max) {
    request.wrong += request.rows - request.rows_max;
    return;
  }
  request.wrong += keys.count() - request.next_number;
}

}  // namespace eris::load
