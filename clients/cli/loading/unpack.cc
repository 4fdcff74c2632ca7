#include "clients/cli/loading/unpack.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace eris::cli {
namespace {

constexpr size_t kBufferBytes = 256 << 10;

// Text on its way through a codec.
struct Passage {
  const char* in;
  size_t in_left;
  char* out;
  size_t out_left;
};

class Gzip {
 public:
  static constexpr absl::string_view kName = "gzip";

  Gzip() {
    constexpr int kGzipWindow = 15 + 16;  // zlib's way to say: the largest window, gzip's header
    ready_ = inflateInit2(&stream_, kGzipWindow) == Z_OK;
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() { inflateEnd(&stream_); }
  bool ready() const { return ready_; }
  bool at_end() const { return at_end_; }  // of a whole part; another one may follow

  // Goes on as far as there is text and room. Returns what is wrong with the text.
  std::string Step(Passage& text) {
    // Zeros fill blocks of tapes.
    while (at_end_ && text.in_left > 0 && *text.in == '\0') {
      ++text.in;
      --text.in_left;
    }
    if (at_end_ && text.in_left == 0) return "";
    if (at_end_) inflateReset(&stream_);
    // zlib reads it only, but asks for a pointer that is not const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.in));
    stream_.avail_in = static_cast<uInt>(text.in_left);
    stream_.next_out = reinterpret_cast<Bytef*>(text.out);
    stream_.avail_out = static_cast<uInt>(text.out_left);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    text = {reinterpret_cast<const char*>(stream_.next_in), stream_.avail_in,
            reinterpret_cast<char*>(stream_.next_out), stream_.avail_out};
    at_end_ = result == Z_STREAM_END;
    if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) return "";
    if (result == Z_MEM_ERROR) return "no memory";
    return stream_.msg != nullptr ? stream_.msg : "damaged";
  }

 private:
  z_stream stream_{};
  bool ready_ = false;
  bool at_end_ = true;
};

class Zstd {
 public:
  static constexpr absl::string_view kName = "zstd";

  bool ready() const { return stream_ != nullptr; }
  bool at_end() const { return at_end_; }

  std::string Step(Passage& text) {
    if (at_end_ && text.in_left == 0) return "";
    ZSTD_inBuffer in{text.in, text.in_left, 0};
    ZSTD_outBuffer out{text.out, text.out_left, 0};
    const size_t result = ZSTD_decompressStream(stream_.get(), &out, &in);
    text = {text.in + in.pos, text.in_left - in.pos, text.out + out.pos, text.out_left - out.pos};
    if (ZSTD_isError(result) != 0) return ZSTD_getErrorName(result);
    at_end_ = result == 0;
    return "";
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, Free> stream_{ZSTD_createDStream()};
  bool at_end_ = true;
};

absl::Status Write(int fd, const char* text, size_t bytes, const std::string& folder,
                   const std::string& name) {
  while (bytes > 0) {
    const ssize_t done = write(fd, text, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      const std::string message =
          absl::StrCat("cannot unpack ", name, " into ", folder, ": ", std::strerror(errno),
                       "; TMPDIR names another folder");
      const bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
      return full ? absl::ResourceExhaustedError(message) : absl::UnavailableError(message);
    }
    text += done;
    bytes -= static_cast<size_t>(done);
  }
  return absl::OkStatus();
}

absl::Status BadData(const std::string& name, absl::string_view codec, uint64_t place,
                     absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is compressed with ", codec, "; at its byte ", place, ": ", why));
}

template <class Codec>
absl::Status UnpackInto(int from, int to, const std::string& name, const std::string& folder) {
  Codec codec;
  if (!codec.ready()) return absl::ResourceExhaustedError("no memory to unpack a file");
  std::vector<char> packed(kBufferBytes), plain(kBufferBytes);
  uint64_t place = 0;
  for (;;) {
    const ssize_t got = pread(from, packed.data(), packed.size(), static_cast<off_t>(place));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return absl::UnavailableError(absl::StrCat("cannot read ", name, ": ", std::strerror(errno)));
    }
    if (got == 0) break;
    Passage text{packed.data(), static_cast<size_t>(got), nullptr, 0};
    // Once more if the room was full: the codec may have more.
    while (text.in_left > 0 || text.out_left == 0) {
      text.out = plain.data();
      text.out_left = plain.size();
      const size_t in_before = text.in_left;
      const std::string problem = codec.Step(text);
      const uint64_t done = place + static_cast<uint64_t>(got) - text.in_left;
      if (!problem.empty()) return BadData(name, Codec::kName, done, problem);
      const size_t made = plain.size() - text.out_left;
      if (absl::Status status = Write(to, plain.data(), made, folder, name); !status.ok()) {
        return status;
      }
      if (made == 0 && text.in_left == in_before) break;  // it needs more text
    }
    place += static_cast<uint64_t>(got);
  }
  if (!codec.at_end()) return BadData(name, Codec::kName, place, "the file ends too early");
  return absl::OkStatus();
}

}  // namespace

Packing PackingOf(int fd) {
  unsigned char first[4] = {};
  if (pread(fd, first, sizeof(first), 0) < 2) return Packing::kNone;
  if (first[0] == 0x1f && first[1] == 0x8b) return Packing::kGzip;
  constexpr unsigned char kZstd[4] = {0x28, 0xb5, 0x2f, 0xfd};
  return std::memcmp(first, kZstd, sizeof(kZstd)) == 0 ? Packing::kZstd : Packing::kNone;
}

absl::StatusOr<int> Unpack(int fd, const std::string& name, Packing packing) {
  const char* const given = std::getenv("TMPDIR");
  const std::string folder = given != nullptr && *given != '\0' ? given : "/tmp";
  std::string path = folder + "/eris-import-XXXXXX";
  const int to = mkostemp(path.data(), O_CLOEXEC);
  if (to >= 0) unlink(path.c_str());
  if (to < 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot unpack ", name, " into ", folder, ": ",
                                                   std::strerror(errno),
                                                   "; TMPDIR names another folder"));
  }
  absl::Status status = packing == Packing::kGzip ? UnpackInto<Gzip>(fd, to, name, folder)
                                                  : UnpackInto<Zstd>(fd, to, name, folder);
  if (status.ok() && lseek(to, 0, SEEK_SET) != 0) {
    status = absl::UnavailableError(std::strerror(errno));
  }
  if (status.ok()) return to;
  close(to);
  return status;
}

}  // namespace eris::cli
