// Moves a hash between two of four AEUs, alone and while objects are created and dropped
// continuously. Measures how long each move takes, and how soon a pause and a deadline end one.
// Checks at the end that all rows of the hash exist.
//
//   hash_moves [--rows 40000] [--alone 200] [--moves 1000] [--lives-per-s 100] [--stops 20]
//
// A move transfers a quarter of the rows, all of one range, to the other AEU, or back; it joins no
// other range there. `stops`: the number of moves that a pause ends, and of those that a deadline
// ends, during creates and drops; max_bytes_per_s allows only their first chunk, which is small.
// Prints one JSON object.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/must.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "eris/engine.h"

namespace eris::bench {
namespace {

using nlohmann::json;

constexpr char kHash[] = "hash";
constexpr absl::Duration kBeforeStopMax = absl::Milliseconds(50);

struct LabOptions {
  uint64_t rows = 40'000;
  uint64_t alone = 200;
  uint64_t moves = 1000;
  double lives_per_s = 100;
  uint64_t stops = 20;
};

double Milliseconds(absl::Duration time) { return absl::ToDoubleMilliseconds(time); }

// A thread that creates objects, writes a row to each, and drops them, at a given rate per second.
class Lives {
 public:
  Lives(Engine& engine, double per_second)
      : engine_(engine), pause_(absl::Seconds(1 / per_second)), thread_([this] { Run(); }) {}
  void Stop() {
    // relaxed: it ends the loop; the join orders the rest.
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }
  double per_second() const { return static_cast<double>(lives_) / absl::ToDoubleSeconds(took_); }

 private:
  void Run() {
    const auto session = engine_.NewSession();
    const absl::Time began = absl::Now();
    for (absl::Time next = began; !stop_.load(std::memory_order_relaxed); next += pause_) {
      absl::SleepFor(next - absl::Now());
      const std::string name = absl::StrCat("life", lives_ % 7);
      Must(
          engine_.Create(name, {.kind = lives_ % 2 == 0 ? ObjectKind::kHash : ObjectKind::kIndex}));
      Must(session->Upsert(Must(session->Open(name)), {lives_}, {lives_}));
      Must(engine_.Drop(name));
      ++lives_;
    }
    took_ = absl::Now() - began;
  }

  Engine& engine_;
  const absl::Duration pause_;
  std::atomic<bool> stop_{false};
  uint64_t lives_ = 0;  // owned by the thread; read after its end
  absl::Duration took_;
  std::thread thread_;
};

class Lab {
 public:
  explicit Lab(const LabOptions& lab) : lab_(lab) {
    Options options;
    options.topology = "numa:1 core:4 pu:1";
    options.aeu_count = 4;
    options.balancer.enabled = false;
    engine_ = Must(Engine::Open(options));
    session_ = engine_->NewSession();
    // Partition i belongs to AEU i; the second one moves, to AEU 3 and back.
    Must(engine_->Create(kHash, {.kind = ObjectKind::kHash,
                                 .split_points = {lab.rows / 4, lab.rows / 2, lab.rows / 4 * 3}}));
    hash_ = Must(session_->Open(kHash));
    for (uint64_t first = 0; first < lab.rows; first += 65536) {
      const std::vector<uint64_t> keys = KeysFrom(first);
      Must(session_->Upsert(hash_, keys, keys));
    }
  }

  json Run() {
    Moves(std::max<uint64_t>(lab_.alone / 10, 2));  // the first ones learn what a chunk costs
    const std::vector<double> alone = Moves(lab_.alone);
    Lives lives(*engine_, lab_.lives_per_s);
    const std::vector<double> beside = Moves(lab_.moves);
    const std::vector<double> pauses = Pauses(), deadlines = Deadlines();
    lives.Stop();
    CheckRows();
    return {{"rows", lab_.rows / 4},
            {"moves", lab_.moves},
            {"lives_per_s", lives.per_second()},
            {"alone_ms", Spread(alone)},
            {"beside_ms", Spread(beside)},
            {"pause_ms", Spread(pauses)},
            {"deadline_overshoot_ms", Spread(deadlines)}};
  }

