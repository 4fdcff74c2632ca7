// A pattern of LIKE. Without a _ it is cut at its % into pieces, which a text has in this order.
// With one, an automaton goes through the text, byte by byte. Immutable; any thread.
#ifndef ERIS_STORAGE_TABLE_LIKE_PATTERN_H_
#define ERIS_STORAGE_TABLE_LIKE_PATTERN_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace eris::storage {

// Clients choose patterns, and an AEU asks them of a block of texts without a pause. So patterns
// are short.
inline constexpr size_t kLikeBytesMax = 1024;     // of a pattern
inline constexpr size_t kLikePlacesMax = 63;      // of one with a _: its bytes without the %
inline constexpr size_t kLikeShownBytesMax = 40;  // of a pattern in a message

class LikePattern {
 public:
  LikePattern() = default;  // of the empty text alone
  // `escape`: a character behind which %, _ and itself are themselves; empty: none. Errors:
  // InvalidArgument (the escape is not one character of UTF-8, or is before something else; above a
  // limit).
  static absl::StatusOr<LikePattern> Create(std::string_view pattern, std::string_view escape);

  bool Matches(std::string_view text) const {
    return places_ != nullptr ? MatchesPlaces(text) : MatchesPieces(text);
  }
  // The only text that matches, if the pattern has no wildcard.
  const std::string* OnlyText() const;
  // It is nothing but one % or more.
  bool MatchesAll() const { return places_ == nullptr && any_before_ && pieces_.empty(); }

 private:
  // The bytes and _ of a pattern are places. Bit i of a state: the text so far can be what is
  // before place i.
  struct Places {
    std::array<uint64_t, 256> accept{};  // by byte: the places that it can be
    uint64_t loops = 0;    // places with a % before them: any byte may come in between
    uint64_t goes_on = 0;  // places behind a _: more bytes of its character may come
    uint64_t all = 0;      // behind the last place
  };

  // A pattern as it is read.
  struct Reader;
  static absl::StatusOr<std::shared_ptr<const Places>> PlacesOf(const Reader& reader);

  bool MatchesPieces(std::string_view text) const;
  bool MatchesPlaces(std::string_view text) const;

  std::vector<std::string> pieces_;
  bool any_before_ = false;                 // a % before the first piece
  bool any_behind_ = false;                 // a % behind the last one
  std::shared_ptr<const Places> places_{};  // with a _; then the others are unused
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_LIKE_PATTERN_H_
