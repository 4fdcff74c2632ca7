// Who makes an AEU, and what becomes of the thread where it cannot be made.
#include "aeu/aeu_thread.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <new>
#include <thread>

#include "tests/support/aeu_lab.h"
#include "tests/support/test_reply.h"

namespace eris::aeu {
namespace {

AeuThreadOptions NoSpinning() {
  AeuThreadOptions options;
  options.spin_ns = 0;
  return options;
}

TEST(AeuThreadTest, TheThreadThatStepsAnAeuMakesIt) {
  test::LabMemory memory;
  test::AeuLab lab(memory, 1);
  std::thread::id maker = std::this_thread::get_id();
  const auto make = [&] {
    maker = std::this_thread::get_id();
    return &lab[0];
  };
  AeuThread thread(make, lab.directory()[AeuId{0}], NoSpinning());
  EXPECT_NE(maker, std::this_thread::get_id());
}

TEST(AeuThreadTest, WhatMakingThrowsIsThrownByTheConstructor) {
  test::LabMemory memory;
  test::AeuLab lab(memory, 1);
  const auto make = []() -> Aeu* { throw std::bad_alloc(); };
  EXPECT_THROW(AeuThread(make, lab.directory()[AeuId{0}], NoSpinning()), std::bad_alloc);
}

// A thread on the AEU's core that sends it a command executes it, too: when Flush returns, the
// answer is there, and nobody has been woken.
TEST(AeuThreadTest, WhoSendsOnTheSameCoreRunsTheTurn) {
  test::LabMemory memory;
  test::AeuLab lab(memory, 1);
  routing::ObjectRoute& route = lab.Create(0, ObjectId{7}, {0}, {AeuId{0}});
  lab.Settle();
  AeuThreadOptions options = NoSpinning();
  options.cpu = static_cast<uint32_t>(sched_getcpu());
  AeuThread thread(lab[0], lab.directory()[AeuId{0}], options);
  ASSERT_TRUE(thread.binding_status().ok()) << thread.binding_status();

  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(*options.cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    routing::PortOptions port_options = lab.port_options();
    port_options.way = routing::PortOptions::Way::kIngress;
    routing::Port port(lab.directory(), port_options);
    routing::TurnVisits::Want(true);
    const uint64_t key = 5, value = 6;
    uint64_t run_here = 0;
    for (int i = 0; i < 1000; ++i) {
      test::TestReply reply(1);
      std::thread::id answered_by{};
      std::atomic<bool> answered = false;
      reply.on_answered = [&] {
        answered_by = std::this_thread::get_id();
        answered.store(true, std::memory_order_release);  // pairs with the load below
        answered.notify_one();
      };
      ASSERT_EQ(port.Send(route,
                          {.type = routing::CommandType::kUpsert,
                           .keys = {&key, 1},
                           .values = {&value, 1},
                           .complete = &test::TestReply::Answered,
                           .context = &reply},
                          storage::KeyState::kRefused),
                0u);
      ASSERT_TRUE(port.Flush());
      answered.wait(false, std::memory_order_acquire);
      if (answered_by == std::this_thread::get_id()) ++run_here;
    }
    // Some find the AEU's thread on its way to sleep, and wake it.
    EXPECT_GT(run_here, 0u);
  }).join();
}

}  // namespace
}  // namespace eris::aeu
