// The columns of a keyed batch as the caller passes them, and those of the keys that must be sent
// again. No thread of its own.
#ifndef ERIS_ENGINE_CORE_BATCH_COLUMNS_H_
#define ERIS_ENGINE_CORE_BATCH_COLUMNS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "routing/port.h"

namespace eris::engine {

// Borrowed. The command's type determines which columns exist; the others are empty.
struct BatchColumns {
  absl::Span<const uint64_t> keys{};
  absl::Span<const uint64_t> values{};
  absl::Span<const uint64_t> expected{};
  absl::Span<const uint64_t> seconds{};  // for two-part keys: second parts
};

// The same, owned.
struct ColumnCopies {
  std::vector<uint64_t> keys{};
  std::vector<uint64_t> values{};
  std::vector<uint64_t> expected{};
  std::vector<uint64_t> seconds{};

  // Sets it to the keys of `columns` at `positions`.
  void Select(const BatchColumns& columns, const std::vector<uint32_t>& positions) {
    const auto select = [&](absl::Span<const uint64_t> from, std::vector<uint64_t>& to) {
      to.clear();
      if (from.empty()) return;
      to.reserve(positions.size());
      for (const uint32_t position : positions) to.push_back(from[position]);
    };
    select(columns.keys, keys);
    select(columns.values, values);
    select(columns.expected, expected);
    select(columns.seconds, seconds);
  }

  BatchColumns view() const { return {keys, values, expected, seconds}; }
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
