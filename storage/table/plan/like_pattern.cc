#include "storage/table/plan/like_pattern.h"

#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/table/plan/utf8_text.h"

namespace eris::storage {
namespace {

std::string Shown(std::string_view text) {
  if (text.size() <= kLikeShownBytesMax) return std::string(text);
  return std::string(text.substr(0, kLikeShownBytesMax)) + "...";
}

// Where `piece` begins in the text from `at` on; npos: nowhere.
size_t Find(std::string_view text, size_t at, const std::string& piece) {
  const void* const found = memmem(text.data() + at, text.size() - at, piece.data(), piece.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

}  // namespace

// A pattern as it is read: its places, and where the % are.
struct LikePattern::Reader {
  struct Place {
    char byte = 0;
    bool any = false;         // a _
    bool behind_any = false;  // behind a %
  };
  std::vector<Place> places;
  bool percent = false;  // the last character was one
  bool has_any = false;

  void Take(char byte, bool any) {
    places.push_back({byte, any, percent});
    has_any |= any;
    percent = false;
  }
};

absl::StatusOr<LikePattern> LikePattern::Create(std::string_view pattern, std::string_view escape) {
  if (!escape.empty() && (GoesOn(escape[0]) || EndOfCharacter(escape, 0) != escape.size())) {
    return absl::InvalidArgumentError(absl::StrCat("the escape of a pattern is one character, not ",
                                                   escape.size(), " bytes: '", Shown(escape), "'"));
  }
  if (pattern.size() > kLikeBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a pattern of `like` has ", pattern.size(),
                                                   " bytes, must have at most ", kLikeBytesMax));
  }
  Reader reader;
  for (size_t at = 0; at < pattern.size();) {
    if (!escape.empty() && pattern.substr(at).starts_with(escape)) {
      const std::string_view rest = pattern.substr(at + escape.size());
      if (!rest.starts_with('%') && !rest.starts_with('_') && !rest.starts_with(escape)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the escape at byte ", at + 1, " of a pattern is before none of %, _ and itself: '",
            Shown(pattern), "'"));
      }
      const size_t bytes = EndOfCharacter(rest, 0);
      for (const char byte : rest.substr(0, bytes)) reader.Take(byte, false);
      at += escape.size() + bytes;
    } else if (pattern[at] == '%') {
      reader.percent = true;
      ++at;
    } else {
      reader.Take(pattern[at], pattern[at] == '_');
      ++at;
    }
  }
  LikePattern made;
  if (!reader.has_any) {
    made.any_behind_ = reader.percent;
    made.any_before_ = reader.places.empty() ? reader.percent : reader.places[0].behind_any;
    for (const Reader::Place& place : reader.places) {
      if (made.pieces_.empty() || place.behind_any) made.pieces_.emplace_back();
      made.pieces_.back() += place.byte;
    }
    return made;
  }
  ERIS_ASSIGN_OR_RETURN(made.places_, PlacesOf(reader));
  return made;
}

absl::StatusOr<std::shared_ptr<const LikePattern::Places>> LikePattern::PlacesOf(
    const Reader& reader) {
  if (reader.places.size() > kLikePlacesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a pattern of `like` with a _ has ", reader.places.size(),
                     " bytes besides its %, must have ", "at most ", kLikePlacesMax,
                     "; take a shorter one, or two joined by `and`"));
  }
  auto places = std::make_shared<Places>();
  for (size_t i = 0; i < reader.places.size(); ++i) {
    const Reader::Place& place = reader.places[i];
    const uint64_t bit = uint64_t{1} << i;
    if (place.behind_any) places->loops |= bit;
    if (place.any) places->goes_on |= bit << 1;
    for (size_t byte = 0; byte < places->accept.size(); ++byte) {
      const char value = static_cast<char>(byte);
      if (place.any ? !GoesOn(value) : value == place.byte) places->accept[byte] |= bit;
    }
  }
  places->all = uint64_t{1} << reader.places.size();
  if (reader.percent) places->loops |= places->all;
  return std::shared_ptr<const Places>(std::move(places));
}

const std::string* LikePattern::OnlyText() const {
  static const std::string kEmpty;
  if (places_ != nullptr || any_before_ || any_behind_ || pieces_.size() > 1) return nullptr;
  return pieces_.empty() ? &kEmpty : &pieces_[0];
}

bool LikePattern::MatchesPieces(std::string_view text) const {
  if (pieces_.empty()) return any_before_ || text.empty();
  size_t at = 0;
  size_t next = 0;
  if (!any_before_) {
    if (!text.starts_with(pieces_[0])) return false;
    at = pieces_[0].size();
    if (pieces_.size() == 1) return any_behind_ || at == text.size();
    next = 1;
  }
  // The first place of a piece leaves the most for those behind it.
  const size_t searched = any_behind_ ? pieces_.size() : pieces_.size() - 1;
  for (; next < searched; ++next) {
    at = Find(text, at, pieces_[next]);
    if (at == std::string_view::npos) return false;
    at += pieces_[next].size();
  }
  return any_behind_ || text.substr(at).ends_with(pieces_.back());
}

bool LikePattern::MatchesPlaces(std::string_view text) const {
  const Places& places = *places_;
  uint64_t state = 1;
  for (const char byte : text) {
    const uint64_t stays = places.loops | (GoesOn(byte) ? places.goes_on : 0);
    state = (state & places.accept[static_cast<unsigned char>(byte)]) << 1 | (state & stays);
    if (state == 0) return false;
  }
  return (state & places.all) != 0;
}

}  // namespace eris::storage
