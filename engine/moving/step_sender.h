// What a transfer asks of the AEUs: the commands of a step, each with its answer. An interface, so
// that tests can answer in their place. Paper: ERIS 3.3.2; docs/internals/balancing.md.
#ifndef ERIS_ENGINE_MOVING_STEP_SENDER_H_
#define ERIS_ENGINE_MOVING_STEP_SENDER_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/core/core.h"
#include "engine/moving/object_admin.h"
#include "engine/objects/object_entry.h"
#include "eris/types.h"
#include "routing/transfer_step.h"

namespace eris::engine {

class StepSender {
 public:
  virtual ~StepSender() = default;

  // Gives the target a place for the object where it has none. Errors: ResourceExhausted; nothing
  // has changed then.
  virtual absl::Status Reserve(ObjectEntry& object, AeuId target) = 0;
  // Makes memory ready where the target takes its own from, so that it need not wait for pages in
  // the middle of a turn. Blocks in the kernel.
  virtual void PrepareMemory(AeuId target, uint64_t bytes) = 0;
  // Blocks until the step has ended, as its outcome says. Until then `goes_on` is asked now and
  // then; after it has said no, the source refuses the step, unless the rows have left. Errors:
  // ResourceExhausted (the source took no command within the control Port's bound); nothing has
  // happened then.
  virtual absl::Status Give(ObjectEntry& object, routing::TransferStep& step,
                            absl::FunctionRef<bool()> goes_on) = 0;
  // Tells the source how it ended and blocks until that has drawn the conclusion. Cannot fail: AEUs
  // always drain, so a full buffer only means waiting; and so does a lack of memory for the
  // command, since what has left its source cannot be left where it is.
  virtual void Conclude(ObjectEntry& object, routing::TransferStep& step) = 0;
};

// REQUIRES of all calls: core.in_flight has been entered.
class AeuStepSender final : public StepSender {
 public:
  AeuStepSender(Core& core, ObjectAdmin& admin) : core_(core), admin_(admin) {}

  absl::Status Reserve(ObjectEntry& object, AeuId target) override {
    return admin_.AddMember(object, target);
  }
  void PrepareMemory(AeuId target, uint64_t bytes) override { admin_.PrepareMemory(target, bytes); }
  absl::Status Give(ObjectEntry& object, routing::TransferStep& step,
                    absl::FunctionRef<bool()> goes_on) override;
  void Conclude(ObjectEntry& object, routing::TransferStep& step) override;

 private:
  Core& core_;
  ObjectAdmin& admin_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MOVING_STEP_SENDER_H_
