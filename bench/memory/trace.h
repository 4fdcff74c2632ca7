// A recorded sequence of allocations and frees, as allocator_lab replays it. 4 bytes a record:
//
//   31     30    27 26                 0
//   | free | class | slot               |
//
// A slot is the place of one live block; slots of one class are reused last in, first out, so that
// a table of one fixed address per slot is what a perfect allocator would answer: the replay's
// floor. A file: TraceHeader, then the records of the build-up, then `sections` of
// `section_records` each, then kLookAhead records that repeat the first. Nothing here knows
// threads.
#ifndef ERIS_BENCH_MEMORY_TRACE_H_
#define ERIS_BENCH_MEMORY_TRACE_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "bench/routing/machine.h"

namespace eris::bench {

inline constexpr uint32_t kTraceClassesMax = 16;
inline constexpr uint32_t kTraceSlotsMax = 1u << 27;
// The replay prefetches this many records ahead at most.
inline constexpr size_t kLookAhead = 64;

class TraceRecord {
 public:
  TraceRecord() = default;
  TraceRecord(bool free, uint32_t size_class, uint32_t slot)
      : word_(uint32_t{free} << 31 | size_class << 27 | slot) {}
  bool is_free() const { return (word_ >> 31) != 0; }
  uint32_t size_class() const { return (word_ >> 27) & 15; }
  uint32_t slot() const { return word_ & (kTraceSlotsMax - 1); }

 private:
  uint32_t word_ = 0;
};
static_assert(sizeof(TraceRecord) == 4);

struct TraceHeader {
  static constexpr uint64_t kMagic = 0x3165636172747265;  // "ertrace1"
  uint64_t magic = kMagic;
  uint64_t seed = 0;
  uint64_t keys = 0;            // live in steady state
  uint64_t key_operations = 0;  // upserts and erases in all sections
  uint64_t build_records = 0;
  uint64_t sections = 0;
  uint64_t section_records = 0;
  uint64_t slots = 0;
  uint64_t live_bytes = 0;  // after the build-up
  uint64_t classes = 0;
  std::array<uint32_t, kTraceClassesMax> class_bytes{};
};

// A trace file mapped for reading.
class Trace {
 public:
  explicit Trace(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY);
    struct stat about {};
    if (file < 0 || fstat(file, &about) != 0) Die("cannot open " + path);
    const auto bytes = static_cast<size_t>(about.st_size);
    if (bytes < sizeof header_) Die(path + " is no trace");
    void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    if (mapped == MAP_FAILED) Die("cannot map " + path);
    close(file);
    std::memcpy(&header_, mapped, sizeof header_);
    const uint64_t records =
        header_.build_records + header_.sections * header_.section_records + kLookAhead;
    if (header_.magic != TraceHeader::kMagic || header_.slots > kTraceSlotsMax ||
        bytes != sizeof header_ + records * sizeof(TraceRecord)) {
      Die(path + " is no trace");
    }
    records_ =
        reinterpret_cast<const TraceRecord*>(static_cast<const char*>(mapped) + sizeof header_);
  }

  const TraceHeader& header() const { return header_; }
  // kLookAhead records may be read after the end of both.
  std::span<const TraceRecord> BuildUp() const { return {records_, header_.build_records}; }
  std::span<const TraceRecord> Section(uint64_t section) const {
    return {records_ + header_.build_records + section * header_.section_records,
            header_.section_records};
  }

 private:
  TraceHeader header_;
  const TraceRecord* records_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_MEMORY_TRACE_H_
