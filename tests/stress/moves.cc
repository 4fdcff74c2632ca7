// Ranges of all other loads' objects change hands all the time, by every kind of transfer; now and
// then the balancer is paused for a moment, or a move has next to no time.
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/stress/loads.h"

namespace eris::stress {
namespace {

constexpr uint32_t kMovers = 2;

class Moves final : public Load {
 public:
  explicit Moves(World& world) : world_(world) {}

  std::vector<std::function<void()>> Threads() override {
    std::vector<std::function<void()>> threads;
    for (uint32_t i = 0; i < kMovers && !world_.movables().empty(); ++i) {
      threads.emplace_back([this, i] { Run(i); });
    }
    return threads;
  }
  void CheckEnd() override {
    if (world_.Get(Figure::kMoves) < 10) world_.Fault("moves: next to nothing has moved");
  }

 private:
  void Run(uint32_t number) {
    std::mt19937_64 random(world_.SeedOf(absl::StrCat("mover ", number)));
    Engine& engine = world_.engine();
    while (!world_.Ending()) {
      if (random() % 64 == 0) {
        engine.PauseBalancer();
        engine.ResumeBalancer();
      }
      const Movable& object = world_.movables()[random() % world_.movables().size()];
      absl::Status moved;
      if (object.heap) {
        moved = engine.Rebalance(object.name).status();
      } else {
        moved = MoveOne(object, random);
      }
      if (moved.ok()) {
        world_.Count(Figure::kMoves);
      } else if (absl::IsFailedPrecondition(moved) || absl::IsResourceExhausted(moved) ||
                 absl::IsDeadlineExceeded(moved)) {
        // Paused, a link between NumaNodes, a full memory, or no time.
        world_.Count(Figure::kMovesRefused);
      } else if (!absl::IsNotFound(moved) || !object.heap) {  // the accounts' heap comes and goes
        world_.Fault(absl::StrCat("moves of ", object.name, ": ", moved.ToString()));
      }
    }
  }

  absl::Status MoveOne(const Movable& object, std::mt19937_64& random) {
    // Up to four sixteenths of the key space, at times as far as its end.
    const uint64_t first = random() % 16, pieces = 1 + random() % 4;
    KeyRange range{.lo = first << 60};
    if (first + pieces < 16) range.hi = (first + pieces) << 60;
    const AeuId to{static_cast<uint32_t>(random() % world_.options().aeus)};
    const TransferKind kind =
        object.links ? kTransferKinds[random() % kTransferKindCount] : TransferKind::kCopy;
    const absl::Time deadline =
        random() % 32 == 0 ? absl::Now() + absl::Microseconds(200) : absl::InfiniteFuture();
    return world_.engine().MoveRange(object.name, range, to, kind, deadline);
  }

  World& world_;
};

}  // namespace

std::unique_ptr<Load> MakeMoves(World& world) { return std::make_unique<Moves>(world); }

}  // namespace eris::stress
