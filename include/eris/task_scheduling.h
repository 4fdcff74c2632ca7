// Which AEU runs the free tasks of a query: work on rows that are complete, whose results may be
// made by any AEU. Not from the ERIS paper; locality-aware scheduling in Bobox, 4 and 6.1.
#ifndef ERIS_TASK_SCHEDULING_H_
#define ERIS_TASK_SCHEDULING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace eris {

enum class TaskScheduling : uint8_t {
  // Each AEU does its own; others never help.
  kOwn,
  // The locality-aware scheduler (LAS): AEUs that share a cache share their tasks; those of others
  // are taken by AEUs that have nothing else to do, of the nearest NumaNode first.
  kLocalityAware,
  // The baseline that does not look at the machine (NLS): all AEUs share their tasks.
  kBlind,
};
inline constexpr std::array<std::string_view, 3> kTaskSchedulingNames = {"own", "las", "nls"};

constexpr std::string_view NameOf(TaskScheduling scheduling) {
  return kTaskSchedulingNames[static_cast<size_t>(scheduling)];
}

// By which rule an AEU has found a task.
enum class TaskRule : uint8_t {
  // Locality-aware: the rules of section 4.2, in their order.
  kOwnImmediate,    // 1: the youngest immediate task of the AEU
  kGroupImmediate,  // 2: the oldest immediate task of another AEU of the group
  kGroupDeferred,   // 3: the youngest deferred task of the oldest query in the group
  kOtherDeferred,   // 4: the oldest deferred task of the second oldest query in another group
  kNearImmediate,   // 5: the oldest immediate task in another group of the NumaNode
  // Blind: the rules of section 6.1.
  kBlindImmediate,       // 1: the youngest immediate task of the AEU
  kBlindDeferred,        // 2: the oldest deferred task of all
  kBlindOtherImmediate,  // 3: the oldest immediate task of another AEU
};
inline constexpr size_t kTaskRules = 8;

// Their names, in words that name the scheduling first.
inline constexpr std::array<std::string_view, kTaskRules> kTaskRuleNames = {
    "las_own_immediate",  "las_group_immediate", "las_group_deferred", "las_other_deferred",
    "las_near_immediate", "nls_own_immediate",   "nls_deferred",       "nls_other_immediate"};

// What one AEU has done of free tasks since the engine was opened.
struct TaskStats {
  std::array<uint64_t, kTaskRules> taken{};  // by TaskRule
  uint64_t far = 0;                          // those whose input is on another NumaNode
  uint64_t wakes = 0;                        // AEUs that it has woken for tasks
};

}  // namespace eris

#endif  // ERIS_TASK_SCHEDULING_H_
