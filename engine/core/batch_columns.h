// The columns of a keyed batch as a caller hands them in, and those of its keys that have to be
// sent again. No thread of its own.
#ifndef ERIS_ENGINE_CORE_BATCH_COLUMNS_H_
#define ERIS_ENGINE_CORE_BATCH_COLUMNS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "routing/port.h"

namespace eris::engine {

// Borrowed. Which columns there are the command's type says; the others are empty.
struct BatchColumns {
  absl::Span<const uint64_t> keys{};
  absl::Span<const uint64_t> values{};
  absl::Span<const uint64_t> expected{};
  absl::Span<const uint64_t> seconds{};  // of two-part keys: second parts
};

// The same, owned.
class ColumnCopies {
 public:
  ColumnCopies() = default;
  explicit ColumnCopies(const BatchColumns& columns)
      : keys_(columns.keys.begin(), columns.keys.end()),
        values_(columns.values.begin(), columns.values.end()),
        expected_(columns.expected.begin(), columns.expected.end()),
        seconds_(columns.seconds.begin(), columns.seconds.end()) {}

  // Becomes the keys of `columns` at `positions`.
  void Select(const BatchColumns& columns, const std::vector<uint32_t>& positions) {
    const auto select = [&](absl::Span<const uint64_t> from, std::vector<uint64_t>& to) {
      to.clear();
      if (from.empty()) return;
      to.reserve(positions.size());
      for (const uint32_t position : positions) to.push_back(from[position]);
    };
    select(columns.keys, keys_);
    select(columns.values, values_);
    select(columns.expected, expected_);
    select(columns.seconds, seconds_);
  }

  BatchColumns view() const { return {keys_, values_, expected_, seconds_}; }

 private:
  std::vector<uint64_t> keys_;
  std::vector<uint64_t> values_;
  std::vector<uint64_t> expected_;
  std::vector<uint64_t> seconds_;
};

// The command's columns, without its positions.
inline void SetColumns(const BatchColumns& columns, routing::KeyedCommand& command) {
  command.keys = columns.keys;
  command.values = columns.values;
  command.expected = columns.expected;
  command.seconds = columns.seconds;
}

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_BATCH_COLUMNS_H_
