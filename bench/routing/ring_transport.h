// A peer of the routing, one ring per pair of AEUs; and its limit, two plain memcpys of the same
// bytes, the second into a ring that the other core then reads.
#ifndef ERIS_BENCH_ROUTING_RING_TRANSPORT_H_
#define ERIS_BENCH_ROUTING_RING_TRANSPORT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "bench/routing/command.h"
#include "bench/routing/shape.h"
#include "bench/routing/spsc_byte_ring.h"

namespace eris::bench {

// Memory of one pair's ring, such that an AEU's rings together have what its two halves have, and a
// batch never has to wait for the very last byte.
inline size_t RingBytes(const Shape& shape, size_t record_bytes) {
  return std::max(2 * shape.incoming_bytes / (shape.aeus - 1), 2 * record_bytes * shape.batch);
}

// The rings of all pairs, by [source][target].
class RingGrid {
 public:
  RingGrid(const Shape& shape, size_t record_bytes) : aeus_(shape.aeus) {
    for (uint32_t i = 0; i < aeus_ * aeus_; ++i) {
      rings_.push_back(
          i % (aeus_ + 1) == 0  // no AEU sends to itself
              ? nullptr
              : std::make_unique<SpscByteRing>(RingBytes(shape, record_bytes), record_bytes));
    }
  }
  uint32_t aeus() const { return aeus_; }
  SpscByteRing& ring(uint32_t source, uint32_t target) { return *rings_[source * aeus_ + target]; }

 private:
  const uint32_t aeus_;
  std::vector<std::unique_ptr<SpscByteRing>> rings_;
};

// Copies `bytes` into the ring and publishes them; false when there is no room for all of them.
inline bool CopyIntoRing(SpscByteRing& ring, const std::byte* from, size_t bytes) {
  std::span<std::byte> to = ring.Writable(bytes);
  if (to.empty()) return false;
  const size_t front = std::min(bytes, to.size());
  std::memcpy(to.data(), from, front);
  ring.Fill(front);
  if (front < bytes) {
    to = ring.Writable(bytes - front);
    std::memcpy(to.data(), from + front, bytes - front);
    ring.Fill(bytes - front);
  }
  ring.Publish();
  return true;
}

// A peer: one ring per pair. kInPlace: commands are written into the ring itself and published a
// batch at a time; else they are collected as ours are and copied over.
template <size_t kSegmentBytes, bool kInPlace>
class RingTransport {
 public:
  static constexpr bool kChecked = true;
  using R = Record<kSegmentBytes>;

  explicit RingTransport(const Shape& shape) : shape_(shape), grid_(shape, sizeof(R)) {}

  class Lane {
   public:
    Lane(RingTransport& all, uint32_t self)
        : self_(self), batch_(all.shape_.batch), grid_(all.grid_), used_(grid_.aeus(), 0) {
      for (uint32_t i = 0; i < grid_.aeus(); ++i) collected_.emplace_back(kInPlace ? 0 : batch_);
    }

    uint32_t Produce(uint32_t target, uint64_t first, uint32_t count, Tally& sent) {
      SpscByteRing& ring = grid_.ring(self_, target);
      uint32_t used = used_[target];
      uint32_t i = 0;
      for (; i < count; ++i) {
        R* record = nullptr;
        if constexpr (kInPlace) {
          if (used == batch_) {
            ring.Publish();
            used = 0;
          }
          const std::span<std::byte> room = ring.Writable(sizeof(R));
          if (room.empty()) {
            ring.Publish();
            used = 0;
            break;
          }
          record = reinterpret_cast<R*>(room.data());
        } else {
          if (used == batch_) {
            if (!Copy(target, used)) break;
            used = 0;
          }
          record = &collected_[target][used];
        }
        ++used;
        record->header = HeaderOf(sizeof(R), self_);
        FillSegment(record->segment, R::kSegmentWords, first + i);
        if constexpr (kInPlace) ring.Fill(sizeof(R));
        sent.Add(first + i, ~(first + i));
      }
      used_[target] = used;
      return i;
    }
    bool Flush() {
      bool all = true;
      for (uint32_t target = 0; target < grid_.aeus(); ++target) {
        if (used_[target] == 0) continue;
        if constexpr (kInPlace) {
          grid_.ring(self_, target).Publish();
        } else if (!Copy(target, used_[target])) {
          all = false;
          continue;
        }
        used_[target] = 0;
      }
      return all;
    }
    bool Drain(Tally& received) {
      bool any = false;
      for (uint32_t source = 0; source < grid_.aeus(); ++source) {
        if (source == self_) continue;
        SpscByteRing& ring = grid_.ring(source, self_);
        // Twice: in front of the wrap and behind it.
        for (int piece = 0; piece < 2; ++piece) {
          const std::span<const std::byte> records = ring.Readable();
          if (records.empty()) break;
          for (size_t at = 0; at < records.size();) {
            const auto* record = reinterpret_cast<const R*>(records.data() + at);
            received.Add(record->segment[0], record->segment[R::kSegmentWords - 1]);
            at += record->header.size_bytes;
          }
          ring.Consume(records.size());
          any = true;
        }
      }
      return any;
    }

