#include "engine/reads/index_columns.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "base/check.h"
#include "eris/key_encoding.h"
#include "storage/byte_value.h"

namespace eris::engine {

ColumnView DecodeKeys(ColumnType type, absl::Span<uint64_t> keys) {
  uint64_t* const words = keys.data();
  const size_t rows = keys.size();
  switch (type) {
    case ColumnType::kUint64:
      break;
    case ColumnType::kInt64:
    case ColumnType::kTimestamp:
      for (size_t i = 0; i < rows; ++i) words[i] = static_cast<uint64_t>(Int64FromKey(words[i]));
      break;
    case ColumnType::kFloat64:
      for (size_t i = 0; i < rows; ++i)
        words[i] = std::bit_cast<uint64_t>(Float64FromKey(words[i]));
      break;
    case ColumnType::kDate: {
      // In blocks: a block's dates end before the words that have not been read begin.
      constexpr size_t kBlock = 64;
      auto* out = reinterpret_cast<std::byte*>(words);
      for (size_t from = 0; from < rows; from += kBlock) {
        int32_t days[kBlock];
        const size_t count = std::min(kBlock, rows - from);
        for (size_t i = 0; i < count; ++i) days[i] = DateFromKey(words[from + i]);
        std::memcpy(out + from * sizeof(int32_t), days, count * sizeof(int32_t));
      }
      break;
    }
    default:
      ERIS_CHECK(false);  // no key has this type
  }
  return {.values = words};
}

ColumnView GatherStrings(absl::Span<uint64_t> words, std::string& bytes) {
  size_t total = 0;
  for (const uint64_t& word : words) total += storage::BytesOf(word).size();
  bytes.clear();
  bytes.reserve(total);
  // Offset i + 1 ends at or before the end of word i, which has already been read.
  auto* const out = reinterpret_cast<std::byte*>(words.data());
  for (size_t i = 0; i < words.size(); ++i) {
    const uint64_t word = words[i];
    const auto begin = static_cast<uint32_t>(bytes.size());
    const absl::string_view one = storage::BytesOf(word);
    bytes.append(one.data(), one.size());
    const auto end = static_cast<uint32_t>(bytes.size());
    std::memcpy(out + i * sizeof begin, &begin, sizeof begin);
    std::memcpy(out + (i + 1) * sizeof end, &end, sizeof end);
  }
  return {.values = bytes.data(), .offsets = reinterpret_cast<const uint32_t*>(words.data())};
}

}  // namespace eris::engine
