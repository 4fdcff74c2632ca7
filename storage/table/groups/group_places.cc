#include "storage/table/groups/group_places.h"

#include <algorithm>
#include <new>

namespace eris::storage {

GroupPlaces::~GroupPlaces() {
  while (!chunks_.empty()) FreeLast();
}

char* GroupPlaces::Place(size_t bytes) {
  if (bytes > free_bytes_) {
    // A long piece gets a chunk of its own, and the open one stays open.
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

char* GroupPlaces::AddChunk(size_t bytes) {
  if (chunks_.size() == chunks_.capacity()) chunks_.reserve(2 * chunks_.size() + 1);
  const bool own = chunks_.empty() && bytes <= kFirstBytes;
  void* const data = own ? ::operator new(bytes) : source_.Allocate(bytes);
  if (data == nullptr) return nullptr;
  own_first_ |= own;
  chunks_.push_back({static_cast<char*>(data), bytes});
  return chunks_.back().data;
}

void GroupPlaces::FreeLast() {
  const Chunk chunk = chunks_.back();
  chunks_.pop_back();
  if (chunks_.empty() && own_first_) {
    ::operator delete(chunk.data);
  } else {
    source_.Free(chunk.data, chunk.bytes);
  }
}

bool GroupPlaces::FreeSome(uint32_t& pages) {
  for (; pages > 0 && !chunks_.empty(); --pages) FreeLast();
  return !chunks_.empty();
}

}  // namespace eris::storage
