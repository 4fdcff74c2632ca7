#include "routing/answers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cache_line.h"
#include "routing/block_pool.h"
#include "storage/conditional_write.h"

namespace eris::routing {

using storage::KeyState;

namespace {

// `answered`: of a state, whether the word is an answer.
template <class Answered>
void PutValues(const KeyedSegment& from, const uint64_t* words, uint32_t count, const Reply& reply,
               Answered answered) {
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t at = from.positions[i];
    const KeyState state = from.states[i];
    reply.states[at] = state;
    reply.values[at] = words[i] & (uint64_t{0} - answered(state));  // without a branch
  }
}

void PutInOrder(const CommandHeader& command) {
  const KeyedSegment from = KeyedSegmentOf(&command);
  const uint32_t count = command.count;
  const Reply& reply = *command.context;
  if (!AnswersValues(command.type)) {
    for (uint32_t i = 0; i < count; ++i) reply.states[from.positions[i]] = from.states[i];
    return;
  }
  const uint64_t* const words = HasValues(command.type) ? from.values : from.keys;
  switch (command.type) {
    case CommandType::kCompareAndSet:
      return PutValues(from, words, count, reply, [](KeyState state) {
        return uint64_t{state == KeyState::kPresent} | uint64_t{state == KeyState::kUnequal};
      });
    case CommandType::kAdd:
      return PutValues(from, words, count, reply, [](KeyState state) {
        return uint64_t{state == KeyState::kPresent} | uint64_t{state == KeyState::kAbsent};
      });
    default:
      return PutValues(from, words, count, reply,
                       [](KeyState state) { return uint64_t{state == KeyState::kPresent}; });
  }
}

// A block comes from another core's cache: fetches it, or the beginning of a long one.
void Fetch(const Block* block) {
  constexpr size_t kFetchedMax = 8 << 10;
  const auto* const bytes = reinterpret_cast<const std::byte*>(block);
  const size_t size = std::min(kFetchedMax, Block::RecordsAt() + block->used_bytes);
  for (size_t i = 0; i < size; i += base::kCacheLineBytes) __builtin_prefetch(bytes + i);
}

void Collect(Block* block) {
  for (std::span<const std::byte> records = block->records(); !records.empty();) {
    const auto* command = reinterpret_cast<const CommandHeader*>(records.data());
    records = records.subspan(command->size_bytes);
    if (!IsKeyed(command->type) || command->answers != AnswersTo::kRecord) continue;
    PutInOrder(*command);
    command->complete(command->context, command->count);
  }
  BlockPool::Return(block);
}

}  // namespace

bool CollectAnswers(ReturnPoint& home) {
  Block* block = home.TakeAll();
  if (block == nullptr) return false;
  Fetch(block);
  while (block != nullptr) {
    Block* const next = block->next;
    if (next != nullptr) Fetch(next);
    Collect(block);
    block = next;
  }
  return true;
}

}  // namespace eris::routing
