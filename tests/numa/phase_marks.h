// Switches the access counter on and off on the cpus of an engine's AEUs: each AEU is asked for a
// key of its own, and the function that takes the answer, which runs on the AEU's thread, holds the
// mark. Between two calls of Set everything is counted that the AEUs' cpus do; nothing else may run
// there.
#ifndef ERIS_TESTS_NUMA_PHASE_MARKS_H_
#define ERIS_TESTS_NUMA_PHASE_MARKS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/check.h"
#include "engine/engine_impl.h"
#include "routing/port.h"
#include "routing/reply.h"
#include "tests/numa/access_marks.h"

namespace eris::numa_lab {

// As the template of this name, for a phase that is not a constant.
inline void CountInto(uint8_t phase) {
  [&]<size_t... phases>(std::index_sequence<phases...>) {
    ((phase == phases ? CountInto<static_cast<uint8_t>(phases)>() : void()), ...);
  }
  (std::make_index_sequence<kPhasesMax>());
}

class PhaseMarks {
 public:
  // Creates the object "phase marks". Errors: the engine's.
  static absl::StatusOr<std::unique_ptr<PhaseMarks>> Create(engine::EngineImpl& engine) {
    const absl::Status created = engine.Create(kObject, {}).status();
    if (!created.ok()) return created;
    return std::unique_ptr<PhaseMarks>(new PhaseMarks(engine));
  }

  // Every AEU counts into `phase` from here; 0: none counts. Blocks until all do.
  void Set(uint8_t phase) {
    const auto table = route_.Pin();
    // relaxed: published to the AEUs by the buffers the commands travel in.
    waited_for_.store(static_cast<uint32_t>(table->size()), std::memory_order_relaxed);
    marks_.resize(table->size());
    for (size_t i = 0; i < table->size(); ++i) {
      if (marks_[i] == nullptr) marks_[i] = std::make_unique<Mark>(*this);
      marks_[i]->phase = phase;
      const uint64_t key = table->RangeOf(i).lo.head;
      ERIS_CHECK(port_.Send(route_,
                            {.type = routing::CommandType::kLookup,
                             .keys = {&key, 1},
                             .complete = &Mark::Answered,
                             .context = marks_[i].get()},
                            storage::KeyState::kRefused) == 0);
    }
    port_.Flush();
    // Acquire: pairs with each AEU's fetch_sub.
    for (uint32_t left; (left = waited_for_.load(std::memory_order_acquire)) != 0;) {
      waited_for_.wait(left);
    }
  }

 private:
  static constexpr char kObject[] = "phase marks";

  struct Mark final : routing::Reply {
    explicit Mark(PhaseMarks& owner) : marks(owner) {
      values = &value;
      states = &state;
    }
    static void Answered(Reply* reply, uint32_t) noexcept {
      auto* self = static_cast<Mark*>(reply);
      PhaseMarks& marks = self->marks;
      CountInto(self->phase);
      // Release: the main thread, which waits for this, sets the next phase.
      if (marks.waited_for_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        marks.waited_for_.notify_one();
      }
    }
    PhaseMarks& marks;
    uint8_t phase = 0;
    uint64_t value = 0;
    storage::KeyState state = storage::KeyState::kPending;
  };

  explicit PhaseMarks(engine::EngineImpl& engine)
      : route_((*engine.core().catalogue.Find(kObject))->route),
        port_(engine.core().directory, engine.core().port_options()) {}

  const routing::ObjectRoute& route_;
  routing::Port port_;
  std::vector<std::unique_ptr<Mark>> marks_;
  std::atomic<uint32_t> waited_for_{0};
};

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_PHASE_MARKS_H_
