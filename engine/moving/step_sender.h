// A transfer's calls to the AEUs: the commands of a step, each with its answer. An interface, so
// that tests can answer instead. Paper: ERIS 3.3.2; docs/internals/balancing.md.
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

  // Gives the target a slot for the object if it has none. Errors: ResourceExhausted; then nothing
  // has changed.
  virtual absl::Status Reserve(ObjectEntry& object, AeuId target) = 0;
  // Prepares memory in the target's pool, so that it need not wait for pages during a turn. Blocks
  // in the kernel.
  virtual void PrepareMemory(AeuId target, uint64_t bytes) = 0;
  // Blocks until the step has ended; its outcome tells how. Until then `goes_on` is called now and
  // then. After it has returned false, the source refuses the step, unless the rows have left.
  // Errors: ResourceExhausted (the source took no command within the control Port's time limit);
  // then nothing has happened.
  virtual absl::Status Give(ObjectEntry& object, routing::TransferStep& step,
                            absl::FunctionRef<bool()> goes_on) = 0;
  // Tells the source the outcome and blocks until it has concluded the step. Cannot fail, because
  // rows that have left their source cannot be abandoned: AEUs always execute their commands, so it
  // waits if a buffer is full or if there is no memory for the command.
  virtual void Conclude(ObjectEntry& object, routing::TransferStep& step) = 0;
};

// REQUIRES for all calls: core.administration has been entered.
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
