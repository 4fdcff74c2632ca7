// Moving ranges of a BytesPartition.
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/index/bytes_partition.h"
#include "storage/range_ops.h"
#include "storage/reply_room.h"

namespace eris::storage {
namespace {

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

// How many rows at that end fit in a chunk, and their bytes.
uint32_t RowsThatFit(const std::vector<uint64_t>& words, Partition::End from, uint64_t bytes_max,
                     uint64_t& total) {
  const auto count = static_cast<uint32_t>(words.size());
  constexpr uint32_t kAhead = 16;
  const auto at = [&](uint32_t i) -> const uint64_t& {
    return words[from == Partition::End::kLow ? i : count - 1 - i];
  };
  for (uint32_t i = 0; i < count; ++i) {
    if (i + kAhead < count) PrefetchRecord(at(i + kAhead));
    const uint64_t length = BytesOf(at(i)).size();
    if (i > 0 && total + length > bytes_max) return i;
    total += length;
  }
  return count;
}

}  // namespace

absl::StatusOr<std::unique_ptr<OrderedPartition>> BytesPartition::SplitAt(const Key& key) {
  std::unique_ptr<BytesPartition> upper(new (std::nothrow) BytesPartition(nullptr));
  if (upper == nullptr) return NoMemory("split a partition");
  absl::StatusOr<std::unique_ptr<OrderedPartition>> rows = rows_->SplitAt(key);
  if (!rows.ok()) return rows.status();
  upper->rows_.reset(static_cast<IndexPartition*>(rows->release()));
  return std::unique_ptr<OrderedPartition>(std::move(upper));
}

absl::Status BytesPartition::Absorb(OrderedPartition& other) {
  auto* bytes = dynamic_cast<BytesPartition*>(&other);
  if (bytes == nullptr) return absl::InvalidArgumentError("not a partition of byte strings");
  return rows_->Absorb(*bytes->rows_);
}

absl::Status BytesPartition::Lend(const Range& leaving, End from, const ChunkLimit& limit,
                                  ExchangeChunk& out) {
  ERIS_RETURN_IF_ERROR(rows_->Lend(leaving, from, limit, out));
  uint64_t total = 0;
  const uint32_t rows = RowsThatFit(out.values, from, limit.bytes, total);
  if (rows < out.keys.size()) {
    rows_->TakeBack();
    ERIS_RETURN_IF_ERROR(rows_->Lend(leaving, from, rows, out));
  }
  try {  // the copy is on the general heap, which reports "no memory" by an exception
    out.bytes.reserve(total);
    out.offsets.reserve(out.keys.size() + 1);
    out.offsets.push_back(0);
    for (const uint64_t word : out.values) {
      const absl::string_view bytes = BytesOf(word);
      out.bytes.append(bytes.data(), bytes.size());
      out.offsets.push_back(out.bytes.size());
    }
  } catch (const std::bad_alloc&) {
    rows_->TakeBack();
    return NoMemory(absl::StrCat("lend ", rows, " rows"));
  }
  out.values.clear();
  return absl::OkStatus();
}

absl::Status BytesPartition::Ingest(const ExchangeChunk& chunk) {
  ERIS_RETURN_IF_ERROR(CheckOffsets(chunk));
  ERIS_RETURN_IF_ERROR(CheckChunkKeys(chunk));
  const size_t count = chunk.keys.size();
  std::vector<uint64_t> words;
  const auto undo = [&](absl::Status status) {
    for (const uint64_t word : words) Free(word);
    return status;
  };
  const auto no_memory = [&] { return NoMemory(absl::StrCat("ingest ", count, " rows")); };
  try {
    words.reserve(count);
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
  for (size_t i = 0; i < count; ++i) {
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
    words.push_back(word);
  }
  absl::Status status = rows_->IngestRows(chunk.covers, chunk.keys.data(), words.data(), count);
  return status.ok() ? status : undo(std::move(status));
}

bool BytesPartition::BringHome(HomeWork& work) {
  return rows_->tree().BringHome(
      work, [](memory::LocalCache& cache, uint64_t& word, HomeWork& left) {
        left.bytes_left -= HomeWork::kVisitBytes / 16;  // it is read, whatever it is
        if (IsShort(word)) return true;
        const size_t bytes = BlockBytes(BytesOf(word).size());
        word = reinterpret_cast<uint64_t>(left.Move(cache, RecordOf(word), bytes));
        return true;
      });
}

}  // namespace eris::storage
