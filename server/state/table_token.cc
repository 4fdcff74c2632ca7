#include "server/state/table_token.h"

#include <xxhash.h>

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace eris::server {

static_assert(std::endian::native == std::endian::little);

namespace {

// Others than those of resume_token.cc.
constexpr uint8_t kTableForm = 65;
constexpr size_t kHeadBytes = 25;
constexpr size_t kChecksumBytes = 8;

// Shows which server made a token without showing the seed that signs it.
uint64_t TableServerId(uint64_t seed) { return XXH3_64bits_withSeed("eris table", 10, seed); }

void Put(uint64_t value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}
uint64_t Read(absl::string_view token, size_t at) {
  uint64_t value;
  std::memcpy(&value, token.data() + at, sizeof(value));
  return value;
}

}  // namespace

std::string TableTokenCodec::Encode(const TableScanPoint& point) const {
  std::string token(1, static_cast<char>(kTableForm));
  Put(TableServerId(seed_), token);
  Put(point.lease, token);
  Put(point.fingerprint, token);
  token += point.place;
  Put(XXH3_64bits_withSeed(token.data(), token.size(), seed_), token);
  return token;
}

absl::StatusOr<TableScanPoint> TableTokenCodec::Decode(absl::string_view token) const {
  if (token.size() < kHeadBytes + kChecksumBytes || token.size() > kTokenBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("resume_token: ", token.size(),
                                                   " bytes, must be ", kHeadBytes + kChecksumBytes,
                                                   " to ", kTokenBytesMax));
  }
  if (const auto form = static_cast<uint8_t>(token[0]); form != kTableForm) {
    return absl::InvalidArgumentError(absl::StrCat("resume_token: of form ", uint32_t{form},
                                                   ", of scans of tables it is ",
                                                   uint32_t{kTableForm}));
  }
  if (Read(token, 1) != TableServerId(seed_)) {
    return absl::InvalidArgumentError(
        "resume_token: of another server, or of this one before its restart; start the scan again");
  }
  const absl::string_view signed_part = token.substr(0, token.size() - kChecksumBytes);
  if (Read(token, signed_part.size()) !=
      XXH3_64bits_withSeed(signed_part.data(), signed_part.size(), seed_)) {
    return absl::InvalidArgumentError("resume_token: damaged, its checksum does not match");
  }
  return TableScanPoint{.lease = Read(token, 9),
                        .fingerprint = Read(token, 17),
                        .place = std::string(signed_part.substr(kHeadBytes))};
}

}  // namespace eris::server
