// A copy of the incoming buffer's protocol in which every access to a shared word is a step of its
// own, so that a seeded scheduler can interleave writers and owner anywhere. Faults can be planted
// in it: it shows that the checker of the real buffer is able to fail. Sequentially consistent.
#ifndef ERIS_TESTS_SUPPORT_INCOMING_BUFFER_MODEL_H_
#define ERIS_TESTS_SUPPORT_INCOMING_BUFFER_MODEL_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/support/record_checker.h"

namespace eris::test {

enum class BufferFault : uint8_t {
  kNone,
  kNoActiveTest,      // a writer does not test ACTIVE in the word that its CAS compares
  kEndBeforeClose,    // the owner reads the end of what is to be read, then closes the half
  kNoWaitForWriters,  // the owner takes the half while writers still copy
  kOpenTooEarly,      // the half that is being read is opened at once
  kNoGeneration,      // a half that has been opened again looks as it did before
};

class IncomingBufferModel {
 public:
  static constexpr uint32_t kWriters = 3;
  static constexpr uint64_t kRecords = 4;  // of each writer
  static constexpr size_t kHalfWords = 8;

  IncomingBufferModel(BufferFault fault, uint64_t seed)
      : fault_(fault), random_(seed), checker_(kWriters) {
    halves_[0] = Opened(0);
  }

  // Runs to the end; what the checker says.
  std::string Run() {
    // Bounded: a fair scheduler needs some hundred steps.
    uint64_t stopped = kWriters + 1;  // who does not move for a while: a thread that lost its core
    int stopped_until = 0;
    for (int step = 0; step < 20'000 && checker_.error().empty(); ++step) {
      if (step >= stopped_until) {
        stopped = random_() % (kWriters + 2);
        stopped_until = step + static_cast<int>(random_() % 100);
      }
      const uint64_t who = random_() % (kWriters + 1);
      if (who == stopped) continue;
      if (who < kWriters) {
        StepWriter(static_cast<uint32_t>(who));
      } else {
        StepOwner();
      }
      if (AllSent() && owner_.at == 0 && OffsetOf(halves_[writable_ & 1]) == 0) break;
    }
    for (uint32_t i = 0; i < kWriters; ++i) checker_.ExpectAll(i, kRecords);
    return checker_.error();
  }

 private:
  static constexpr uint64_t kActive = uint64_t{1} << 63;
  static constexpr uint64_t kWritersMask = (uint64_t{1} << 16) - 1;
  static constexpr uint64_t kGenerationMask = (uint64_t{1} << 31) - 1 - kWritersMask;
  static uint64_t OffsetOf(uint64_t descriptor) { return (descriptor & ~kActive) >> 31; }

  uint64_t Opened(uint64_t generation) const {
    // The generation alone makes an early opening harmless.
    if (fault_ == BufferFault::kNoGeneration || fault_ == BufferFault::kOpenTooEarly)
      return kActive;
    return kActive | ((generation << 16) & kGenerationMask);
  }

  struct Writer {
    int at = 0;
    uint64_t sent = 0;
    uint64_t generation = 0;
    uint32_t half = 0;
    uint64_t seen = 0;
    std::vector<uint64_t> record;
    size_t copied = 0;
  };
  struct Owner {
    int at = 0;
    uint64_t generation = 0;
    uint32_t half = 0;
    uint64_t end_bytes = 0;
    size_t read = 0;
    std::vector<uint64_t> taken;
  };

  bool AllSent() const {
    for (const Writer& writer : writers_) {
      if (writer.sent < kRecords) return false;
    }
    return true;
  }

  void StepWriter(uint32_t index) {
    Writer& w = writers_[index];
    if (w.sent == kRecords) return;
    switch (w.at) {
      case 0:
        w.record.clear();
        AppendRecord(index, w.sent, kRecordWordsMin + (index + w.sent) % 2, w.record);
        w.generation = writable_;
        w.half = w.generation & 1;
        w.at = 1;
        return;
      case 1:
        w.seen = halves_[w.half];
        w.at = 2;
        return;
      case 2: {  // the tests are private; the CAS is the step
        if ((w.seen & (kActive | kGenerationMask)) != Opened(w.generation) &&
            fault_ != BufferFault::kNoActiveTest) {
          w.at = 0;
          return;
        }
        const uint64_t bytes = w.record.size() * 8;
        if (OffsetOf(w.seen) + bytes > kHalfWords * 8) {
          w.at = 0;  // refused; tried again later
          return;
        }
        if (halves_[w.half] != w.seen) {
          w.seen = halves_[w.half];
          return;
        }
        halves_[w.half] += (bytes << 31) + 1;
        w.copied = 0;
        w.at = 3;
        return;
      }
      case 3:
        memory_[w.half][OffsetOf(w.seen) / 8 + w.copied] = w.record[w.copied];
        if (++w.copied == w.record.size()) w.at = 4;
        return;
      default:
        halves_[w.half] -= 1;
        ++w.sent;
        w.at = 0;
        return;
    }
  }

  void StepOwner() {
    Owner& o = owner_;
    switch (o.at) {
      case 0:
        o.generation = writable_;
        o.half = o.generation & 1;
        if (OffsetOf(halves_[o.half]) == 0) return;
        if (fault_ == BufferFault::kEndBeforeClose) o.end_bytes = OffsetOf(halves_[o.half]);
        o.at = 1;
        return;
      case 1:
        if (fault_ != BufferFault::kOpenTooEarly) {
          halves_[1 - o.half] = Opened(o.generation + 1);
        } else if (halves_[1 - o.half] == 0) {
          halves_[1 - o.half] = Opened(1);  // the first time; later it is open already
        }
        o.at = 2;
        return;
      case 2:
        writable_ = o.generation + 1;
        o.at = 3;
        return;
      case 3:
        if (fault_ != BufferFault::kEndBeforeClose) o.end_bytes = OffsetOf(halves_[o.half]);
        halves_[o.half] &= ~kActive;
        o.at = 4;
        return;
      case 4:
        if ((halves_[o.half] & kWritersMask) != 0 && fault_ != BufferFault::kNoWaitForWriters) {
          return;
        }
        if (fault_ == BufferFault::kOpenTooEarly) halves_[o.half] = Opened(o.generation + 2);
        o.taken.clear();
        o.read = 0;
        o.at = 5;
        return;
      default:  // reads word by word, while writers go on
        o.taken.push_back(memory_[o.half][o.read++]);
        // A planted fault may leave a descriptor that makes no sense.
        if (o.read * 8 < o.end_bytes && o.read < kHalfWords) return;
        checker_.Take(BytesOf(o.taken));
        o.at = 0;
        return;
    }
  }

  const BufferFault fault_;
  std::mt19937_64 random_;
  RecordChecker checker_;
  uint64_t halves_[2] = {};
  uint64_t writable_ = 0;  // the generation
  uint64_t memory_[2][kHalfWords + 8] = {};
  Writer writers_[kWriters];
  Owner owner_;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_INCOMING_BUFFER_MODEL_H_
