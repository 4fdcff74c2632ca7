// Records that can be checked after they have gone through an incoming buffer, and the checker:
// nothing lost, doubled or torn, and each writer's records in its own order. The real buffer and
// the step-by-step copies with planted faults are judged by the same checker.
//
//   record, in u64 words: | bytes << 32 | writer | sequence | filler ... | checksum |
#ifndef ERIS_TESTS_SUPPORT_RECORD_CHECKER_H_
#define ERIS_TESTS_SUPPORT_RECORD_CHECKER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace eris::test {

inline constexpr size_t kRecordWordsMin = 3;

inline uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15;
  return x ^ (x >> 29);
}

inline uint64_t Checksum(std::span<const uint64_t> words) {
  uint64_t sum = 1;
  for (const uint64_t word : words) sum = Mix(sum + word);
  return sum;
}

// Appends one record of `words` words (>= kRecordWordsMin).
inline void AppendRecord(uint32_t writer, uint64_t sequence, size_t words,
                         std::vector<uint64_t>& out) {
  const size_t begin = out.size();
  out.push_back(uint64_t{words * 8} << 32 | writer);
  out.push_back(sequence);
  while (out.size() < begin + words - 1) out.push_back(Mix(writer * 1000 + sequence + out.size()));
  out.push_back(Checksum({out.data() + begin, words - 1}));
}

inline std::span<const std::byte> BytesOf(const std::vector<uint64_t>& words) {
  return std::as_bytes(std::span(words));
}

class RecordChecker {
 public:
  explicit RecordChecker(uint32_t writers) : next_(writers, 0) {}

  void Take(std::span<const std::byte> records) {
    std::vector<uint64_t> words(records.size() / 8);
    std::memcpy(words.data(), records.data(), words.size() * 8);
    for (size_t at = 0; at < words.size() && error_.empty();) {
      const size_t length = (words[at] >> 32) / 8;
      const auto writer = static_cast<uint32_t>(words[at]);
      if (length < kRecordWordsMin || at + length > words.size() || writer >= next_.size()) {
        return Fail("no record at word " + std::to_string(at));
      }
      const std::span<const uint64_t> record(words.data() + at, length);
      if (Checksum(record.first(length - 1)) != record.back()) {
        return Fail("torn record of writer " + std::to_string(writer));
      }
      if (record[1] != next_[writer]) {
        return Fail("writer " + std::to_string(writer) + ": record " + std::to_string(record[1]) +
                    " where " + std::to_string(next_[writer]) + " was due");
      }
      ++next_[writer];
      at += length;
    }
  }
  // After the end: `sent` records of `writer` were accepted by the buffer.
  void ExpectAll(uint32_t writer, uint64_t sent) {
    if (next_[writer] != sent) {
      Fail("writer " + std::to_string(writer) + ": " + std::to_string(sent) + " sent, " +
           std::to_string(next_[writer]) + " received");
    }
  }

  uint64_t received(uint32_t writer) const { return next_[writer]; }
  // The first thing that was wrong; empty: nothing.
  const std::string& error() const { return error_; }

 private:
  void Fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

  std::vector<uint64_t> next_;  // by writer: the sequence number that is due
  std::string error_;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_RECORD_CHECKER_H_
