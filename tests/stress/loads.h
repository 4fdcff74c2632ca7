// The loads of the stress. Each works on objects of its own, and knows what every answer must be:
//
//   pipelines  one session per kind, with many batches under way: every operation, keys that occur
//              several times in a batch; each answer is predicted from the order of sending
//   streams    the same over gRPC streams, to a server in this process
//   adders     several sessions add to the same keys: sums only grow, and add up in the end
//   accounts   money moves between objects of all kinds: a snapshot of the whole engine shows it
//              all, the same at every reading, and of a heap each writer's first rows without a gap
//   full       one object is written until memory is refused: what was acknowledged is there, what
//              was refused is not
//   comings    objects are created, moved, visited and dropped; a new one of the same name is empty
//   moves      ranges of the other loads' objects move all the time
#ifndef ERIS_TESTS_STRESS_LOADS_H_
#define ERIS_TESTS_STRESS_LOADS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/stress/world.h"

namespace eris::stress {

class Load {
 public:
  virtual ~Load() = default;
  // Creates the objects, before any thread starts.
  virtual void Prepare() {}
  // Each runs on a thread of its own until World::Ending.
  virtual std::vector<std::function<void()>> Threads() = 0;
  // When all threads of all loads have ended.
  virtual void CheckEnd() {}
};

std::unique_ptr<Load> MakePipelines(World& world);
std::unique_ptr<Load> MakeAdders(World& world);
std::unique_ptr<Load> MakeAccounts(World& world);
std::unique_ptr<Load> MakeFull(World& world);
std::unique_ptr<Load> MakeComings(World& world);
std::unique_ptr<Load> MakeMoves(World& world);
#ifdef ERIS_STRESS_STREAMS
std::unique_ptr<Load> MakeStreams(World& world);
#endif

}  // namespace eris::stress

#endif  // ERIS_TESTS_STRESS_LOADS_H_
