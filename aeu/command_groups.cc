#include "aeu/command_groups.h"

#include "base/check.h"

namespace eris::aeu {

void CommandGroups::Add(const routing::CommandHeader* command) {
  ERIS_DCHECK(!full());
  // A turn has few distinct (object, operation) pairs, usually the last one again: search from the
  // end.
  for (uint32_t i = used_; i-- > 0;) {
    CommandGroup& group = groups_[i];
    if (group.slot != command->slot) continue;
    if (group.type == command->type) {
      group.commands.push_back(command);
      group.lanes.set(command->lane);
      ++commands_;
      return;
    }
    // Another operation of the same Port, or of one with the same lane, comes before it.
    if (group.lanes.test(command->lane)) break;
  }
  if (used_ == groups_.size()) groups_.emplace_back();
  CommandGroup& group = groups_[used_];
  group.commands.push_back(command);
  group.slot = command->slot;
  group.type = command->type;
  group.lanes.set(command->lane);
  ++used_;
  ++commands_;
}

void CommandGroups::Clear() {
  for (uint32_t i = 0; i < used_; ++i) {
    groups_[i].commands.clear();
    groups_[i].lanes.reset();
  }
  used_ = 0;
  commands_ = 0;
}

}  // namespace eris::aeu
