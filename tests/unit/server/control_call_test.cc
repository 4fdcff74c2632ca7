// What ends a call that moves, without gRPC. The calls themselves: admin_balancer_test.cc.
#include "server/calls/control_call.h"

#include "gtest/gtest.h"

namespace eris::server {
namespace {

TEST(ControlEffortTest, EffortThatNobodyStopsReturnsWhatItsWorkReturns) {
  ControlEffort effort(ControlLane::kMoves);
  EXPECT_TRUE(effort.Run([](MoveStop* stop) { return stop->why(); }).ok());
  EXPECT_TRUE(absl::IsNotFound(effort.Run([](MoveStop*) { return absl::NotFoundError("gone"); })));
}

TEST(ControlEffortTest, EffortStoppedBeforeItsTurnNeverRuns) {
  ControlEffort effort(ControlLane::kMoves);
  effort.Stop(absl::CancelledError("first"));
  effort.OnDrain();
  bool ran = false;
  EXPECT_EQ(effort.Run([&](MoveStop*) {
    ran = true;
    return absl::OkStatus();
  }),
            absl::CancelledError("first"));
  EXPECT_FALSE(ran);
}

TEST(ControlEffortTest, WorkHearsOfTheFirstStopAtOnce) {
  ControlEffort effort(ControlLane::kMoves);
  int woken = 0;
  const absl::Status status = effort.Run([&](MoveStop* stop) {
    stop->SetWake([&] { ++woken; });
    effort.EndNow(absl::UnavailableError("too long"));
    effort.Stop(absl::CancelledError("second"));
    EXPECT_EQ(woken, 1);
    stop->SetWake(nullptr);
    return stop->why();
  });
  EXPECT_EQ(status, absl::UnavailableError("too long"));
  effort.Stop(absl::CancelledError("late"));
  EXPECT_EQ(woken, 1);
}

TEST(ControlEffortTest, WorkThatEndedWellInSpiteOfTheStopEndedWell) {
  ControlEffort effort(ControlLane::kMoves);
  EXPECT_TRUE(effort
                  .Run([&](MoveStop*) {
                    effort.Stop(absl::CancelledError("too late"));
                    return absl::OkStatus();
                  })
                  .ok());
}

}  // namespace
}  // namespace eris::server
