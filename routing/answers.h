// Where an AEU puts the answers of a command, and how they reach their requests. The states and
// words of a command from outside the engine travel in its block: no two AEUs write to one cache
// line, unless keys are sent on, and none writes to the request's columns of states and words. The
// sender's side puts them in order when the block is home. Rows of tables and bytes of strings are
// in the request's own memory. Paper: ERIS 3.2 (callback functions).
#ifndef ERIS_ROUTING_ANSWERS_H_
#define ERIS_ROUTING_ANSWERS_H_

#include <cstdint>

#include "routing/data_command.h"
#include "routing/reply.h"
#include "storage/batch.h"

namespace eris::routing {

// The answer of a command's key i is element At(i) of these columns.
struct AnswerColumns {
  uint64_t* values = nullptr;  // AnswersValues only
  storage::KeyState* states = nullptr;
  const uint32_t* positions = nullptr;  // nullptr: in the order of the keys
  // For tables: the rows, in the request, of the columns' elements. nullptr: element i is row i.
  const uint32_t* rows = nullptr;

  uint32_t At(uint32_t i) const { return positions == nullptr ? i : positions[i]; }
};

// The record that takes the answers; nullptr: the reply's columns do.
inline const CommandHeader* HomeOf(const CommandHeader* command) {
  switch (command->answers) {
    case AnswersTo::kRecord:
      return command;
    case AnswersTo::kHome:
      return *KeyedSegmentOf(command).home;
    case AnswersTo::kReply:
      break;
  }
  return nullptr;
}

inline AnswerColumns AnswersOf(const CommandHeader* command) {
  const KeyedSegment segment = KeyedSegmentOf(command);
  const CommandHeader* const record = HomeOf(command);
  if (record == nullptr) {
    return {.values = command->context->values,
            .states = command->context->states,
            .positions = segment.positions};
  }
  const KeyedSegment home = record == command ? segment : KeyedSegmentOf(record);
  // Each key, or given value, has been read when its answer replaces it. A record is its AEU's to
  // write.
  const uint64_t* const words = HasValues(command->type) ? home.values : home.keys;
  return {.values = const_cast<uint64_t*>(words),
          .states = home.states,
          .positions = record == command ? nullptr : segment.positions,
          .rows = home.positions};
}

// Any thread, also several at once: puts the answers of all blocks that are home into the columns
// of their replies, and calls each command's completion function. Absent values are answered as 0.
// False: no block was home.
bool CollectAnswers(ReturnPoint& home);

// Takes home what several Ports with one BlockAllowance have out: blocks that are executed count in
// it until somebody has taken them home, and their own threads may be idle.
class AnswerCollector {
 public:
  // Any thread, which is about to wait for room, now and then. O(Ports).
  virtual void CollectAll() noexcept = 0;

 protected:
  ~AnswerCollector() = default;
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_ANSWERS_H_
