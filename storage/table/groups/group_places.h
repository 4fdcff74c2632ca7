// Memory for what the groups of a run keep besides their records: pieces of any size, which stay
// where they are and are freed all together. Belongs to one GroupTable; no latch. Paper: ERIS 3.1.
#ifndef ERIS_STORAGE_TABLE_GROUP_PLACES_H_
#define ERIS_STORAGE_TABLE_GROUP_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/table/groups/group_pages.h"

namespace eris::storage {

class GroupPlaces {
 public:
  // `source` outlives it.
  explicit GroupPlaces(PageSource& source) : source_(source) {}
  ~GroupPlaces();
  GroupPlaces(const GroupPlaces&) = delete;
  GroupPlaces& operator=(const GroupPlaces&) = delete;

  // Room for so many bytes, more than 0. Places are as aligned as the sizes of all of them are, up
  // to 16 bytes. nullptr: refused; nothing has changed. Throws std::bad_alloc.
  [[nodiscard]] char* Place(size_t bytes);
  // As RecordPages::FreeSome.
  bool FreeSome(uint32_t& pages);

 private:
  static constexpr size_t kFirstBytes = 4096;  // not of the source
  struct Chunk {
    char* data;
    size_t bytes;
  };

  char* AddChunk(size_t bytes);
  void FreeLast();

  PageSource& source_;
  std::vector<Chunk> chunks_;
  bool own_first_ = false;  // the first chunk is not of the source
  // What is free of the chunk that is being filled.
  char* free_ = nullptr;
  size_t free_bytes_ = 0;
  size_t chunk_bytes_ = 0;  // of that chunk
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_GROUP_PLACES_H_
