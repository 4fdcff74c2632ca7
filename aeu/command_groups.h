// The first stage of a turn: keyed commands are grouped by data object and operation, so that each
// group runs as one batch. Commands of one Port keep their order: a command joins no group that
// runs before an earlier command of its Port and object. Bounded; no allocation once it has grown
// to its bound. Owned by one AEU. Paper: ERIS 3.1 (command grouping).
#ifndef ERIS_AEU_COMMAND_GROUPS_H_
#define ERIS_AEU_COMMAND_GROUPS_H_

#include <bitset>
#include <cstdint>
#include <vector>

#include "routing/data_command.h"

namespace eris::aeu {

// Commands in one round of groups; a turn with more runs several rounds.
inline constexpr uint32_t kGroupedCommandsMax = 1024;

struct CommandGroup {
  uint32_t slot = 0;
  routing::CommandType type = routing::CommandType::kLookup;
  std::vector<const routing::CommandHeader*> commands;  // in order of arrival
  std::bitset<256> lanes;                               // of the commands
};

class CommandGroups {
 public:
  // REQUIRES: !full(). Borrows the command until Clear. Throws std::bad_alloc, with nothing
  // changed.
  void Add(const routing::CommandHeader* command);
  bool full() const { return commands_ == kGroupedCommandsMax; }
  bool empty() const { return commands_ == 0; }
  // In order of each group's first command.
  std::vector<CommandGroup>::iterator begin() { return groups_.begin(); }
  std::vector<CommandGroup>::iterator end() { return groups_.begin() + used_; }
  void Clear();

 private:
  // the first used_ have commands; the others only keep their memory
  std::vector<CommandGroup> groups_;
  uint32_t used_ = 0;
  uint32_t commands_ = 0;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_COMMAND_GROUPS_H_
