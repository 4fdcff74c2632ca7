// The upper limit of routing: two plain memcpys of the same bytes, no commands. A batch is copied
// from an array into a private buffer, from there into a ring, and summed up by the other side.
#ifndef ERIS_BENCH_ROUTING_MEMCPY_TRANSPORT_H_
#define ERIS_BENCH_ROUTING_MEMCPY_TRANSPORT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "bench/routing/command.h"
#include "bench/routing/ring_grid.h"
#include "bench/routing/shape.h"
#include "routing/data_command.h"

namespace eris::bench {

// kKeyed: the bytes of method `port`, where commands of one Send share a header; otherwise each has
// its own.
template <size_t kSegmentBytes, bool kKeyed>
class MemcpyTransport {
 public:
  static constexpr bool kGenerated = false;  // no keys, no tally

  explicit MemcpyTransport(const Shape& shape)
      : shape_(shape), batch_bytes_(BatchBytes(shape)), grid_(shape, 8, batch_bytes_) {}
  // It counts words.
  double CommandsPerUnit() const { return 8.0 * shape_.batch / static_cast<double>(batch_bytes_); }

  class Lane {
   public:
    Lane(MemcpyTransport& all, uint32_t self)
        : self_(self),
          batch_(all.shape_.batch),
          batch_bytes_(all.batch_bytes_),
          grid_(all.grid_),
          from_(batch_bytes_, std::byte{1}),
          private_(grid_.aeus(), std::vector<std::byte>(batch_bytes_)),
          used_(grid_.aeus(), 0) {}

    // Sends at most `count` commands; returns words.
    uint64_t SendBytes(uint32_t target, uint32_t count) {
      uint64_t words = 0;
      while (count > 0) {
        uint32_t& used = used_[target];
        if (used == batch_ && !Copy(target)) break;
        const uint32_t now = std::min(count, batch_ - used);
        const size_t begin = BytesOf(used);
        const size_t bytes = BytesOf(used + now) - begin;
        std::memcpy(private_[target].data() + begin, from_.data() + begin, bytes);
        used += now;
        count -= now;
        words += bytes / 8;
      }
      return words;
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
          received.commands += bytes.size() / 8;
          received.bytes += bytes.size();
          ring.Consume(bytes.size());
          any = true;
        }
      }
      return any;
    }

   private:
    size_t BytesOf(uint32_t commands) const { return batch_bytes_ * commands / batch_ / 8 * 8; }
    static uint64_t SumOfWords(std::span<const std::byte> bytes) {
      const auto* words = reinterpret_cast<const uint64_t*>(bytes.data());
      const size_t count = bytes.size() / 8;
      uint64_t sum = 0;
      for (size_t i = 0; i < count; ++i) sum += words[i];
      return sum;
    }
    bool Copy(uint32_t target) {
      if (!CopyIntoRing(grid_.ring(self_, target), private_[target].data(), BytesOf(used_[target])))
        return false;
      used_[target] = 0;
      return true;
    }

    const uint32_t self_;
    const uint32_t batch_;
    const size_t batch_bytes_;
    RingGrid& grid_;
    std::vector<std::byte> from_;
    std::vector<std::vector<std::byte>> private_;
    std::vector<uint32_t> used_;  // commands
  };

 private:
  static size_t BatchBytes(const Shape& shape) {
    if (!kKeyed) return sizeof(Record<kSegmentBytes>) * shape.batch;
    const auto bytes = [](uint32_t keys) {
      return keys == 0 ? 0 : routing::KeyedRecordBytes(routing::CommandType::kUpsert, keys);
    };
    return shape.batch / shape.run * bytes(shape.run) + bytes(shape.batch % shape.run);
  }
  const Shape shape_;
  const size_t batch_bytes_;
  RingGrid grid_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_MEMCPY_TRANSPORT_H_
