#include "storage/table/groups/group_texts.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "storage/table/groups/group_hash.h"

namespace eris::storage {

GroupTexts::~GroupTexts() {
  while (!chunks_.empty()) FreeLast();
}

uint32_t GroupTexts::HashOf(std::string_view text) {
  uint64_t hash = text.size();
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word = 0;
    __builtin_memcpy(&word, text.data() + i, sizeof word);
    hash = MixForGroups(hash, word);
  }
  uint64_t rest = 0;
  for (; i < text.size(); ++i) rest = rest << 8 | static_cast<uint8_t>(text[i]);
  return static_cast<uint32_t>(MixForGroups(hash, rest));
}

uint32_t GroupTexts::PrefetchLikely(uint32_t hash) const {
  const uint32_t number = slots_.Find(hash, [](uint32_t) { return true; });
  if (number != kNone) base::Prefetch(&RefOf(number));
  return number;
}

uint32_t GroupTexts::Add(std::string_view text, uint32_t hash) {
  if (count_ == refs_.room() && !refs_.Grow()) return kNone;
  if (!slots_.Reserve()) return kNone;
  char* const place = Place(std::max<size_t>(text.size(), 1));
  if (place == nullptr) return kNone;
  std::copy(text.begin(), text.end(), place);
  RefOf(count_) = {place, text.size()};
  slots_.Add(hash, count_);
  bytes_ += text.size();
  return count_++;
}

char* GroupTexts::Place(size_t bytes) {
  if (bytes > free_bytes_) {
    // A long string gets a chunk of its own, and the open one stays open.
    if (bytes > kGroupPageBytes / 2) return AddChunk(bytes);
    const size_t wanted =
        std::clamp(2 * std::max(chunk_bytes_, bytes), kFirstBytes, kGroupPageBytes);
    char* const chunk = AddChunk(wanted);
    if (chunk == nullptr) return nullptr;
    free_ = chunk;
    free_bytes_ = chunk_bytes_ = wanted;
  }
  char* const place = free_;
  free_ += bytes;
  free_bytes_ -= bytes;
  return place;
}

char* GroupTexts::AddChunk(size_t bytes) {
  if (chunks_.size() == chunks_.capacity()) chunks_.reserve(2 * chunks_.size() + 1);
  const bool own = chunks_.empty() && bytes <= kFirstBytes;
  void* const data = own ? ::operator new(bytes) : source_.Allocate(bytes);
  if (data == nullptr) return nullptr;
  own_first_ |= own;
  chunks_.push_back({static_cast<char*>(data), bytes});
  return chunks_.back().data;
}

void GroupTexts::FreeLast() {
  const Chunk chunk = chunks_.back();
  chunks_.pop_back();
  if (chunks_.empty() && own_first_) {
    ::operator delete(chunk.data);
  } else {
    source_.Free(chunk.data, chunk.bytes);
  }
}

bool GroupTexts::FreeSome(uint32_t& pages) {
  for (; pages > 0 && !chunks_.empty(); --pages) FreeLast();
  return !chunks_.empty() || refs_.FreeSome(pages) || slots_.FreeSome(pages);
}

}  // namespace eris::storage
