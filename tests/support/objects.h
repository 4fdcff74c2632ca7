// Objects of an engine in tests: an engine is opened, an object made and opened in a line each;
// columns are built of what a test has, and read back into it.
#ifndef ERIS_TESTS_SUPPORT_OBJECTS_H_
#define ERIS_TESTS_SUPPORT_OBJECTS_H_

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "eris/engine.h"

namespace eris::test {

template <class T>
T OrDie(absl::StatusOr<T> result) {
  if (!result.ok()) std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  ERIS_CHECK(result.ok());
  return *std::move(result);
}

// Options for a small machine with two NumaNodes. Nothing moves by itself: counts miss rows on
// their way.
inline Options SmallOptions(uint32_t aeus = 4, std::string topology = "numa:2 core:2 pu:1") {
  Options options;
  options.topology = std::move(topology);
  options.aeu_count = aeus;
  options.memory_limit_bytes = uint64_t{1} << 30;
  options.memory_decay_ms = 200;
  options.balancer.enabled = false;
  return options;
}
inline std::unique_ptr<Engine> OpenEngine(const Options& options = SmallOptions()) {
  return OrDie(Engine::Open(options));
}

inline Object Open(Session& session, absl::string_view name) { return OrDie(session.Open(name)); }
inline Object Open(Engine& engine, absl::string_view name) {
  return Open(*engine.NewSession(), name);
}
// Makes the object and opens it, for all sessions.
inline Object Create(Engine& engine, absl::string_view name, const CreateOptions& options = {}) {
  OrDie(engine.Create(name, options));
  return Open(engine, name);
}

// The answer to an asynchronous call, which `start` begins with the callback that it is given.
template <class Answer = BatchResult, class Start>
absl::StatusOr<Answer> Await(Start start) {
  std::promise<Answer> promise;
  const auto started = start([&](Answer answer) { promise.set_value(std::move(answer)); });
  if (!started.ok()) return started.status();
  return promise.get_future().get();
}

// --- Columns that calls take.

// Borrows.
template <class Numbers>
ColumnView ColumnOf(const Numbers& numbers) {
  return {.values = std::data(numbers)};
}

class StringsColumn {
 public:
  StringsColumn() = default;
  template <class Strings>
  explicit StringsColumn(const Strings& strings) {
    for (const auto& string : strings) Add(string);
  }
  void Add(absl::string_view string) {
    bytes_.append(string.data(), string.size());
    offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
  size_t size() const { return offsets_.size() - 1; }
  // Until the next Add.
  ColumnView view() const { return {.values = bytes_.data(), .offsets = offsets_.data()}; }

 private:
  std::string bytes_;
  std::vector<uint32_t> offsets_{0};
};

// --- Answers.

template <class T>
T ReadAt(const void* values, uint64_t row) {
  T value;
  std::memcpy(&value, static_cast<const char*>(values) + row * sizeof value, sizeof value);
  return value;
}

inline ColumnView ViewOf(const ColumnBuffers& buffers) {
  return {.values = buffers.values.data(),
          .validity = buffers.validity.empty()
                          ? nullptr
                          : reinterpret_cast<const uint8_t*>(buffers.validity.data()),
          .offsets = buffers.offsets.empty()
                         ? nullptr
                         : reinterpret_cast<const uint32_t*>(buffers.offsets.data())};
}
inline std::string StringAt(const ColumnView& view, uint64_t row) {
  return {static_cast<const char*>(view.values) + view.offsets[row],
          size_t{view.offsets[row + 1]} - view.offsets[row]};
}
template <class T = uint64_t>
std::vector<T> NumbersOf(const ColumnBuffers& buffers) {
  std::vector<T> numbers(buffers.values.size() / sizeof(T));
  std::memcpy(numbers.data(), buffers.values.data(), numbers.size() * sizeof(T));
  return numbers;
}
inline std::vector<std::string> StringsOf(const ColumnBuffers& buffers) {
  std::vector<std::string> strings;
  for (size_t i = 0; i + 1 < buffers.offsets.size() / sizeof(uint32_t); ++i) {
    strings.push_back(StringAt(ViewOf(buffers), i));
  }
  return strings;
}
// A byte for each bit; of no bits all `if_empty`.
inline std::vector<uint8_t> FlagsOf(const std::string& bits, size_t count, bool if_empty = false) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = BitAt(bits, i, if_empty);
  return bytes;
}

// Hands each chunk of a scan or a join to `read`. Errors: the scan's.
template <class Read>
absl::Status ForEachChunk(Scan& scan, Read read) {
  for (;;) {
    Scan::NextResult chunk = scan.Next(absl::Now() + absl::Seconds(60));
    if (!chunk.ok()) return chunk.status();
    if (*chunk == nullptr) return absl::OkStatus();
    ERIS_CHECK((*chunk)->rows() > 0);
    read(**chunk);
  }
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_OBJECTS_H_
