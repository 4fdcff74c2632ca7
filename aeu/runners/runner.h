// Work that an AEU advances in slices, turn by turn: scans, joins, table scans and others. Each is
// a Runner. Runners has all of them, and maps a command's type to the runner that handles it. A new
// kind is a class and a line in the constructor of Aeu. Owned by the AEU. Paper: ERIS 3.1.
#ifndef ERIS_AEU_RUNNER_H_
#define ERIS_AEU_RUNNER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "aeu/state/object_slot.h"
#include "routing/data_command.h"

namespace eris::aeu {

class Runner {
 public:
  virtual ~Runner() = default;
  // Accepts a command and keeps no pointer into it; `slot` belongs to the command's object, nullptr
  // if the AEU has no such object. Only Advance runs it. Never throws: without memory the part is
  // answered accordingly.
  virtual void Begin(const routing::CommandHeader* command, ObjectSlot* slot) = 0;
  // The object is being dropped: its readers end now, or once they have sent what they have begun
  // to send.
  virtual void EndAll(const ObjectSlot* slot) = 0;
  // Advances work that can run, one after another from where the last turn stopped, until
  // `deadline_ns`, but always at least one step. True if any row or key moved, or anything ended.
  virtual bool Advance(uint64_t deadline_ns) = 0;
  // Whether Advance would find work. Uses seq_cst loads: see routing::Waker.
  virtual bool Runnable() const = 0;
  virtual size_t running() const = 0;
};

class Runners {
 public:
  struct Kind {
    routing::CommandType command;
    Runner* runner;  // not owned
  };
  static constexpr size_t kKinds = 5;
  explicit Runners(const std::array<Kind, kKinds>& kinds) : kinds_(kinds) {}

  // False: no runner handles the command.
  bool Begin(const routing::CommandHeader* command, ObjectSlot* slot) {
    for (const Kind& kind : kinds_) {
      if (kind.command != command->type) continue;
      kind.runner->Begin(command, slot);
      Count();
      return true;
    }
    return false;
  }
  void EndAll(const ObjectSlot* slot) {
    for (const Kind& kind : kinds_) kind.runner->EndAll(slot);
    Count();
  }
  // One slice for all kinds: the kinds after the first get the rest of it, or a single step. Every
  // kind with work is first in turn.
  bool Advance(uint64_t deadline_ns) {
    bool moved = false;
    size_t first = kKinds;
    for (size_t i = 0; i < kKinds; ++i) {
      const size_t kind = (first_ + i) % kKinds;
      if (kinds_[kind].runner->running() == 0) continue;
      if (first == kKinds) first = kind;
      moved |= kinds_[kind].runner->Advance(deadline_ns);
    }
    first_ = (first + 1) % kKinds;
    Count();
    return moved;
  }
  bool Runnable() const {
    if (running_ == 0) return false;
    for (const Kind& kind : kinds_) {
      if (kind.runner->Runnable()) return true;
    }
    return false;
  }
  size_t running() const { return running_; }
  // After work of a runner that did not go through here.
  void Count() {
    running_ = 0;
    for (const Kind& kind : kinds_) running_ += kind.runner->running();
  }

 private:
  const std::array<Kind, kKinds> kinds_;
  size_t first_ = 0;    // the kind that comes first in the next turn
  size_t running_ = 0;  // of all kinds: checked in every turn
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_RUNNER_H_
