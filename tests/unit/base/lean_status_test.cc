#include "base/lean_status.h"

#include <gtest/gtest.h>

#include <new>

namespace eris::base {
namespace {

TEST(LeanStatusTest, WhatTheHeapRefusesHasAReason) {
  const absl::Status thrown =
      OrNoMemory("no room for it", []() -> absl::Status { throw std::bad_alloc(); });
  EXPECT_EQ(thrown.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(thrown.message(), "no room for it");
  EXPECT_EQ(ErrorDetailsOf(thrown).reason, "SYSTEM_MEMORY");
  EXPECT_EQ(ErrorDetailsOf(NoMemory()).reason, "SYSTEM_MEMORY");
}

TEST(LeanStatusTest, AnErrorHasTheCodeOfItsReason) {
  const absl::Status closing = LeanError(ErrorReason::kEngineClosing, "closing");
  EXPECT_EQ(closing, Error(ErrorReason::kEngineClosing, "closing"));
  EXPECT_EQ(closing.code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace eris::base
