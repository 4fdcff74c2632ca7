#include "storage/table/groups/group_texts.h"

#include <algorithm>

#include "storage/table/groups/group_hash.h"

namespace eris::storage {

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
  char* const place = places_.Place(std::max<size_t>(text.size(), 1));
  if (place == nullptr) return kNone;
  std::copy(text.begin(), text.end(), place);
  RefOf(count_) = {place, text.size()};
  slots_.Add(hash, count_);
  bytes_ += text.size();
  return count_++;
}

bool GroupTexts::FreeSome(uint32_t& pages) {
  return places_.FreeSome(pages) || refs_.FreeSome(pages) || slots_.FreeSome(pages);
}

}  // namespace eris::storage
