// Strings of a run's groups: those among the keys are kept once, and have numbers from 0 on; those
// of minima and maxima have places. Belongs to one GroupTable; no latch. Paper: ERIS 3.1.
#ifndef ERIS_STORAGE_TABLE_GROUP_TEXTS_H_
#define ERIS_STORAGE_TABLE_GROUP_TEXTS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "storage/table/groups/group_pages.h"
#include "storage/table/groups/group_places.h"
#include "storage/table/groups/group_slots.h"

namespace eris::storage {

class GroupTexts {
 public:
  static constexpr uint32_t kNone = GroupSlots::kNone;

  // `source` outlives it. Throws std::bad_alloc.
  explicit GroupTexts(PageSource& source)
      : slots_(source), refs_(source, sizeof(Ref), kFirstTexts), places_(source) {}
  GroupTexts(const GroupTexts&) = delete;
  GroupTexts& operator=(const GroupTexts&) = delete;

  static uint32_t HashOf(std::string_view text);
  // Three steps ahead of Find: fetch what it reads first; then what it reads of a string with that
  // hash, whose number they return (kNone: there is none); then the bytes of that string.
  void Prefetch(uint32_t hash) const { slots_.Prefetch(hash); }
  uint32_t PrefetchLikely(uint32_t hash) const;
  void PrefetchBytes(uint32_t number) const { base::Prefetch(RefOf(number).data); }

  // The string's number; kNone: it is not here.
  uint32_t Find(std::string_view text, uint32_t hash) const {
    return slots_.Find(hash, [&](uint32_t number) { return Text(number) == text; });
  }
  // Adds a string that is not here. kNone: refused; nothing has changed. Throws std::bad_alloc.
  uint32_t Add(std::string_view text, uint32_t hash);
  std::string_view Text(uint64_t number) const {
    const Ref& ref = RefOf(number);
    return {ref.data, ref.size};
  }
  // The sum over all strings that have numbers.
  uint64_t bytes() const { return bytes_; }

  // Room for so many bytes, more than 0, which stays. nullptr: refused. Throws std::bad_alloc.
  [[nodiscard]] char* Place(size_t bytes) { return places_.Place(bytes); }

  // As RecordPages::FreeSome.
  bool FreeSome(uint32_t& pages);

 private:
  static constexpr uint32_t kFirstTexts = 16;
  struct Ref {
    const char* data;
    uint64_t size;
  };

  Ref& RefOf(uint64_t number) const { return *reinterpret_cast<Ref*>(refs_.At(number)); }

  GroupSlots slots_;
  RecordPages refs_;  // by number
  uint32_t count_ = 0;
  uint64_t bytes_ = 0;
  GroupPlaces places_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_GROUP_TEXTS_H_
