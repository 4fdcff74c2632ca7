#include "aeu/runners/measure_runner.h"

#include <new>

#include "aeu/state/clock.h"
#include "aeu/state/reserve_more.h"

namespace eris::aeu {

using routing::MeasureSegment;
using storage::KeyState;

void MeasureRunner::Begin(const routing::CommandHeader* command, ObjectSlot* slot) {
  const Measurement measurement{
      .slot = slot,
      .segment = *reinterpret_cast<const MeasureSegment*>(routing::DataSegment(command)),
      .complete = command->complete,
      .context = command->context};
  if (slot == nullptr) return Answer(measurement, KeyState::kNoObject);
  try {
    ReserveMore(running_, 1);
  } catch (const std::bad_alloc&) {
    return Answer(measurement, KeyState::kNoMemory);
  }
  running_.push_back(measurement);
}

void MeasureRunner::EndAll(const ObjectSlot* slot) {
  std::erase_if(running_, [&](const Measurement& measurement) {
    if (measurement.slot != slot) return false;
    Answer(measurement, KeyState::kNoObject);
    return true;
  });
}

bool MeasureRunner::Advance(uint64_t deadline_ns) {
  if (running_.empty()) return false;
  std::erase_if(running_, [&](const Measurement& measurement) {
    const bool cancelled = measurement.context->cancelled();
    if (cancelled) Answer(measurement, KeyState::kCancelled);
    return cancelled;
  });
  while (!running_.empty()) {
    Measurement& measurement = running_.front();
    storage::RowBytes bytes;  // other AEUs' figures may be in the same line
    storage::HomeWork work{.bytes_left = kBlocksPerStep * storage::HomeWork::kVisitBytes,
                           .measured = &bytes};
    const bool complete = measurement.walk.GoOn(*measurement.slot, work, std::nullopt);
    measurement.segment.bytes->all += bytes.all;
    measurement.segment.bytes->remote += bytes.remote;
    if (complete) {
      Answer(measurement, KeyState::kPresent);
      running_.erase(running_.begin());
    }
    if (NowNs() >= deadline_ns) break;
  }
  return true;
}

void MeasureRunner::Answer(const Measurement& measurement, KeyState state) {
  measurement.context->states[measurement.segment.position] = state;
  acknowledgements_.Add(measurement.complete, measurement.context, 1);
}

}  // namespace eris::aeu
