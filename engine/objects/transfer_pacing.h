// The budget of transfers (balancer.h): how many rows a chunk has, so that no AEU spends more than
// max_pause_us on it. A plain value for one thread; the caller measures the time.
#ifndef ERIS_ENGINE_OBJECTS_TRANSFER_PACING_H_
#define ERIS_ENGINE_OBJECTS_TRANSFER_PACING_H_

#include <algorithm>
#include <cstdint>

#include "eris/batch.h"
#include "eris/types.h"

namespace eris::engine {

// Rows of the next chunk, computed from the cost of the last ones; versions count among them by
// their weight (storage::ChunkLimit). One per object: a transfer begins with the last one's value.
class ChunkSize {
 public:
  // With fewer short rows, the fixed cost of a chunk is larger than that of its rows. A chunk of
  // long rows has as many as the byte limit allows, at least one.
  static constexpr uint32_t kRowsMin = 64;
  static constexpr uint64_t kLeastBytes = 16u << 10;
  static constexpr uint32_t kRowsMax = 1 << 20;
  // The fraction of max_pause_us that is aimed at, so that a chunk more expensive than the last one
  // still stays below the limit. The same number of rows takes up to twice as long if caches are
  // cold or the machine is shared.
  static constexpr double kAim = 0.55;
  // An expensive chunk is remembered for a while: the next one may be similar.
  static constexpr double kForget = 0.875;

  // Rows of the very first chunk.
  explicit ChunkSize(uint32_t rows = kRowsMin) : rows_(rows) {}

  uint32_t rows() const { return rows_; }
  uint64_t row_bytes() const { return row_bytes_; }  // of the last chunk; 0: unknown
  // Limit for the string bytes of the next chunk, except that one row may exceed it. If strings
  // have become longer than in the last chunks, the chunk gets fewer rows, and the turn does not
  // get longer.
  uint64_t bytes_max() const { return bytes_max_; }
  // The allowed pause may have become shorter.
  void Begin(uint32_t max_pause_us) {
    if (row_ns_ > 0)
      rows_ = Clamp(std::min(AimNs(max_pause_us) / row_ns_, static_cast<double>(rows_)));
  }
  // The slower of the two AEUs took `cpu_ns` for a chunk of that many rows and bytes. `filled`: the
  // limit ended it, not a lack of rows.
  void Learn(uint64_t rows, uint64_t bytes, uint64_t cpu_ns, uint32_t max_pause_us,
             bool filled = false) {
    if (rows == 0 || cpu_ns == 0) return;
    const double aim_ns = AimNs(max_pause_us);
    row_bytes_ = bytes / rows;
    LearnBytes(bytes, cpu_ns, aim_ns);
    rows_min_ = static_cast<uint32_t>(
        std::clamp<uint64_t>(kLeastBytes * rows / std::max<uint64_t>(bytes, 1), 1, kRowsMin));
    // The last chunk of a range may be short, and then says little about long ones.
    const bool cut_short = !filled && rows < rows_;
    if (cut_short && static_cast<double>(cpu_ns) <= aim_ns) return;
    row_ns_ = std::max(static_cast<double>(cpu_ns) / static_cast<double>(rows), row_ns_ * kForget);
    const double most = cut_short ? rows_ : 2.0 * rows_;
    rows_ = Clamp(std::min(aim_ns / row_ns_, most));
  }

 private:
  // Assumes the cost per byte of the last chunks, which includes the cost of their rows. Long
  // strings cost less, which is learned over time. So the bytes for twice the aimed time take less
  // than that.
  void LearnBytes(uint64_t bytes, uint64_t cpu_ns, double aim_ns) {
    if (bytes < kLeastBytes) return;  // mostly the fixed cost of a chunk
    byte_ns_ =
        std::max(static_cast<double>(cpu_ns) / static_cast<double>(bytes), byte_ns_ * kForget);
    bytes_max_ = static_cast<uint64_t>(
        std::clamp(2 * aim_ns / byte_ns_, double{kLeastBytes}, double{kBatchValueBytesMax}));
  }

  static double AimNs(uint32_t max_pause_us) { return kAim * 1000 * max_pause_us; }
  uint32_t Clamp(double rows) const {
    return static_cast<uint32_t>(
        std::clamp(rows, static_cast<double>(rows_min_), double{kRowsMax}));
  }

  uint32_t rows_;
  uint32_t rows_min_ = 1;
  uint64_t row_bytes_ = 0;
  double row_ns_ = 0;
  double byte_ns_ = 0;
  uint64_t bytes_max_ = kLeastBytes;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_OBJECTS_TRANSFER_PACING_H_
