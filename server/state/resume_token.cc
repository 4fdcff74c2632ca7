#include "server/state/resume_token.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace eris::server {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr uint8_t kForm = 4;
constexpr uint8_t kOlderForms[] = {1, 2, 3, 65};

// Identifies the server that made a token, without revealing the seed of its checksum.
uint64_t ServerId(uint64_t seed) { return XXH3_64bits_withSeed("eris", 4, seed); }

template <class T>
void Put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <class T>
T Take(absl::string_view& in) {
  T value;
  std::memcpy(&value, in.data(), sizeof(value));
  in.remove_prefix(sizeof(value));
  return value;
}

}  // namespace

std::string ResumeTokenCodec::Encode(const ResumePoint& point) const {
  std::string token;
  token.reserve(kHeadBytes + point.place.size() + kChecksumBytes);
  Put<uint8_t>(token, kForm);
  Put<uint64_t>(token, ServerId(seed_));
  Put<uint32_t>(token, point.object.value);
  Put<uint64_t>(token, point.lease);
  Put<uint64_t>(token, point.fingerprint);
  token += point.place;
  Put<uint64_t>(token, XXH3_64bits_withSeed(token.data(), token.size(), seed_));
  return token;
}

absl::StatusOr<ResumePoint> ResumeTokenCodec::Decode(absl::string_view token) const {
  if (token.size() < kHeadBytes + kChecksumBytes || token.size() > kTokenBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("resume_token: ", token.size(),
                                                   " bytes, must be ", kHeadBytes + kChecksumBytes,
                                                   " to ", kTokenBytesMax));
  }
  absl::string_view rest = token;
  if (const auto form = Take<uint8_t>(rest); form != kForm) {
    const bool older = std::count(std::begin(kOlderForms), std::end(kOlderForms), form) > 0;
    return absl::InvalidArgumentError(
        absl::StrCat("resume_token: of form ", uint32_t{form},
                     older ? ", from a server of an older version; this one reads form "
                           : ", which is unknown, must be ",
                     uint32_t{kForm}, ": start the scan again"));
  }
  if (Take<uint64_t>(rest) != ServerId(seed_)) {
    return absl::InvalidArgumentError(
        "resume_token: of another server, or of this one before its restart; start the scan again");
  }
  absl::string_view checksum = token.substr(token.size() - kChecksumBytes);
  if (Take<uint64_t>(checksum) !=
      XXH3_64bits_withSeed(token.data(), token.size() - kChecksumBytes, seed_)) {
    return absl::InvalidArgumentError("resume_token: damaged, its checksum does not match");
  }
  ResumePoint point;
  point.object.value = Take<uint32_t>(rest);
  point.lease = Take<uint64_t>(rest);
  point.fingerprint = Take<uint64_t>(rest);
  point.place = std::string(rest.substr(0, rest.size() - kChecksumBytes));
  return point;
}

}  // namespace eris::server
