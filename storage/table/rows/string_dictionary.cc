#include "storage/table/rows/string_dictionary.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace eris::storage {
namespace {

constexpr uint32_t kSlotsMin = 64;
constexpr uint32_t kBytesMin = 256;

template <class Word>
uint64_t Load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

uint64_t Mix(uint64_t hash, uint64_t word) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  const uint64_t product = (hash ^ word) * kOdd;
  return product ^ product >> 32;
}

}  // namespace

uint64_t StringDictionary::Hash(absl::string_view text) {
  // The last word may overlap the previous one; the length distinguishes strings that would look
  // alike.
  uint64_t hash = text.size() + 0x2545f4914f6cdd1d;
  const char* at = text.data();
  const size_t size = text.size();
  if (size > 8) {
    const char* const last = at + size - 8;
    for (; at < last; at += 8) hash = Mix(hash, Load<uint64_t>(at));
    return Mix(hash, Load<uint64_t>(last));
  }
  if (size >= 4) return Mix(hash, Load<uint32_t>(at) | Load<uint32_t>(at + size - 4) << 32);
  if (size == 0) return Mix(hash, 0);
  const uint64_t ends = Load<uint8_t>(at) | Load<uint8_t>(at + size - 1) << 16;
  return Mix(hash, ends | Load<uint8_t>(at + size / 2) << 8);
}

uint32_t StringDictionary::CodeOf(memory::LocalCache& cache, absl::string_view text) {
  const uint64_t hash = Hash(text);
  if (slots_.capacity() > 0) {
    const uint32_t mask = slots_.capacity() - 1;
    for (uint64_t at = hash;; ++at) {
      const uint16_t slot = slots_[at & mask];
      if (slot == 0) break;
      if (StringOf(slot - 1u) == text) return slot - 1u;
    }
  }
  if (!Grow(cache, text.size())) return kNoCode;
  const uint32_t code = view_.size++;
  const uint32_t begin = offsets_[code];
  if (!text.empty()) std::memcpy(bytes_.data() + begin, text.data(), text.size());
  offsets_[code + 1] = begin + static_cast<uint32_t>(text.size());
  uint64_t at = hash;
  const uint32_t mask = slots_.capacity() - 1;
  while (slots_[at & mask] != 0) ++at;
  slots_[at & mask] = static_cast<uint16_t>(code + 1);
  return code;
}

// Makes room for one more string.
bool StringDictionary::Grow(memory::LocalCache& cache, size_t length) {
  const uint32_t size = view_.size;
  ERIS_DCHECK(size < UINT16_MAX);
  if (offsets_.capacity() < size + 2) {
    const bool first = offsets_.capacity() == 0;
    const uint32_t wanted = std::max(kSlotsMin / 2, 2 * offsets_.capacity());
    if (!offsets_.Reserve(cache, wanted, first ? 0 : size + 1)) return false;
    if (first) offsets_[0] = 0;
    view_.offsets = offsets_.data();
  }
  const uint64_t bytes = offsets_[size] + length;
  if (bytes_.capacity() < bytes || bytes_.capacity() == 0) {
    const auto wanted =
        static_cast<uint32_t>(std::max<uint64_t>({kBytesMin, bytes, 2ull * bytes_.capacity()}));
    if (!bytes_.Reserve(cache, wanted, offsets_[size])) return false;
    view_.bytes = bytes_.data();
  }
  if (slots_.capacity() >= 2 * (size + 1)) return true;
  CacheArray<uint16_t> slots;
  const uint32_t wanted = std::max(kSlotsMin, 2 * slots_.capacity());
  if (!slots.Reserve(cache, wanted, 0)) return false;
  std::memset(slots.data(), 0, wanted * sizeof(uint16_t));
  for (uint32_t code = 0; code < size; ++code) {
    uint64_t at = Hash(StringOf(code));
    while (slots[at & (wanted - 1)] != 0) ++at;
    slots[at & (wanted - 1)] = static_cast<uint16_t>(code + 1);
  }
  slots_.Free(cache);
  slots_ = slots;
  return true;
}

void StringDictionary::BringHome(memory::LocalCache& cache, HomeWork& work) {
  offsets_.BringHome(cache, work);
  bytes_.BringHome(cache, work);
  slots_.BringHome(cache, work);
  view_.offsets = offsets_.data();
  view_.bytes = bytes_.data();
}

void StringDictionary::Free(memory::LocalCache& cache) {
  offsets_.Free(cache);
  bytes_.Free(cache);
  slots_.Free(cache);
  view_ = {};
}

}  // namespace eris::storage
