// A system that refuses to pin threads and to bind memory (a container without the capability): the
// engine says so once and serves. A seccomp filter plays that system, for this whole process.
#include <errno.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <vector>

#include "eris/engine.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

// Two system calls from now on; what has been refused before stays so.
bool Refuse(uint32_t one, uint32_t other) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = sizeof filter / sizeof filter[0], .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(RefusedBindingTest, TheEngineSaysSoAndServes) {
  if (!Refuse(SYS_mbind, SYS_sched_setaffinity))
    GTEST_SKIP() << "this kernel has no seccomp filters";
  Options options;
  options.aeu_count = 2;
  options.memory_limit_bytes = uint64_t{1} << 30;
  auto engine = Engine::Open(options);
  ASSERT_TRUE(engine.ok()) << engine.status();
  int unpinned = 0, unbound = 0;
  for (const std::string& note : (*engine)->Notes()) {
    unpinned += note.find("unpinned") != std::string::npos;
    unbound += note.find("not bound") != std::string::npos;
    EXPECT_NE((*engine)->ExplainTopology().find(note), std::string::npos);
  }
  EXPECT_EQ(unpinned, 1);
  EXPECT_EQ(unbound, 1);
  for (const NumaNodeStats& node : (*engine)->Stats().numa_nodes) EXPECT_FALSE(node.bound);

  for (const AeuStats& aeu : (*engine)->Stats().aeus) EXPECT_EQ(aeu.cpu, -1);

  const Object o = test::Create(**engine, "o", {.expected = {0, 1000}});
  auto session = (*engine)->NewSession();
  std::vector<uint64_t> keys{1, 500, 999}, values(3);
  std::vector<uint8_t> found(3);
  ASSERT_TRUE(session->Upsert(o, keys, keys).ok());
  ASSERT_TRUE(session->Lookup(o, keys, absl::MakeSpan(values), absl::MakeSpan(found)).ok());
  EXPECT_EQ(values, keys);

  for (const NumaNodeMemory& node : (*engine)->Memory().numa_nodes) EXPECT_FALSE(node.bound);
  const auto verification = (*engine)->VerifyMemory();
  if (absl::IsUnimplemented(verification.status())) GTEST_SKIP() << "a kernel without NUMA";
  ASSERT_TRUE(verification.ok()) << verification.status();
  for (const NumaNodePlacement& node : verification->numa_nodes) {
    EXPECT_FALSE(node.bound);
    EXPECT_EQ(node.pages_local + node.pages_elsewhere, 0u);
  }
  ASSERT_TRUE(Refuse(SYS_move_pages, SYS_move_pages));
  EXPECT_TRUE(absl::IsFailedPrecondition((*engine)->VerifyMemory().status()));
}

}  // namespace
}  // namespace eris
