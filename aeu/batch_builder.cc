#include "aeu/batch_builder.h"

#include <algorithm>

#include "aeu/state/reserve_more.h"
#include "base/cache_line.h"
#include "base/check.h"
#include "routing/answers.h"
#include "routing/ranges/split_kernels.h"

namespace eris::aeu {
namespace {

// REQUIRES: the range is not empty.
bool AllOwned(const storage::Range& range, std::span<const uint64_t> keys) {
  const uint64_t last = range.hi ? range.hi->head - 1 : ~uint64_t{0};
  return routing::AllInside(keys, range.lo.head, last);
}

// The command is in the sender's cache: fetch what the partition uses next while the keys are
// checked.
void PrefetchAnswers(const routing::AnswerColumns& answers, uint32_t count) {
  if (answers.positions == nullptr) {
    for (uint32_t i = 0; i < count; i += base::kCacheLineBytes) {
      __builtin_prefetch(answers.states + i, 1);
    }
    return;
  }
  for (uint32_t i = 0; i < count; i += base::kCacheLineBytes / sizeof(uint32_t)) {
    __builtin_prefetch(answers.positions + i);
  }
}

// What the parts of a command have in common.
storage::BatchPart PartOf(const routing::CommandHeader* command,
                          const routing::AnswerColumns& answers) {
  return {.values_out = answers.values,
          .states_out = answers.states,
          .bytes_out = command->context->bytes_sink,
          .rows = command->context->rows,
          .columns_out = command->context->columns_out,
          .row_numbers = answers.rows};
}

}  // namespace

void BatchBuilder::Build(ObjectSlot& slot, std::span<const routing::CommandHeader* const> commands,
                         uint64_t keys_total) {
  const size_t ranges = slot.ranges().size();
  if (parts_.size() < ranges) parts_.resize(ranges);
  for (const uint32_t range : with_parts_) parts_[range].clear();
  with_parts_.clear();
  others_.clear();
  used_ = 0;
  for (const routing::CommandHeader* command : commands) {
    const routing::KeyedSegment segment = routing::KeyedSegmentOf(command);
    const routing::AnswerColumns answers = routing::AnswersOf(command);
    PrefetchAnswers(answers, command->count);
    // Usually all keys are in the range of the first one.
    const OwnedRange* first = command->count == 0 ? nullptr : slot.Find(segment.keys[0]);
    if (first != nullptr && slot.history().Knows(command->table_version) &&
        AllOwned(first->partition->range(), {segment.keys, command->count})) {
      storage::BatchPart part = PartOf(command, answers);
      part.count = command->count;
      part.keys = segment.keys;
      part.values_in = segment.values;
      part.positions = answers.positions;
      part.expected = segment.expected;
      part.seconds = segment.seconds;
      Add(static_cast<uint32_t>(first - slot.ranges().data()), part);
      continue;
    }
    // Reserve room for the whole group before the first copy, because the parts point into these.
    const auto grow = [&](auto& column) {
      if (column.size() >= keys_total) return;
      ERIS_DCHECK(used_ == 0);
      ReserveMore(column, keys_total - column.size());
      column.resize(keys_total);
    };
    grow(keys_);
    grow(values_);
    grow(positions_);
    // All commands of the group have these columns, or none has.
    if (segment.expected != nullptr) grow(expected_);
    if (segment.seconds != nullptr) grow(seconds_);
    Sort(slot, command);
  }
}

void BatchBuilder::Sort(ObjectSlot& slot, const routing::CommandHeader* command) {
  const routing::KeyedSegment segment = routing::KeyedSegmentOf(command);
  const routing::AnswerColumns answers = routing::AnswersOf(command);
  const uint32_t ranges = static_cast<uint32_t>(slot.ranges().size());
  range_of_.resize(command->count);
  // The last two entries count keys that are not executed here: refused ones and forwarded ones.
  next_.assign(ranges + 2, 0);
  for (uint32_t i = 0; i < command->count; ++i) {
    const uint64_t key = segment.keys[i];
    const OwnedRange* owned = slot.Find(key);
    if (owned == nullptr) {
      range_of_[i] = ranges + slot.SendsOn(key, command->table_version);
    } else if (slot.history().TooOld(key, command->table_version)) {
      range_of_[i] = ranges;
    } else {
      range_of_[i] = static_cast<uint32_t>(owned - slot.ranges().data());
    }
    ++next_[range_of_[i]];
  }
  uint32_t begin = static_cast<uint32_t>(used_);
  for (uint32_t range = 0; range < ranges + 2; ++range) {
    const uint32_t count = next_[range];
    next_[range] = begin;
    const uint64_t* values = segment.values == nullptr ? nullptr : values_.data() + begin;
    const uint64_t* expected = segment.expected == nullptr ? nullptr : expected_.data() + begin;
    const uint64_t* seconds = segment.seconds == nullptr ? nullptr : seconds_.data() + begin;
    if (count == 0) continue;
    if (range < ranges) {
      storage::BatchPart part = PartOf(command, answers);
      part.count = count;
      part.keys = keys_.data() + begin;
      part.values_in = values;
      part.positions = positions_.data() + begin;
      part.expected = expected;
      part.seconds = seconds;
      Add(range, part);
    } else {
      others_.push_back({.command = command,
                         .send_on = range > ranges,
                         .keys = {keys_.data() + begin, count},
                         .values = {values, values == nullptr ? 0 : count},
                         .expected = {expected, expected == nullptr ? 0 : count},
                         .seconds = {seconds, seconds == nullptr ? 0 : count},
                         .positions = {positions_.data() + begin, count}});
    }
    begin += count;
  }
  used_ += command->count;
  for (uint32_t i = 0; i < command->count; ++i) {
    const uint32_t at = next_[range_of_[i]]++;
    keys_[at] = segment.keys[i];
    if (segment.values != nullptr) values_[at] = segment.values[i];
    if (segment.expected != nullptr) expected_[at] = segment.expected[i];
    if (segment.seconds != nullptr) seconds_[at] = segment.seconds[i];
    positions_[at] = answers.At(i);
  }
}

}  // namespace eris::aeu