 private:
  static double At(std::vector<double> sorted, double share) {
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
  }
  static json Spread(const std::vector<double>& found) {
    return {{"median", At(found, 0.5)}, {"p99", At(found, 0.99)}, {"max", At(found, 1)}};
  }

  absl::Status Move(absl::Time deadline = absl::InfiniteFuture()) {
    at_ = 4 - at_;
    return engine_->MoveRange(kHash, {.lo = lab_.rows / 4, .hi = lab_.rows / 2}, AeuId{at_},
                              std::nullopt, deadline);
  }
  std::vector<double> Moves(uint64_t count) {
    std::vector<double> took;
    for (uint64_t i = 0; i < count; ++i) {
      const absl::Time began = absl::Now();
      Must(Move());
      took.push_back(Milliseconds(absl::Now() - began));
    }
    return took;
  }

  // Different delays, so that the stops meet all phases of a move.
  absl::Duration BeforeStop(uint64_t i) const {
    return kBeforeStopMax * static_cast<double>(i + 1) / static_cast<double>(lab_.stops);
  }
  void Slow() {
    Must(engine_->SetBalancer({.enabled = false, .max_pause_us = 20, .max_bytes_per_s = 1}));
  }
  // Moves back what a stopped move has transferred.
  void MoveBack() {
    Must(engine_->SetBalancer({.enabled = false}));
    Must(Move());
  }
  std::vector<double> Pauses() {
    std::vector<double> took;
    for (uint64_t i = 0; i < lab_.stops; ++i) {
      Slow();
      absl::Time ended;
      std::thread mover([&] {
        const absl::Status moved = Move();
        ended = absl::Now();
        if (!absl::IsFailedPrecondition(moved)) Die("a pause: " + moved.ToString());
      });
      absl::SleepFor(BeforeStop(i));
      const absl::Time began = absl::Now();
      engine_->PauseBalancer();
      mover.join();
      took.push_back(Milliseconds(ended - began));
      engine_->ResumeBalancer();
      MoveBack();
    }
    return took;
  }
  std::vector<double> Deadlines() {
    std::vector<double> late;
    for (uint64_t i = 0; i < lab_.stops; ++i) {
      Slow();
      const absl::Time deadline = absl::Now() + BeforeStop(i);
      const absl::Status moved = Move(deadline);
      if (!absl::IsDeadlineExceeded(moved)) Die("a deadline: " + moved.ToString());
      late.push_back(Milliseconds(absl::Now() - deadline));
      MoveBack();
    }
    return late;
  }

  void CheckRows() {
    for (uint64_t first = 0; first < lab_.rows; first += 65536) {
      const std::vector<uint64_t> keys = KeysFrom(first);
      std::vector<uint64_t> values(keys.size());
      std::vector<uint8_t> found(keys.size());
      Must(session_->Lookup(hash_, keys, absl::MakeSpan(values), absl::MakeSpan(found)));
      if (values != keys || std::count(found.begin(), found.end(), 1) != std::ssize(found)) {
        Die("rows are missing or others");
      }
    }
  }

  // The keys of the batch that begins at `first`.
  std::vector<uint64_t> KeysFrom(uint64_t first) const {
    std::vector<uint64_t> keys(std::min<uint64_t>(65536, lab_.rows - first));
    std::iota(keys.begin(), keys.end(), first);
    return keys;
  }

  const LabOptions lab_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  Object hash_;
  uint32_t at_ = 1;  // the target of the last move
};

LabOptions Parse(int argc, char** argv) {
  LabOptions lab;
  ParseFlags(argc, argv,
             {{"--rows", lab.rows, 40'000},
              {"--alone", lab.alone, 1},
              {"--moves", lab.moves, 1},
              {"--lives-per-s", lab.lives_per_s, 0.001, 1e6},
              {"--stops", lab.stops, 1}});
  return lab;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) {
  eris::bench::Lab lab(eris::bench::Parse(argc, argv));
  std::cout << lab.Run().dump() << std::endl;
  return 0;
}
