// Writers fill an incoming buffer that is too small for all they send, its owner takes. Every
// record arrives once, whole, and each writer's in its order.
#ifndef ERIS_TESTS_EXPLORE_INCOMING_BUFFER_SCENARIO_H_
#define ERIS_TESTS_EXPLORE_INCOMING_BUFFER_SCENARIO_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <span>

#include "routing/incoming_buffer.h"
#include "tests/explore/record_log.h"

namespace eris::explore {

// Memory for a buffer, of the execution's arena.
class BufferMemory {
 public:
  explicit BufferMemory(size_t bytes)
      : bytes_(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64}))) {}
  ~BufferMemory() { ::operator delete (bytes_, std::align_val_t{64}); }
  BufferMemory(const BufferMemory&) = delete;
  BufferMemory& operator=(const BufferMemory&) = delete;
  std::byte* bytes() { return bytes_; }

 private:
  std::byte* const bytes_;
};

// Threads 1 .. writers write, the one after them owns the buffer.
class IncomingBufferScenario : public Scenario {
 public:
  // records: of each writer. half_records: what a half has room for.
  IncomingBufferScenario(uint32_t writers, uint32_t records, uint32_t half_records)
      : writers_(writers),
        records_(records),
        memory_(2 * half_records * kRecordBytes),
        buffer_(memory_.bytes(), half_records * kRecordBytes) {}

  void Run(uint32_t thread) override {
    if (thread <= writers_) {
      for (uint32_t i = 0; i < records_; ++i) {
        const Record record = RecordOf(thread, i);
        while (!buffer_.TryWrite(std::as_bytes(std::span(record)))) GiveWay();
      }
      return;
    }
    while (log_.received() < writers_ * records_) {
      const auto taken = buffer_.TryTake();
      if (!taken) {
        GiveWay();
        continue;
      }
      // The records stay valid until the next call of TryTake.
      static_cast<void>(buffer_.HasRecords());
      log_.Take(*taken);
    }
  }
  void Finish() override {
    if (buffer_.HasRecords() || buffer_.TryTake()) Fail("records are left");
  }

 private:
  const uint32_t writers_;
  const uint32_t records_;
  BufferMemory memory_;
  routing::BasicIncomingBuffer<ModelMemory> buffer_;
  RecordLog log_;
};

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_INCOMING_BUFFER_SCENARIO_H_
