// Compressed files against the text that was compressed, and those that are damaged.
#include "clients/cli/loading/unpack.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "clients/cli/loading/input_file.h"

namespace eris::cli {
namespace {

std::string Gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string Zstd(const std::string& text) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);  // as the program zstd does it
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const size_t bytes =
      ZSTD_compress2(context, packed.data(), packed.size(), text.data(), text.size());
  EXPECT_EQ(ZSTD_isError(bytes), 0u);
  ZSTD_freeCCtx(context);
  packed.resize(bytes);
  return packed;
}

int FileOf(const std::string& content) {
  const int fd = memfd_create("packed", MFD_CLOEXEC);
  EXPECT_EQ(write(fd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  return fd;
}

// What the file unpacks to, or the error's message.
std::string Unpacked(const std::string& packed) {
  const int fd = FileOf(packed);
  const absl::StatusOr<int> plain = Unpack(fd, "some.csv", PackingOf(fd));
  close(fd);
  if (!plain.ok()) {
    EXPECT_EQ(plain.status().code(), absl::StatusCode::kInvalidArgument) << plain.status();
    return std::string(plain.status().message());
  }
  EXPECT_EQ(lseek(*plain, 0, SEEK_CUR), 0);
  std::string text(static_cast<size_t>(lseek(*plain, 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(*plain, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  close(*plain);
  return text;
}

// Some numbers, which do not compress to nothing.
std::string Text(size_t bytes) {
  std::string text;
  for (uint64_t i = 1; text.size() < bytes; ++i)
    text += std::to_string(i * 0x9e3779b97f4a7c15) + '\n';
  text.resize(bytes);
  return text;
}

TEST(UnpackTest, GivesBackWhatWasPacked) {
  // Around the size of a buffer, and texts that are far larger than what they are packed in.
  for (const size_t bytes : {0, 1, 1000, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 3 << 20}) {
    for (const std::string& text : {Text(bytes), std::string(bytes, 'x')}) {
      EXPECT_TRUE(Unpacked(Gzip(text)) == text) << bytes;
      EXPECT_TRUE(Unpacked(Zstd(text)) == text) << bytes;
    }
  }
}

TEST(UnpackTest, PartsFollowEachOther) {
  const std::string one = Text(300'000), two = Text(5), none;
  EXPECT_TRUE(Unpacked(Gzip(one) + Gzip(none) + Gzip(two)) == one + two);
  EXPECT_TRUE(Unpacked(Zstd(one) + Zstd(none) + Zstd(two)) == one + two);
}

TEST(UnpackTest, ZerosBehindGzipAreNothing) {
  const std::string text = Text(1000);
  EXPECT_TRUE(Unpacked(Gzip(text) + std::string(300'000, '\0')) == text);
  EXPECT_TRUE(Unpacked(Gzip(text) + std::string(5, '\0') + Gzip(text)) == text + text);
}

TEST(UnpackTest, DamageIsTold) {
  for (const auto& pack : {Gzip, Zstd}) {
    const std::string packed = pack(Text(400'000));
    for (const size_t left : {size_t{4}, size_t{20}, packed.size() / 2, packed.size() - 1}) {
      EXPECT_THAT(Unpacked(packed.substr(0, left)),
                  testing::AllOf(testing::HasSubstr("some.csv is compressed with"),
                                 testing::HasSubstr("ends too early")));
    }
    EXPECT_THAT(Unpacked(packed + "behind it"), testing::HasSubstr("at its byte"));
    std::string flipped = packed;
    flipped[packed.size() / 2] ^= 4;
    EXPECT_THAT(Unpacked(flipped), testing::HasSubstr("at its byte"));
  }
}

TEST(UnpackTest, OtherFilesAreLeftAlone) {
  for (const std::string& text : {std::string(), std::string("a"), std::string("a,b\n1,2\n")}) {
    const int fd = FileOf(text);
    EXPECT_EQ(PackingOf(fd), Packing::kNone) << text;
    close(fd);
  }
}

TEST(UnpackTest, FoldersWithoutRoomAreNamed) {
  const std::string packed = Gzip(Text(1000));
  const int fd = FileOf(packed);
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("TMPDIR", "/proc/nowhere", 1);
  const absl::StatusOr<int> plain = Unpack(fd, "some.csv", Packing::kGzip);
  if (before != nullptr) {
    setenv("TMPDIR", kept.c_str(), 1);
  } else {
    unsetenv("TMPDIR");
  }
  close(fd);
  EXPECT_THAT(std::string(plain.status().message()),
              testing::AllOf(testing::HasSubstr("/proc/nowhere"), testing::HasSubstr("TMPDIR")));
}

TEST(UnpackTest, AnInputFileIsItsContent) {
  const std::string text = Text(70'000);
  const int fd = FileOf(Zstd(text));
  InputFile input;
  ASSERT_TRUE(input.Open("/proc/self/fd/" + std::to_string(fd)).ok());
  EXPECT_EQ(input.bytes(), text.size());
  EXPECT_TRUE(input.seekable());
  close(fd);
}

}  // namespace
}  // namespace eris::cli
