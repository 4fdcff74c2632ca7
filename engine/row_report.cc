#include "engine/row_report.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/core/closing.h"
#include "engine/core/control_request.h"
#include "engine/objects/object_kinds.h"
#include "eris/errors.h"
#include "routing/data_command.h"
#include "storage/row_bytes.h"

namespace eris::engine {
namespace {

using storage::KeyState;

constexpr absl::Duration kLook = absl::Milliseconds(5);

absl::Status MeasureObject(Core& core, const ResolvedOptions& resolved, const ObjectEntry& object,
                           absl::FunctionRef<absl::Status()> interrupted,
                           std::vector<RowMemory>& out) {
  const std::vector<AeuId> members = object.Members();
  if (members.empty()) return absl::OkStatus();
  std::vector<storage::RowBytes> bytes(members.size());
  ControlRequest request(core, routing::CommandType::kMeasure,
                         static_cast<uint32_t>(members.size()));
  for (uint32_t i = 0; i < members.size(); ++i) {
    const routing::MeasureSegment segment{.bytes = &bytes[i], .position = i};
    request.Send(members[i], object.route, segment);
  }
  absl::Status status;
  while (!request.AwaitUntil(absl::Now() + kLook)) {
    // Nothing may be thrown while AEUs write to `bytes`.
    if (!status.ok()) continue;
    status = base::OrNoMemory("the system has no memory to go on", interrupted);
    if (!status.ok()) request.Cancel();
  }
  ERIS_RETURN_IF_ERROR(status);
  for (uint32_t i = 0; i < members.size(); ++i) {
    const KeyState state = request.state(i);
    if (state == KeyState::kNoObject) continue;  // dropped
    if (state != KeyState::kPresent) {
      const bool no_memory = state == KeyState::kNoMemory;
      return Error(no_memory ? ErrorReason::kSystemMemory : ErrorReason::kBufferFull,
                   absl::StrCat("AEU ", members[i].value, " has not measured its rows of object \"",
                                object.name,
                                no_memory ? "\": it has no memory" : "\": it takes no command"));
    }
    out.push_back({.object = object.name,
                   .aeu = members[i],
                   .numa_node = resolved.plan.aeus[members[i].value].numa_node,
                   .bytes = bytes[i].all,
                   .remote_bytes = bytes[i].remote});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<RowMemory>> MeasureRows(Core& core, const ResolvedOptions& resolved,
                                                   const std::vector<ObjectRef>& objects,
                                                   absl::FunctionRef<absl::Status()> interrupted) {
  if (!core.administration.TryEnter()) {
    return EngineClosing();
  }
  const InFlight::Entered entered(core.administration);
  std::vector<RowMemory> rows;
  for (const ObjectRef& object : objects) {
    if (!MemoryFollowsIn(object->kind)) continue;
    ERIS_RETURN_IF_ERROR(interrupted());
    ERIS_RETURN_IF_ERROR(MeasureObject(core, resolved, *object, interrupted, rows));
  }
  return rows;
}

}  // namespace eris::engine
