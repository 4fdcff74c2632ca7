#include "memory/huge_pages.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "tests/unit/memory/memory_fixture.h"

namespace eris::memory {
namespace {

// The kernel's text, by the process id of the test so that several may run at once.
class SmapsFile {
 public:
  explicit SmapsFile(const std::string& text)
      : path_(testing::TempDir() + "eris_smaps_" + std::to_string(getpid())) {
    std::FILE* file = std::fopen(path_.c_str(), "w");
    EXPECT_NE(file, nullptr);
    std::fputs(text.c_str(), file);
    std::fclose(file);
  }
  ~SmapsFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

PoolRange Range(uintptr_t begin, size_t bytes) {
  return {reinterpret_cast<const std::byte*>(begin), bytes};
}

constexpr char kText[] =
    "10000000-10400000 rw-p 00000000 00:00 0 \n"
    "Size:               4096 kB\n"
    "Rss:                3072 kB\n"
    "AnonHugePages:      2048 kB\n"
    "ShmemPmdMapped:        0 kB\n"
    "FilePmdMapped:         7 kB\n"
    "Shared_Hugetlb:        0 kB\n"
    "Private_Hugetlb:       0 kB\n"
    "VmFlags: rd wr mr mw me ac sd hg \n"
    "10400000-10600000 ---p 00000000 00:00 0 \n"
    "Rss:                   0 kB\n"
    "7f0000000000-7f0000800000 rw-s 00000000 00:05 1034  /memfd:eris (deleted)\n"
    "Rss:                4096 kB\n"
    "AnonHugePages:         0 kB\n"
    "ShmemPmdMapped:     4096 kB\n"
    "7f0000800000-7f0001000000 rw-s 00000000 00:05 1035  /anon_hugepage (deleted)\n"
    "Rss:                   0 kB\n"
    "Shared_Hugetlb:     2048 kB\n"
    "Private_Hugetlb:    4096 kB\n"
    "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0  [stack]\n"
    "Rss:                   8 kB\n";

TEST(HugePagesTest, MappingsAreReadAsTheKernelWritesThem) {
  const SmapsFile file(kText);
  const auto mappings = ReadMappings(file.path());
  ASSERT_TRUE(mappings.ok()) << mappings.status();
  ASSERT_EQ(mappings->size(), 4u);  // one has no page
  const Mapping& anonymous = (*mappings)[0];
  EXPECT_EQ(anonymous.begin, 0x10000000u);
  EXPECT_EQ(anonymous.end, 0x10400000u);
  EXPECT_EQ(anonymous.use.resident_bytes, 3u << 20);
  EXPECT_EQ(anonymous.use.anonymous_huge_bytes, 2u << 20);
  EXPECT_EQ(anonymous.use.huge_bytes(), 2u << 20);
  EXPECT_EQ((*mappings)[1].use.shared_huge_bytes, 4u << 20);
  EXPECT_EQ((*mappings)[2].use.reserved_huge_bytes, 6u << 20);
  EXPECT_EQ((*mappings)[2].use.resident_bytes, 6u << 20);
}

TEST(HugePagesTest, PoolHasWhatItsMappingsHave) {
  const SmapsFile file(kText);
  const auto mappings = ReadMappings(file.path());
  ASSERT_TRUE(mappings.ok()) << mappings.status();
  // A mapping is a pool's also where not all of it is in use now.
  const std::vector<std::vector<PoolRange>> pools{
      {Range(0x10200000, 2 << 20), Range(0x7f0000000000, 2 << 20)},
      {Range(0x7f0000a00000, 2 << 20)},
      {Range(0x20000000, 2 << 20)},
      {}};
  const std::vector<PageUse> uses = PageUseOf(*mappings, pools);
  ASSERT_EQ(uses.size(), 4u);
  EXPECT_EQ(uses[0].anonymous_huge_bytes, 2u << 20);
  EXPECT_EQ(uses[0].shared_huge_bytes, 4u << 20);
  EXPECT_EQ(uses[0].resident_bytes, 7u << 20);
  EXPECT_EQ(uses[1].reserved_huge_bytes, 6u << 20);
  EXPECT_EQ(uses[2].resident_bytes, 0u);
  EXPECT_EQ(uses[3].resident_bytes, 0u);
}

TEST(HugePagesTest, JoinedMappingIsSharedByParts) {
  const std::vector<Mapping> mappings{{.begin = 1 << 22,
                                       .end = 5 << 22,
                                       .use = {.resident_bytes = 400, .anonymous_huge_bytes = 80}}};
  const std::vector<std::vector<PoolRange>> pools{
      {Range(1 << 22, 1 << 22)}, {Range(2 << 22, 1 << 22), Range(4 << 22, 1 << 23)}};
  const std::vector<PageUse> uses = PageUseOf(mappings, pools);
  EXPECT_EQ(uses[0].resident_bytes, 133u);
  EXPECT_EQ(uses[1].resident_bytes, 266u);
  EXPECT_EQ(uses[1].anonymous_huge_bytes, 53u);
}

TEST(HugePagesTest, FileThatIsNotThereOrNotTheKernelsIsAnError) {
  EXPECT_TRUE(absl::IsUnavailable(ReadMappings("/nonexistent/smaps").status()));
  EXPECT_TRUE(absl::IsInternal(ReadMappings(SmapsFile("Rss: 4 kB\n").path()).status()));
  const SmapsFile no_number("1000-2000 rw-p 0 0:0 0 \nRss: many kB\n");
  const absl::Status status = ReadMappings(no_number.path()).status();
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_NE(status.message().find("Rss: many kB"), std::string::npos) << status;
}

TEST(HugePagesTest, LivePoolIsResidentAsFarAsItIsPopulated) {
  MemoryBudget budget(kPlenty);
  NumaNodePool pool(Virtual(0), /*bind=*/false, budget);
  void* const superblock = pool.TakeSuperblock();
  ASSERT_NE(superblock, nullptr);
  const auto mappings = ReadMappings();
  ASSERT_TRUE(mappings.ok()) << mappings.status();
  const std::vector<std::vector<PoolRange>> ranges{pool.Ranges()};
  const std::vector<PageUse> uses = PageUseOf(*mappings, ranges);
  EXPECT_GE(uses[0].resident_bytes, kSuperblockBytes);
  EXPECT_LE(uses[0].huge_bytes(), uses[0].resident_bytes);
  pool.ReturnSuperblock(superblock);
}

}  // namespace
}  // namespace eris::memory
