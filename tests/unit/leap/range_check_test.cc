// What can be migrated, told from texts as the kernel writes them.
#include "leap/range_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/unit/leap/leap_fixture.h"

namespace eris::leap {
namespace {

using ::testing::HasSubstr;

std::string Entry(const std::string& head, const std::string& flags = "rd wr mr mw me ac",
                  int page_kib = 4) {
  return absl::StrCat(head, "\nSize:                 64 kB\nKernelPageSize:        ", page_kib,
                      " kB\nMMUPageSize:           ", page_kib, " kB\nVmFlags: ", flags, "\n");
}
const std::string kAnonymous = Entry("10000-20000 rw-p 00000000 00:00 0 ");
const std::string kNext = Entry("20000-30000 rw-p 00000000 00:00 0 ");
const std::string kFile = Entry("20000-30000 rw-s 00000000 00:01 77       /memfd:some (deleted)");

Range At(uintptr_t begin, size_t bytes) { return {reinterpret_cast<void*>(begin), bytes}; }

std::string Why(const Range& range, const std::string& smaps) {
  const auto found = CheckRange(range, smaps);
  return found.ok() ? "" : found.status().ToString();
}

TEST(RangeCheckTest, AnonymousMemoryOfSeveralMappingsIsOneKind) {
  const auto kind = CheckRange(At(0x11000, 0x1e000), kAnonymous + kNext);
  ASSERT_TRUE(kind.ok()) << kind.status();
  EXPECT_FALSE(kind->file);
  EXPECT_EQ(kind->page_bytes, 4096U);
}

TEST(RangeCheckTest, MemoryFileIsAnotherKind) {
  const auto kind = CheckRange(At(0x20000, 0x10000), kAnonymous + kFile);
  ASSERT_TRUE(kind.ok()) << kind.status();
  EXPECT_TRUE(kind->file);
  EXPECT_THAT(Why(At(0x10000, 0x20000), kAnonymous + kFile), HasSubstr("another kind"));
}

TEST(RangeCheckTest, ReservedHugePagesAreAlignedToTheirSize) {
  const std::string huge = Entry("200000-600000 rw-s 00000000 00:0f 9 /anon_hugepage (deleted)",
                                 "rd wr mr mw me ht", 2048);
  EXPECT_EQ(CheckRange(At(0x200000, 0x200000), huge)->page_bytes, size_t{2} << 20);
  EXPECT_THAT(Why(At(0x201000, 0x200000), huge), HasSubstr("pages of 2097152 bytes"));
}

TEST(RangeCheckTest, UnalignedRangeIsRefusedByItsPageSize) {
  EXPECT_THAT(Why(At(0x10010, 0x1000), kAnonymous), HasSubstr("whole pages of 4096"));
  EXPECT_THAT(Why(At(0x10000, 0x1010), kAnonymous), HasSubstr("whole pages of 4096"));
  EXPECT_THAT(Why(At(0x10000, 0), kAnonymous), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(Why(At(~uintptr_t{0} - 4095, 8192), kAnonymous), HasSubstr("INVALID_ARGUMENT"));
}

TEST(RangeCheckTest, HoleIsNamed) {
  EXPECT_THAT(Why(At(0xf000, 0x2000), kAnonymous), HasSubstr("f000 to 11000 is not mapped"));
  EXPECT_THAT(Why(At(0x1f000, 0x2000), kAnonymous), HasSubstr("20000 to 21000 is not mapped"));
  EXPECT_THAT(Why(At(0x10000, 0x1000), ""), HasSubstr("not mapped"));
}

TEST(RangeCheckTest, MemoryThatCannotMoveIsRefusedByItsReason) {
  const Range range = At(0x10000, 0x1000);
  EXPECT_THAT(Why(range, Entry("10000-20000 r--p 00000000 00:00 0")), HasSubstr("not writable"));
  EXPECT_THAT(Why(range, Entry("10000-20000 rw-p 00000000 00:00 0", "rd wr lo")),
              HasSubstr("munlock"));
  EXPECT_THAT(Why(range, Entry("10000-20000 rw-p 00000000 00:00 0    [stack]")),
              HasSubstr("stack"));
  EXPECT_THAT(Why(range, Entry("10000-20000 rw-s 00000000 08:01 5    /tmp/data")),
              HasSubstr("the file /tmp/data"));
  EXPECT_THAT(Why(range, Entry("10000-20000 rw-p 00000000 00:01 5    /memfd:some (deleted)")),
              HasSubstr("private copy"));
  EXPECT_THAT(Why(range, Entry("10000-20000 rw-s 00000000 00:00 0")), HasSubstr("shared"));
  EXPECT_THAT(Why(range, Entry("10000-20000 rwxp 00000000 00:00 0")), HasSubstr("executable"));
  EXPECT_THAT(Why(range, Entry("10000-20000 rw-p 00000000 00:00 0\nProtectionKey:         3")),
              HasSubstr("protection key"));
  EXPECT_THAT(Why(range, Entry("10000-20000 rw-s 00000000 00:01 5    /memfd:some (deleted)\n"
                               "Shared_Dirty:          4 kB")),
              HasSubstr("mapped elsewhere"));
  for (const auto& [flag, why] :
       {std::pair("dc", "MADV_DONTFORK"), std::pair("wf", "MADV_WIPEONFORK"),
        std::pair("dd", "MADV_DONTDUMP"), std::pair("mg", "MERGEABLE"),
        std::pair("uw", "userfaultfd"), std::pair("gd", "downwards")}) {
    EXPECT_THAT(
        Why(range, Entry("10000-20000 rw-p 00000000 00:00 0", absl::StrCat("rd wr ", flag))),
        HasSubstr(why));
  }
}

TEST(RangeCheckTest, OwnMemoryIsFoundInTheProcess) {
  const TestMemory anonymous(16 * kPage), file(16 * kPage, Pages::kFile);
  EXPECT_FALSE(CheckRange(anonymous.range())->file);
  EXPECT_TRUE(CheckRange(file.range())->file);
  // mlock does nothing under sanitizers.
  EXPECT_EQ(syscall(SYS_mlock, anonymous.begin(), kPage), 0);
  EXPECT_EQ(CheckRange(anonymous.range()).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(RangeCheckTest, MemoryFileWithASecondMappingIsRefused) {
  const int file = memfd_create("leap-test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, 4 * kPage), 0);
  const auto map = [&] {
    return mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  };
  void* const one = map();
  EXPECT_TRUE(CheckRange({one, 4 * kPage}).ok());
  void* const other = map();
  EXPECT_THAT(CheckRange({one, 4 * kPage}).status().ToString(), HasSubstr("mapped elsewhere"));
  munmap(other, 4 * kPage);
  EXPECT_TRUE(CheckRange({one, 4 * kPage}).ok());
  munmap(one, 4 * kPage);
  close(file);
}

TEST(MapEntriesTest, GrowWithMappings) {
  const MapEntries before = CountMapEntries();
  EXPECT_GT(before.now, 0U);
  EXPECT_GE(before.most, before.now);
  const TestMemory memory(16 * kPage);
  ASSERT_EQ(mprotect(memory.begin() + 4 * kPage, kPage, PROT_READ), 0);
  EXPECT_GE(CountMapEntries().now, before.now + 2);
}

}  // namespace
}  // namespace eris::leap
