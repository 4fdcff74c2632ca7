// The records that scenarios send, and the log of what has arrived: once, whole, in order.
#ifndef ERIS_TESTS_EXPLORE_RECORD_LOG_H_
#define ERIS_TESTS_EXPLORE_RECORD_LOG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "tests/explore/explorer.h"

namespace eris::explore {

using Record = std::array<uint64_t, 2>;
inline constexpr size_t kRecordBytes = sizeof(Record);

inline Record RecordOf(uint32_t writer, uint32_t sequence) {
  const uint64_t word = uint64_t{writer} << 32 | sequence;
  return {word, ~word};
}

class RecordLog {
 public:
  // Reads the records: a race if they may still be written.
  void Take(std::span<const std::byte> records) {
    ModelMemory::WillRead(records.data(), records.size());
    for (; records.size() >= kRecordBytes; records = records.subspan(kRecordBytes)) {
      Record record;
      std::memcpy(&record, records.data(), kRecordBytes);
      const auto writer = static_cast<uint32_t>(record[0] >> 32);
      const auto sequence = static_cast<uint32_t>(record[0]);
      if (record[1] != ~record[0] || writer >= kThreadsMax) return Fail("a torn record");
      if (sequence != next_[writer]) {
        return Fail("record " + std::to_string(sequence) + " of thread " + std::to_string(writer) +
                    " where " + std::to_string(next_[writer]) + " was due");
      }
      ++next_[writer];
      ++received_;
    }
    if (!records.empty()) Fail("part of a record");
  }
  uint32_t received() const { return received_; }

 private:
  uint32_t next_[kThreadsMax] = {};
  uint32_t received_ = 0;
};

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_RECORD_LOG_H_
