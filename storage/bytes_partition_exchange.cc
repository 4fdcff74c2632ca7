// How ranges of a BytesPartition change hands.
#include <algorithm>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "storage/bytes_partition.h"
#include "storage/tree_scanner.h"

namespace eris::storage {
namespace {

constexpr uint64_t kLastKey = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kRowsPerRun = 256;

absl::Status CheckOffsets(const ExchangeChunk& chunk) {
  if (!chunk.values.empty() || chunk.offsets.size() != chunk.keys.size() + 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "chunk has ", chunk.keys.size(), " keys, ", chunk.offsets.size(), " offsets and ",
        chunk.values.size(), " words; offsets are one more, no words"));
  }
  for (size_t i = 0; i + 1 < chunk.offsets.size(); ++i) {
    if (chunk.offsets[i] <= chunk.offsets[i + 1] &&
        chunk.offsets[i + 1] - chunk.offsets[i] <= kValueBytesMax) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat("chunk's row ", i, " is bytes ",
                                                   chunk.offsets[i], " to ", chunk.offsets[i + 1],
                                                   "; a value has 0 to ", kValueBytesMax));
  }
  if (chunk.offsets.front() == 0 && chunk.offsets.back() == chunk.bytes.size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("chunk's offsets are ", chunk.offsets.front(),
                                                 " to ", chunk.offsets.back(), " of ",
                                                 chunk.bytes.size(), " bytes"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Partition>> BytesPartition::SplitAt(const Key& key) {
  std::unique_ptr<BytesPartition> upper(new (std::nothrow) BytesPartition(nullptr));
  if (upper == nullptr) return absl::ResourceExhaustedError("no memory to split a partition");
  absl::StatusOr<std::unique_ptr<Partition>> rows = rows_->SplitAt(key);
  if (!rows.ok()) return rows.status();
  upper->rows_.reset(static_cast<IndexPartition*>(rows->release()));
  return std::unique_ptr<Partition>(std::move(upper));
}

absl::Status BytesPartition::Absorb(Partition& other) {
  auto* bytes = dynamic_cast<BytesPartition*>(&other);
  if (bytes == nullptr) return absl::InvalidArgumentError("not a partition of byte strings");
  return rows_->Absorb(*bytes->rows_);
}

void BytesPartition::FreeRecords() {
  if (rows_ == nullptr) return;
  uint64_t keys[kRowsPerRun];
  uint64_t words[kRowsPerRun];
  TreeScanner scanner(tree(), 0);
  uint32_t rows;
  do {
    rows = scanner.Read(kLastKey, keys, words, kRowsPerRun);
    for (uint32_t i = 0; i < rows; ++i) Free(words[i]);
  } while (rows == kRowsPerRun);
}

absl::Status BytesPartition::Extract(uint32_t rows_max, ExchangeChunk& out) {
  ExchangeChunk chunk;
  std::vector<uint64_t> words;
  const uint64_t most = std::min<uint64_t>(rows_max, size());
  try {  // the copy stands on the general heap, whose only word for "no" is an exception
    chunk.keys.resize(most);
    words.resize(most);
    TreeScanner scanner(tree(), 0);
    scanner.Read(kLastKey, chunk.keys.data(), words.data(), static_cast<uint32_t>(most));
    uint64_t total = 0;
    size_t rows = 0;
    for (; rows < most; ++rows) {
      const uint64_t length = BytesOf(words[rows]).size();
      if (rows > 0 && total + length > kBatchValueBytesMax) break;
      total += length;
    }
    words.resize(rows);
    chunk.bytes.reserve(total);
    chunk.offsets.reserve(rows + 1);
    chunk.offsets.push_back(0);
    for (const uint64_t& word : words) {
      const absl::string_view bytes = BytesOf(word);
      chunk.bytes.append(bytes.data(), bytes.size());
      chunk.offsets.push_back(chunk.bytes.size());
    }
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory to extract ", most, " rows"));
  }
  ExchangeChunk taken;
  absl::Status status = rows_->Extract(static_cast<uint32_t>(words.size()), taken);
  if (!status.ok()) return status;
  for (const uint64_t word : words) Free(word);
  chunk.covers = taken.covers;
  chunk.keys = std::move(taken.keys);
  out = std::move(chunk);
  return absl::OkStatus();
}

absl::Status BytesPartition::Ingest(const ExchangeChunk& chunk) {
  if (absl::Status status = CheckOffsets(chunk); !status.ok()) return status;
  ExchangeChunk rows;
  const auto undo = [&](absl::Status status) {
    for (const uint64_t word : rows.values) Free(word);
    return status;
  };
  const auto no_memory = [&] {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory to ingest ", chunk.keys.size(), " rows"));
  };
  try {
    rows.covers = chunk.covers;
    rows.keys = chunk.keys;
    rows.values.reserve(chunk.keys.size());
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
  for (size_t i = 0; i < chunk.keys.size(); ++i) {
    const absl::string_view bytes(chunk.bytes.data() + chunk.offsets[i],
                                  chunk.offsets[i + 1] - chunk.offsets[i]);
    uint64_t word = 0;
    if (bytes.size() <= kShortBytesMax) {
      word = ShortWord(bytes);
    } else if (void* const block = cache().Allocate(BlockBytes(bytes.size()))) {
      word = WriteRecord(block, bytes);
    } else {
      return undo(no_memory());
    }
    rows.values.push_back(word);
  }
  absl::Status status = rows_->Ingest(rows);
  return status.ok() ? status : undo(std::move(status));
}

}  // namespace eris::storage
