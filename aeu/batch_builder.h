// Makes one batch per owned range out of a group of commands. A command whose keys are all in one
// range is used in place, without a copy. Otherwise its keys are sorted by range. Keys that this
// AEU may not execute are separated: they are forwarded or refused. Owned by the AEU.
// Paper: ERIS 3.3.2 (an AEU compares each incoming data command against its bounds).
#ifndef ERIS_AEU_BATCH_BUILDER_H_
#define ERIS_AEU_BATCH_BUILDER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "aeu/state/object_slot.h"
#include "routing/data_command.h"
#include "routing/reply.h"
#include "storage/batch.h"

namespace eris::aeu {

// Keys of one command that are not executed here. Those under the slot's stub (object_slot.h) are
// forwarded. The others go back to their sender: the AEU does not own them, or it took them in by a
// newer table than the command's.
struct OtherKeys {
  const routing::CommandHeader* command = nullptr;
  bool send_on = false;
  std::span<const uint64_t> keys;
  std::span<const uint64_t> values;     // if the command has them
  std::span<const uint64_t> expected;   // likewise
  std::span<const uint64_t> seconds;    // likewise
  std::span<const uint32_t> positions;  // of their answers (routing::AnswerColumns)
};

class BatchBuilder {
 public:
  // `commands` are for one object (that of `slot`) and of one type, with `keys_total` keys in all.
  // The results borrow from them and from the builder, until the next Build. Throws std::bad_alloc;
  // it may then be called again.
  void Build(ObjectSlot& slot, std::span<const routing::CommandHeader* const> commands,
             uint64_t keys_total);

  // By index of slot.ranges().
  std::span<const storage::BatchPart> PartsOf(size_t range) const { return parts_[range]; }
  // The ranges that have parts.
  std::span<const uint32_t> ranges() const { return with_parts_; }
  // In the order of the commands; up to two per command.
  std::span<const OtherKeys> others() const { return others_; }

 private:
  void Add(uint32_t range, const storage::BatchPart& part) {
    if (parts_[range].empty()) with_parts_.push_back(range);
    parts_[range].push_back(part);
  }
  void Sort(ObjectSlot& slot, const routing::CommandHeader* command);

  std::vector<std::vector<storage::BatchPart>> parts_;
  std::vector<uint32_t> with_parts_;
  std::vector<OtherKeys> others_;
  // Sorted copies of the keys of commands that could not be used in place.
  std::vector<uint64_t> keys_;
  std::vector<uint64_t> values_;
  std::vector<uint64_t> expected_;  // grown by the first command that has such a column
  std::vector<uint64_t> seconds_;   // likewise
  std::vector<uint32_t> positions_;
  size_t used_ = 0;
  std::vector<uint32_t> range_of_;  // scratch: for each key of one command
  std::vector<uint32_t> next_;      // scratch: position of each range's next key
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_BATCH_BUILDER_H_
