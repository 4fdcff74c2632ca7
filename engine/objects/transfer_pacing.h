// The budget of transfers (balancer.h): how many rows a chunk has, so that no AEU spends more than
// max_pause_us on it, and when the next one may go, so that max_bytes_per_s is kept. Plain values
// for one thread; time is what the caller says.
#ifndef ERIS_ENGINE_OBJECTS_TRANSFER_PACING_H_
#define ERIS_ENGINE_OBJECTS_TRANSFER_PACING_H_

#include <algorithm>
#include <cstdint>

#include "eris/batch.h"
#include "eris/types.h"

namespace eris::engine {

// Rows of the next chunk, from what the last ones took; versions count among them by their weight
// (storage::ChunkLimit). One per object: a transfer begins with what the last one found.
class ChunkSize {
 public:
  // Fewer make chunks of short rows cost more than their rows do; of long rows as many as have so
  // many bytes, or one.
  static constexpr uint32_t kRowsMin = 64;
  static constexpr uint64_t kLeastBytes = 16u << 10;
  static constexpr uint32_t kRowsMax = 1 << 20;
  // Of max_pause_us: what is aimed at, so that a chunk dearer than the last stays below it. As many
  // rows take up to twice as long where caches are cold, or the machine is shared.
  static constexpr double kAim = 0.55;
  // A dear chunk is remembered for a while: the next may be like it.
  static constexpr double kForget = 0.875;

  // Of the first chunk of all.
  explicit ChunkSize(uint32_t rows = kRowsMin) : rows_(rows) {}

  uint32_t rows() const { return rows_; }
  uint64_t row_bytes() const { return row_bytes_; }  // of the last chunk; 0: not known
  // Strings of the next chunk have no more bytes, as far as one row has not: where they have become
  // longer than those of the last chunks, the chunk gets fewer rows and the turn not longer.
  uint64_t bytes_max() const { return bytes_max_; }
  // The pause may have become shorter.
  void Begin(uint32_t max_pause_us) {
    if (row_ns_ > 0)
      rows_ = Clamp(std::min(AimNs(max_pause_us) / row_ns_, static_cast<double>(rows_)));
  }
  // A chunk of so many rows and bytes took the slower of its AEUs so long. `filled`: it ended for
  // its limit, not for want of rows.
  void Learn(uint64_t rows, uint64_t bytes, uint64_t cpu_ns, uint32_t max_pause_us,
             bool filled = false) {
    if (rows == 0 || cpu_ns == 0) return;
    const double aim_ns = AimNs(max_pause_us);
    row_bytes_ = bytes / rows;
    LearnBytes(bytes, cpu_ns, aim_ns);
    rows_min_ = static_cast<uint32_t>(
        std::clamp<uint64_t>(kLeastBytes * rows / std::max<uint64_t>(bytes, 1), 1, kRowsMin));
    // The last chunk of a range may be short, and says little about long ones then.
    const bool cut_short = !filled && rows < rows_;
    if (cut_short && static_cast<double>(cpu_ns) <= aim_ns) return;
    row_ns_ = std::max(static_cast<double>(cpu_ns) / static_cast<double>(rows), row_ns_ * kForget);
    const double most = cut_short ? rows_ : 2.0 * rows_;
    rows_ = Clamp(std::min(aim_ns / row_ns_, most));
  }

 private:
  // As dear as the last chunks' bytes were, which had rows to be handled, too: long strings cost
  // less, which is learned by and by. So as many bytes as fit twice what is aimed at take less.
  void LearnBytes(uint64_t bytes, uint64_t cpu_ns, double aim_ns) {
    if (bytes < kLeastBytes) return;  // mostly what a chunk costs by itself
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

// A bucket of bytes that is never ahead of its rate: whoever has copied waits until they are paid
// for.
class ByteRate {
 public:
  // 0: without a limit.
  void SetLimit(uint64_t bytes_per_s, uint64_t now_ns) {
    Settle(now_ns);
    bytes_per_s_ = bytes_per_s;
    if (bytes_per_s == 0) owed_ = 0;
  }
  void Add(uint64_t bytes, uint64_t now_ns) {
    Settle(now_ns);
    if (bytes_per_s_ > 0) owed_ += static_cast<double>(bytes);
  }
  // How long the next chunk has to wait from now on.
  uint64_t WaitNs(uint64_t now_ns) {
    Settle(now_ns);
    if (owed_ <= 0) return 0;
    constexpr double kWaitNsMax = 1e18;  // what a deadline can be added to
    return 1 + static_cast<uint64_t>(
                   std::min(kWaitNsMax, owed_ * 1e9 / static_cast<double>(bytes_per_s_)));
  }

 private:
  void Settle(uint64_t now_ns) {
    if (now_ns > as_of_ns_) {
      const auto passed = static_cast<double>(now_ns - as_of_ns_);
      owed_ = std::max(0.0, owed_ - passed * static_cast<double>(bytes_per_s_) / 1e9);
    }
    as_of_ns_ = std::max(as_of_ns_, now_ns);
  }

  uint64_t bytes_per_s_ = 0;
  double owed_ = 0;
  uint64_t as_of_ns_ = 0;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_OBJECTS_TRANSFER_PACING_H_
