#include "server/state/resume_token.h"

#include <xxhash.h>

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace eris::server {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr uint8_t kForm = 3;
// Of the forms before it, from 1 on.
constexpr size_t kOlderFormBytes[] = {46, 62};
constexpr uint8_t kHasHi = 1;
constexpr uint8_t kBackward = 2;
constexpr uint8_t kKeysOnly = 4;
constexpr size_t kChecksumAt = ResumeTokenCodec::kTokenBytes - sizeof(uint64_t);

// Shows which server made a token without showing the seed that signs it.
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
  token.reserve(kTokenBytes);
  Put<uint8_t>(token, kForm);
  Put<uint64_t>(token, ServerId(seed_));
  Put<uint32_t>(token, point.object.value);
  const bool backward = point.direction == ScanDirection::kBackward;
  Put<uint8_t>(token,
               static_cast<uint8_t>((point.rest.hi ? kHasHi : 0) | (backward ? kBackward : 0) |
                                    (point.keys_only ? kKeysOnly : 0)));
  Put<uint64_t>(token, point.rest.lo);
  Put<uint64_t>(token, point.rest.hi.value_or(0));
  Put<uint64_t>(token, point.rows_left);
  Put<uint64_t>(token, point.values.lo);
  Put<uint64_t>(token, point.values.last);
  Put<uint64_t>(token, point.rest.lo_second);
  Put<uint64_t>(token, point.rest.hi_second);
  Put<uint64_t>(token, XXH3_64bits_withSeed(token.data(), token.size(), seed_));
  return token;
}

absl::StatusOr<ResumePoint> ResumeTokenCodec::Decode(absl::string_view token) const {
  for (uint8_t form = 1; form < kForm; ++form) {
    if (token.size() != kOlderFormBytes[form - 1] || static_cast<uint8_t>(token[0]) != form) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("resume_token: of form ", uint32_t{form},
                     ", from a server of an older version; this one reads form ", uint32_t{kForm},
                     ": start the scan again"));
  }
  if (token.size() != kTokenBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("resume_token: ", token.size(), " bytes, must be ", kTokenBytes));
  }
  absl::string_view rest = token;
  if (const auto form = Take<uint8_t>(rest); form != kForm) {
    return absl::InvalidArgumentError(
        absl::StrCat("resume_token: unknown form ", form, ", must be ", kForm));
  }
  if (Take<uint64_t>(rest) != ServerId(seed_)) {
    return absl::InvalidArgumentError(
        "resume_token: of another server, or of this one before its restart; start the scan again");
  }
  uint64_t checksum;
  std::memcpy(&checksum, token.data() + kChecksumAt, sizeof(checksum));
  if (checksum != XXH3_64bits_withSeed(token.data(), kChecksumAt, seed_)) {
    return absl::InvalidArgumentError("resume_token: damaged, its checksum does not match");
  }
  ResumePoint point;
  point.object.value = Take<uint32_t>(rest);
  const auto flags = Take<uint8_t>(rest);
  point.rest.lo = Take<uint64_t>(rest);
  const auto hi = Take<uint64_t>(rest);
  if (flags & kHasHi) point.rest.hi = hi;
  if (flags & kBackward) point.direction = ScanDirection::kBackward;
  point.keys_only = (flags & kKeysOnly) != 0;
  point.rows_left = Take<uint64_t>(rest);
  point.values.lo = Take<uint64_t>(rest);
  point.values.last = Take<uint64_t>(rest);
  point.rest.lo_second = Take<uint64_t>(rest);
  point.rest.hi_second = Take<uint64_t>(rest);
  return point;
}

}  // namespace eris::server
