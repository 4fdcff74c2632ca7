// Chooses the next keys: numbers of the key set by one of the distributions, a batch at a time. One
// picker per generator; one thread.
#ifndef ERIS_CLIENTS_LOAD_KEY_PICKER_H_
#define ERIS_CLIENTS_LOAD_KEY_PICKER_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "clients/load/key_set.h"
#include "clients/load/random.h"
#include "clients/load/workload.h"
#include "clients/load/zipf.h"

namespace eris::load {

struct PickerOptions {
  Distribution distribution = Distribution::kUniform;
  double key_part = 1;     // only the lowest part of the key space is used
  double hot_part = 0.01;  // fraction of that, for kHot and kShifting
  uint32_t hot_percent = 90;
  double shift_s = 10;
  uint64_t seed = 1;
  // The index of this picker and the number of all, at most as many as keys: they divide sequential
  // keys and inserts among them.
  uint32_t index = 0;
  uint32_t pickers = 1;
};

class KeyPicker {
 public:
  // `keys` must outlive the picker. `zipf`: for count() keys, for the three distributions that need
  // it.
  KeyPicker(const KeySet& keys, const PickerOptions& options, const std::optional<Zipf>& zipf);

  // How many of the set's numbers can be picked; at least 1.
  uint64_t count() const { return count_; }
  static uint64_t CountOf(const KeySet& keys, double key_part);

  // Fills `numbers`. `elapsed_s`, since the run began, moves the hot range. The first `inserted`
  // inserts of this picker are known to exist: kLatest picks from them.
  void Pick(absl::Span<uint64_t> numbers, double elapsed_s, uint64_t inserted);

  // For each number of the set a number outside it that is never inserted.
  uint64_t MissingNumber(uint64_t number) const {
    return number + keys_.count() * (KeySet::kGenerations - 1);
  }
  // The number that the index-th insert of this picker adds; after kGenerations - 2 times the set's
  // keys they start over.
  uint64_t InsertNumber(uint64_t index) const {
    return keys_.count() + options_.index + index % inserts_max_ * options_.pickers;
  }

 private:
  void PickHot(absl::Span<uint64_t> numbers, uint64_t first);

  const KeySet& keys_;
  const PickerOptions options_;
  const std::optional<Zipf> zipf_;
  const uint64_t count_;
  const uint64_t hot_count_;
  const uint64_t inserts_max_;
  Random random_;
  uint64_t next_;  // kSequential
};

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_KEY_PICKER_H_
