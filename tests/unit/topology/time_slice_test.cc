#include "topology/time_slice.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <cerrno>
#include <thread>

namespace eris::topology {
namespace {

TEST(TimeSliceTest, ThreadKeepsPolicyAndPriority) {
  std::thread([] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, 0, 3), 0);
    if (SetTimeSlice(kTimeSliceNsMin)) {
      // An older system has none to tell.
      EXPECT_TRUE(TimeSliceNs() == kTimeSliceNsMin || TimeSliceNs() == 0) << TimeSliceNs();
    }
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
    errno = 0;
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 3);
    EXPECT_EQ(errno, 0);
  }).join();
}

TEST(TimeSliceTest, OtherThreadsKeepTheirs) {
  const uint64_t before = TimeSliceNs();
  std::thread([] { SetTimeSlice(kTimeSliceNsMin); }).join();
  EXPECT_EQ(TimeSliceNs(), before);
}

TEST(TimeSliceTest, ThreadOfAnotherPolicyIsLeftAlone) {
  std::thread([] {
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    EXPECT_FALSE(SetTimeSlice(kTimeSliceNsMin));
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
  }).join();
}

}  // namespace
}  // namespace eris::topology
