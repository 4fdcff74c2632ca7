// One writer, one reader, no CAS: the simplest transport of records between threads. A peer of the
// incoming buffers and the transport of the memcpy limit. Bytes are written and read in place, in
// runs that never wrap inside a record.
#ifndef ERIS_BENCH_ROUTING_SPSC_BYTE_RING_H_
#define ERIS_BENCH_ROUTING_SPSC_BYTE_RING_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cache_line.h"
#include "bench/routing/huge_buffer.h"

namespace eris::bench {

class SpscByteRing {
 public:
  // capacity_bytes is rounded down to whole records of record_bytes.
  SpscByteRing(size_t capacity_bytes, size_t record_bytes)
      : capacity_(capacity_bytes / record_bytes * record_bytes), memory_(capacity_) {}

  // For the writer. The bytes that can be written now in one piece; at least `wanted` in all,
  // perhaps after the wrap, or nothing.
  std::span<std::byte> Writable(size_t wanted) {
    if (capacity_ - (write_ - read_seen_) < wanted) {
      // acquire: pairs with the release in Consume; the reader has finished with these bytes.
      read_seen_ = read_.load(std::memory_order_acquire);
      if (capacity_ - (write_ - read_seen_) < wanted) return {};
    }
    const size_t room = capacity_ - (write_ - read_seen_);
    return {memory_.data() + write_at_, std::min(room, capacity_ - write_at_)};
  }
  // For the writer: these bytes are filled; the reader sees them after Publish.
  void Fill(size_t bytes) {
    write_ += bytes;
    write_at_ += bytes;
    if (write_at_ == capacity_) write_at_ = 0;
  }
  // release: pairs with the acquire in Readable.
  void Publish() { written_.store(write_, std::memory_order_release); }

  // For the reader. The bytes that can be read now in one piece; valid until Consume.
  std::span<const std::byte> Readable() {
    if (write_seen_ == consumed_)
      write_seen_ = written_.load(std::memory_order_acquire);  // Publish
    return {memory_.data() + read_at_, std::min(write_seen_ - consumed_, capacity_ - read_at_)};
  }
  void Consume(size_t bytes) {
    consumed_ += bytes;
    read_at_ += bytes;
    if (read_at_ == capacity_) read_at_ = 0;
    read_.store(consumed_, std::memory_order_release);  // pairs with the acquire in Writable
  }

 private:
  // Immutable after construction.
  const size_t capacity_;
  HugeBuffer memory_;

  // Owned by the writer. Positions count bytes from the start and never wrap, the *_at_ do.
  alignas(base::kNoSharingBytes) size_t write_ = 0;
  size_t write_at_ = 0;
  size_t read_seen_ = 0;

  // Shared: written by the writer, read by the reader.
  alignas(base::kNoSharingBytes) std::atomic<size_t> written_{0};

  // Owned by the reader.
  alignas(base::kNoSharingBytes) size_t consumed_ = 0;
  size_t read_at_ = 0;
  size_t write_seen_ = 0;

  // Shared: written by the reader, read by the writer.
  alignas(base::kNoSharingBytes) std::atomic<size_t> read_{0};
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_SPSC_BYTE_RING_H_
