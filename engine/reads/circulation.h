// Blocks of rows that circulate: reader -> a part's AEU -> (the AEUs that answer its rows ->)
// reader. They are the whole memory of a join or of a table scan; a part without one pauses. AEUs
// only push to lists and rings, and notify. Owned by the reader's state; its mutex guards
// everything except the functions that say otherwise. Paper: ERIS 3.2.
#ifndef ERIS_ENGINE_READS_CIRCULATION_H_
#define ERIS_ENGINE_READS_CIRCULATION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "engine/core/core.h"
#include "engine/core/handover_stack.h"
#include "engine/core/reader_state.h"
#include "eris/types.h"
#include "routing/part.h"
#include "routing/reply.h"

namespace eris::engine {

template <class Block>
using AnsweredBlocks = HandoverStack<Block>;

// Rows in transit to the reader, or held by it. Base: a class of routing/, as AEUs see it.
template <class Base, class Block, class Part>
struct CirculatingBlock : Base, ReaderBuffer {
  // Immutable while commands are under way.
  ReaderState* reader = nullptr;
  AnsweredBlocks<Block>* answered = nullptr;

  Block* next = nullptr;  // in a list of answered ones
  // Shared: written by the sender of its rows and by the AEUs that answer them.
  std::atomic<uint32_t> owed{0};

  // Guarded by the reader's mutex.
  Part* part = nullptr;  // the part that holds it
  uint32_t resends = 0;  // since it was filled

  // Called before `answers` answers are requested; the block has entered.
  void Owe(uint32_t answers) {
    // relaxed: the buffers that carry the commands publish it to the AEUs.
    owed.store(answers, std::memory_order_relaxed);
  }
  // The same for a part's AEU, which holds the part.
  static void Begin(Base* base, uint32_t answers) noexcept {
    auto* block = static_cast<Block*>(base);
    block->reader->EnterAgain();
    block->Owe(answers);
  }
  // The completion function of those commands; called by AEUs.
  static void Answered(routing::Reply* reply, uint32_t answers) noexcept {
    auto* block = static_cast<Block*>(reply);
    // acq_rel: the last one sees what the others have written.
    const uint32_t before = block->owed.fetch_sub(answers, std::memory_order_acq_rel);
    ERIS_DCHECK(before >= answers);
    if (before != answers) return;
    ReaderState* const reader = block->reader;
    block->answered->Push(block);  // from here on the reader owns it: it may be out again
    reader->Leave();
  }
};

// Base: a class of routing/, as its AEU sees it.
template <class Base>
struct CirculatingPart : Base {
  using PartBase = Base;

  // Guarded by the reader's mutex.
  bool out = false;    // an AEU has a command for it
  AeuId aeu;           // that AEU
  uint32_t given = 0;  // blocks that have not come back
};

template <class Block, class Part>
class Circulation {
 public:
  explicit Circulation(Core& core) : core_(core) {}

  // Before the first command; throw std::bad_alloc. `owners` ascend.
  void MakeParts(const std::vector<AeuId>& owners) {
    parts_ = std::make_unique<Part[]>(owners.size());
    for (size_t i = 0; i < owners.size(); ++i) {
      parts_[i].owner = parts_[i].aeu = owners[i];
      part_list_.push_back(&parts_[i]);
    }
  }
  void MakeBlocks(ReaderState& reader, AnsweredBlocks<Block>& answered, uint32_t count) {
    blocks_ = std::make_unique<Block[]>(count);
    block_count_ = count;
    spare_.reserve(count);  // for all of them: later calls need no memory
    for (uint32_t i = 0; i < count; ++i) {
      blocks_[i].reader = &reader;
      blocks_[i].answered = &answered;
      spare_.push_back(&blocks_[i]);
    }
  }
  void DropParts() { parts_.reset(); }

  size_t parts() const { return part_list_.size(); }
  Part& part(size_t i) const { return parts_[i]; }
  size_t IndexOf(const Part& part) const { return static_cast<size_t>(&part - parts_.get()); }
  const auto& part_list() const { return part_list_; }  // by owner
  uint32_t blocks() const { return block_count_; }
  Block& block(uint32_t i) const { return blocks_[i]; }
  uint32_t blocks_away() const { return blocks_away_; }  // given to parts, and not taken back

  // Cancels all, wherever they are: AEUs end their parts, and skip rows that they have not begun to
  // answer.
  void CancelAll() {
    for (uint32_t i = 0; i < block_count_; ++i) blocks_[i].SetCancelled();
    CancelParts();
  }
  void CancelParts() {
    for (size_t i = 0; i < parts(); ++i) {
      parts_[i].SetCancelled();
      if (parts_[i].out) core_.directory[parts_[i].aeu].waker.Wake();
    }
  }

  // The next answered block that has not been processed; nullptr: none.
  Block* TakeAnswered(AnsweredBlocks<Block>& answered) {
    if (answered_list_ == nullptr) answered_list_ = answered.TakeAll();
    Block* const block = answered_list_;
    if (block == nullptr) return nullptr;
    answered_list_ = block->next;
    CameBack(*block);
    return block;
  }
  void CameBack(Block& block) {
    --blocks_away_;
    --block.part->given;
  }
  // Some of its rows will be requested again.
  void GoesAgain(Block& block) {
    ++blocks_away_;
    ++block.part->given;
  }

  // Takes back a part's empty blocks, after it has ended.
  void TakeBack(Part& part, typename Part::Chunk* block) {
    --part.given;
    --blocks_away_;
    spare_.push_back(static_cast<Block*>(block));
  }
  void TakeAllBack(Part& part) {
    while (typename Part::Chunk* block = part.TakeEmpty()) TakeBack(part, block);
  }
  // nullptr: none.
  Block* TakeSpare() {
    if (spare_.empty()) return nullptr;
    Block* const block = spare_.back();
    spare_.pop_back();
    return block;
  }

  // Passes an empty block on: to its own part, another one, or the spare ones.
  void PassOn(Block& block) {
    block.resends = 0;
    Part* const part = block.part;
    if (part != nullptr && part->out && part->given < routing::kPartChunksMax) {
      Give(block, *part);
      core_.directory[part->aeu].waker.Wake();
    } else {
      spare_.push_back(&block);
      GiveSpare();
    }
  }
  // Gives spare blocks to the parts that are out. `wake`: their commands have been sent.
  void GiveSpare(bool wake = true) {
    // Each part gets one before any gets a second.
    for (uint32_t most = 1; most <= routing::kPartChunksMax; ++most) {
      for (size_t i = 0; i < parts() && !spare_.empty(); ++i) {
        Part& part = parts_[next_part_];
        next_part_ = (next_part_ + 1) % parts();
        if (!part.out || part.given >= most) continue;
        Give(*TakeSpare(), part);
        if (wake) core_.directory[part.aeu].waker.Wake();
      }
    }
  }

 private:
  void Give(Block& block, Part& part) {
    block.part = &part;
    ++part.given;
    ++blocks_away_;
    part.GiveChunk(&block);
  }

  Core& core_;
  // Immutable once the first command is out.
  std::unique_ptr<Part[]> parts_;
  std::vector<typename Part::PartBase*> part_list_;
  std::unique_ptr<Block[]> blocks_;
  uint32_t block_count_ = 0;

  std::vector<Block*> spare_;
  Block* answered_list_ = nullptr;
  size_t next_part_ = 0;  // where GiveSpare begins
  uint32_t blocks_away_ = 0;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_CIRCULATION_H_
