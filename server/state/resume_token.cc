#include "server/state/resume_token.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/errors.h"

namespace eris::server {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr TokenSeal::Kind kResumeToken{.name = "resume_token",
                                       .form = 4,
                                       .older_forms = "\x01\x02\x03\x41",
                                       .again = "start the scan again"};

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
  std::string content;
  content.reserve(kHeadBytes - TokenSeal::kHeadBytes + point.place.size());
  Put<uint32_t>(content, point.object.value);
  Put<uint64_t>(content, point.lease);
  Put<uint64_t>(content, point.fingerprint);
  content += point.place;
  return seal_.Seal(kResumeToken, content);
}

absl::StatusOr<ResumePoint> ResumeTokenCodec::Decode(absl::string_view token) const {
  if (token.size() < kHeadBytes + kChecksumBytes || token.size() > kTokenBytesMax) {
    return Error(ErrorReason::kResumeTokenInvalid,
                 absl::StrCat("resume_token: ", token.size(), " bytes, must be ",
                              kHeadBytes + kChecksumBytes, " to ", kTokenBytesMax));
  }
  ERIS_ASSIGN_OR_RETURN(absl::string_view rest, seal_.Open(kResumeToken, token));
  ResumePoint point;
  point.object.value = Take<uint32_t>(rest);
  point.lease = Take<uint64_t>(rest);
  point.fingerprint = Take<uint64_t>(rest);
  point.place = std::string(rest);
  return point;
}

}  // namespace eris::server