   private:
    bool Copy(uint32_t target, uint32_t count) {
      return CopyIntoRing(grid_.ring(self_, target),
                          reinterpret_cast<const std::byte*>(collected_[target].data()),
                          count * sizeof(R));
    }

    const uint32_t self_;
    const uint32_t batch_;
    RingGrid& grid_;
    std::vector<std::vector<R>> collected_;
    std::vector<uint32_t> used_;
  };

 private:
  const Shape shape_;
  RingGrid grid_;
};

// The limit: the same bytes, no commands. A batch is copied from an array into a private buffer,
// from there into a ring, and summed up by the other side.
template <size_t kSegmentBytes>
class MemcpyTransport {
 public:
  static constexpr bool kChecked = false;  // counts only
  static constexpr size_t kRecordBytes = sizeof(Record<kSegmentBytes>);

  explicit MemcpyTransport(const Shape& shape) : shape_(shape), grid_(shape, kRecordBytes) {}

  class Lane {
   public:
    Lane(MemcpyTransport& all, uint32_t self)
        : self_(self),
          batch_(all.shape_.batch),
          grid_(all.grid_),
          from_(batch_ * kRecordBytes, std::byte{1}),
          private_(grid_.aeus(), std::vector<std::byte>(batch_ * kRecordBytes)),
          used_(grid_.aeus(), 0) {}

    uint32_t Produce(uint32_t target, uint64_t, uint32_t count, Tally& sent) {
      uint32_t done = 0;
      while (done < count) {
        if (used_[target] == batch_) {
          if (!Copy(target)) break;
        }
        const uint32_t now = std::min(count - done, batch_ - used_[target]);
        const size_t at = used_[target] * kRecordBytes;
        std::memcpy(private_[target].data() + at, from_.data() + at, now * kRecordBytes);
        used_[target] += now;
        done += now;
      }
      sent.commands += done;
      return done;
    }
    bool Flush() {
      bool all = true;
      for (uint32_t target = 0; target < grid_.aeus(); ++target) {
        if (used_[target] != 0 && !Copy(target)) all = false;
      }
      return all;
    }
    bool Drain(Tally& received) {
      bool any = false;
      for (uint32_t source = 0; source < grid_.aeus(); ++source) {
        if (source == self_) continue;
        SpscByteRing& ring = grid_.ring(source, self_);
        for (int piece = 0; piece < 2; ++piece) {
          const std::span<const std::byte> bytes = ring.Readable();
          if (bytes.empty()) break;
          received.sum += SumOfWords(bytes);
          received.commands += bytes.size() / kRecordBytes;
          ring.Consume(bytes.size());
          any = true;
        }
      }
      return any;
    }

   private:
    static uint64_t SumOfWords(std::span<const std::byte> bytes) {
      const auto* words = reinterpret_cast<const uint64_t*>(bytes.data());
      const size_t count = bytes.size() / 8;
      uint64_t sums[8] = {};
      size_t i = 0;
      for (; i + 8 <= count; i += 8) {
        for (size_t j = 0; j < 8; ++j) sums[j] += words[i + j];
      }
      for (; i < count; ++i) sums[0] += words[i];
      uint64_t sum = 0;
      for (const uint64_t one : sums) sum += one;
      return sum;
    }
    bool Copy(uint32_t target) {
      if (!CopyIntoRing(grid_.ring(self_, target), private_[target].data(),
                        used_[target] * kRecordBytes))
        return false;
      used_[target] = 0;
      return true;
    }

    const uint32_t self_;
    const uint32_t batch_;
    RingGrid& grid_;
    std::vector<std::byte> from_;
    std::vector<std::vector<std::byte>> private_;
    std::vector<uint32_t> used_;
  };

 private:
  const Shape shape_;
  RingGrid grid_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_RING_TRANSPORT_H_
