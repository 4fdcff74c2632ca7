// Measures what routing adds to a lookup, in nanoseconds of a core per key: AEUs that send each
// other lookups and execute them, compared with the same lookups on bare partitions, alternating in
// one run.
// Paper: ERIS 3.2, Figure 5 (including lookups).
//
//   routed_keys [--keys 1000000,16000000] [--aeus 2] [--batches 64,256,1024,4096,16384]
//               [--outgoing 0] [--rounds 7] [--ms 60] [--turn 4096] [--way aeus|sessions]
//               [--json FILE] [--only bare|routed]  (for a profiler)
//
// Each AEU is a thread, pinned to the allowed cpus in turn. It sends lookups of --batch keys each,
// at random over all AEUs' ranges (its own too), through its own Port: about --turn keys, then one
// flush and one Step of its AEU, repeatedly. At most four turns' keys are in flight; further ones
// wait for their answers. Keys are sparse, and all exist. In between each thread executes lookups
// of its own partition's keys in batches of the same parts. A figure is processor time of the
// threads divided by answered keys; the cost of routing is the median of the rounds' differences.
// --way: aeus, the default: as AEUs send lookups of joins, copied into incoming buffers and
// answered in columns. sessions: as sessions send them, in blocks that the answers come home in.
// --outgoing: keys that an outgoing buffer holds (0: 64 KiB, the engine's default). One key of each
// request is checked, and the first round's all.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/report.h"
#include "bench/routing/flags.h"
#include "bench/routing/lookup_lab.h"
#include "bench/routing/machine.h"

namespace eris::bench {
namespace {

struct Flags {
  std::vector<uint32_t> keys = {1'000'000, 16'000'000};
  std::vector<uint32_t> aeus = {2};
  std::vector<uint32_t> batches = {64, 256, 1024, 4096, 16384};
  std::vector<uint32_t> outgoing = {0};
  uint32_t rounds = 7;
  uint32_t ms = 60;
  uint32_t turn = 4096;
  std::string way = "aeus";
  std::string only;
  std::string json;
};

constexpr size_t kProbes = 1 << 20;

struct Job {
  uint32_t batch = 1;
  uint32_t batches_per_turn = 1;
  uint32_t outgoing = 0;
  uint32_t ms = 1;
  bool as_session = false;
  bool check_all = false;
};

struct Result {
  double ns_per_key = 0;  // of a core
  double keys_s = 0;
  double refused = 0;  // part of the keys
};

uint64_t ThreadCpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The work of one thread.
struct alignas(128) Done {
  uint64_t keys = 0;
  uint64_t refused = 0;
  uint64_t cpu_ns = 0;
};

class Bench {
 public:
  Bench(uint32_t aeus, uint64_t keys, const std::vector<int>& cpus)
      : lab_(aeus, keys), cpus_(cpus) {
    for (uint32_t i = 0; i < aeus; ++i) {
      mixed_.push_back(lab_.Probes(kProbes, i, std::nullopt));
      own_.push_back(lab_.Probes(kProbes, i, AeuId{i}));
    }
  }

  Result Bare(const Job& job) {
    return Run(job, [&](uint32_t self, uint64_t until_ns, Done& done) {
      const uint32_t turn_keys = job.batch * job.batches_per_turn;
      std::vector<uint64_t> values(turn_keys);
      std::vector<storage::KeyState> states(turn_keys);
      std::vector<uint32_t> positions(job.batch);
      for (uint32_t i = 0; i < job.batch; ++i) positions[i] = i;
      std::vector<storage::BatchPart> parts(job.batches_per_turn);
      size_t at = 0;
      do {
        for (uint32_t i = 0; i < job.batches_per_turn; ++i) {
          parts[i] = {.count = job.batch,
                      .keys = NextOf(own_[self], job.batch, at),
                      .values_in = nullptr,
                      .positions = positions.data(),
                      .values_out = values.data() + i * job.batch,
                      .states_out = states.data() + i * job.batch};
        }
        lab_.bare(self).Execute({storage::Operation::kLookup, parts});
        if (values[0] != ValueOf(parts[0].keys[0])) Die("a bare lookup is wrong");
        done.keys += turn_keys;
      } while (NowNs() < until_ns);
    });
  }

  Result Routed(const Job& job) {
    finished_.store(0);
    return Run(job, [&](uint32_t self, uint64_t until_ns, Done& done) {
      Source source(*this, job, self);
      aeu::Aeu& aeu = lab_.aeu(self);
      bool first = true, finished = false;
      for (;;) {
        const bool sent = (first || NowNs() < until_ns) && source.SendTurn(done);
        first = false;
        const bool worked = aeu.Step({});
        if (!sent && !worked && lab_.aeus() > cpus_.size()) std::this_thread::yield();
        if (NowNs() < until_ns || source.Busy()) continue;
        // Others may still need this AEU.
        if (!finished) finished_.fetch_add(1);
        finished = true;
        if (finished_.load() == lab_.aeus() && !aeu.HasWork()) break;
      }
      source.CheckRest(done);
    });
  }

 private:
  class Source {
   public:
    Source(Bench& bench, const Job& job, uint32_t self)
        : bench_(bench),
          job_(job),
          probes_(bench.mixed_[self]),
          port_(bench.lab_.directory(),
                job.as_session ? home_.OfSession(OptionsOf(job)) : OptionsOf(job)) {
      for (uint32_t i = 0; i < 4 * job.batches_per_turn; ++i) {
        replies_.push_back(std::make_unique<LookupReply>(job.batch));
      }
    }
    // True: something was sent.
    bool SendTurn(Done& done) {
      bool sent = false;
      home_.Collect();
      for (uint32_t i = 0; i < job_.batches_per_turn; ++i) {
        LookupReply& reply = *replies_[next_];
        // the oldest: later ones follow it
        if (reply.left.load(std::memory_order_acquire) > 0) break;
        Check(reply, done);
        reply.keys = NextOf(probes_, job_.batch, at_);
        reply.left.store(job_.batch, std::memory_order_relaxed);  // published with the records
        const uint32_t refused = port_.Send(
            bench_.lab_.route(),
            {.type = routing::CommandType::kLookup,
             .keys = {reply.keys, job_.batch},
             .complete = &LookupReply::Answered,
             .context = &reply,
             .answers = job_.as_session ? routing::AnswersTo::kRecord : routing::AnswersTo::kReply},
            storage::KeyState::kRefused);
        done.keys += job_.batch - refused;
        done.refused += refused;
        if (refused > 0) LookupReply::Answered(&reply, refused);
        next_ = (next_ + 1) % replies_.size();
        sent = true;
      }
      port_.Flush();
      return sent;
    }
    bool Busy() {
      port_.Flush();
      home_.Collect();
      return port_.HasBuffered() ||
             std::any_of(replies_.begin(), replies_.end(), [](const auto& reply) {
               return reply->left.load(std::memory_order_acquire) > 0;
             });
    }
    void CheckRest(Done& done) {
      for (const auto& reply : replies_) Check(*reply, done);
    }

   private:
    static routing::PortOptions OptionsOf(const Job& job) {
      routing::PortOptions options{.way = routing::PortOptions::Way::kIncoming};
      if (job.outgoing > 0) {
        options.outgoing_bytes =
            routing::KeyedRecordBytes(routing::CommandType::kLookup, job.outgoing);
      }
      return options;
    }
    void Check(const LookupReply& reply, Done& done) const {
      if (reply.keys == nullptr) return;
      for (uint32_t i = 0; i < (job_.check_all ? job_.batch : 1); ++i) {
        const storage::KeyState state = reply.states[i];
        if (state == storage::KeyState::kRefused && done.refused > 0) continue;
        if (state != storage::KeyState::kPresent || reply.values[i] != ValueOf(reply.keys[i])) {
          Die("a routed lookup is wrong");
        }
      }
    }

    Bench& bench_;
    const Job& job_;
    const std::vector<uint64_t>& probes_;
    Home home_;
    routing::Port port_;
    std::vector<std::unique_ptr<LookupReply>> replies_;
    size_t next_ = 0;
    size_t at_ = 0;
  };

  static const uint64_t* NextOf(const std::vector<uint64_t>& probes, uint32_t count, size_t& at) {
    if (at + count > probes.size()) at = 0;
    at += count;
    return &probes[at - count];
  }

  template <class Body>
  Result Run(const Job& job, Body body) {
    std::vector<Done> done(lab_.aeus());
    std::vector<std::thread> threads;
    std::barrier start(lab_.aeus());
    const uint64_t begin_ns = NowNs();
    for (uint32_t self = 0; self < lab_.aeus(); ++self) {
      threads.emplace_back([&, self] {
        PinTo(cpus_[self % cpus_.size()]);
        start.arrive_and_wait();
        const uint64_t cpu_ns = ThreadCpuNs();
        body(self, NowNs() + uint64_t{job.ms} * 1'000'000, done[self]);
        done[self].cpu_ns = ThreadCpuNs() - cpu_ns;
      });
    }
    for (std::thread& thread : threads) thread.join();
    const double wall_ns = static_cast<double>(NowNs() - begin_ns);
    Done all;
    for (const Done& one : done) {
      all.keys += one.keys;
      all.refused += one.refused;
      all.cpu_ns += one.cpu_ns;
    }
    const auto keys = static_cast<double>(all.keys);
    return {static_cast<double>(all.cpu_ns) / keys, keys * 1e9 / wall_ns,
            static_cast<double>(all.refused) / (keys + static_cast<double>(all.refused))};
  }

  LookupLab lab_;
  const std::vector<int> cpus_;
  std::vector<std::vector<uint64_t>> mixed_;  // by AEU: keys of all
  std::vector<std::vector<uint64_t>> own_;    // of its own range
  std::atomic<uint32_t> finished_{0};
};

struct Point {
  uint32_t keys = 0;
  uint32_t aeus = 0;
  uint32_t batch = 0;
  uint32_t outgoing = 0;
  std::vector<double> bare_ns = {}, routed_ns = {}, over_ns = {}, keys_s = {};
  double refused = 0;
};

std::vector<Point> MeasureAll(const Flags& flags, const std::vector<int>& cpus) {
  std::vector<Point> all;
  for (const uint32_t keys : flags.keys) {
    for (const uint32_t aeus : flags.aeus) {
      Bench bench(aeus, keys, cpus);
      std::vector<Point> points;
      for (const uint32_t outgoing : flags.outgoing) {
        for (const uint32_t batch : flags.batches) {
          points.push_back({.keys = keys, .aeus = aeus, .batch = batch, .outgoing = outgoing});
        }
      }
      for (uint32_t round = 0; round < flags.rounds; ++round) {
        for (Point& point : points) {
          Job job{.batch = point.batch,
                  .batches_per_turn = std::max(1u, flags.turn / point.batch),
                  .outgoing = point.outgoing,
                  .ms = flags.ms,
                  .as_session = flags.way == "sessions"};
          if (round == 0) {
            job.check_all = true;
            bench.Routed(job);
            job.check_all = false;
          }
          const Result bare = flags.only == "routed" ? Result{} : bench.Bare(job);
          const Result routed = flags.only == "bare" ? Result{} : bench.Routed(job);
          point.bare_ns.push_back(bare.ns_per_key);
          point.routed_ns.push_back(routed.ns_per_key);
          point.over_ns.push_back(routed.ns_per_key - bare.ns_per_key);
          point.keys_s.push_back(routed.keys_s);
          point.refused = std::max(point.refused, routed.refused);
        }
      }
      all.insert(all.end(), points.begin(), points.end());
    }
  }
  return all;
}

void Print(const std::vector<Point>& points, double others, double line_ns) {
  std::printf("%10s %5s %6s %9s  %s\n", "keys", "AEUs", "batch", "outgoing",
              "ns per key: routed - bare = routing   M keys/s  refused");
  for (const Point& point : points) {
    std::printf("%10u %5u %6u %9u  %17.2f - %4.2f = %5.2f %12.1f  %6.2f %%\n", point.keys,
                point.aeus, point.batch, point.outgoing, MedianOf(point.routed_ns),
                MedianOf(point.bare_ns), MedianOf(point.over_ns), MedianOf(point.keys_s) / 1e6,
                100 * point.refused);
  }
  std::printf("other programs took %.2f cpus; a cache line goes from cpu to cpu in %.0f ns\n",
              others, line_ns);
}

void WriteJson(const std::string& path, const std::vector<Point>& points, double others,
               double line_ns) {
  nlohmann::json report = ReportOf(ERIS_BENCH_BUILD_TYPE);
  report.update({{"cpus_taken_by_others", others}, {"cache_line_ns", line_ns}});
  for (const Point& point : points) {
    const auto [over_min, over_max] =
        std::minmax_element(point.over_ns.begin(), point.over_ns.end());
    const auto [keys_min, keys_max] = std::minmax_element(point.keys_s.begin(), point.keys_s.end());
    report["points"].push_back({{"keys", point.keys},
                                {"aeus", point.aeus},
                                {"batch", point.batch},
                                {"outgoing", point.outgoing},
                                {"bare_ns", MedianOf(point.bare_ns)},
                                {"routed_ns", MedianOf(point.routed_ns)},
                                {"routing_ns", MedianOf(point.over_ns)},
                                {"routing_ns_min", *over_min},
                                {"routing_ns_max", *over_max},
                                {"keys_s", MedianOf(point.keys_s)},
                                {"keys_s_min", *keys_min},
                                {"keys_s_max", *keys_max},
                                {"refused", point.refused}});
  }
  WriteReport(path, report);
}

Flags Parse(int argc, char** argv) {
  Flags flags;
  ParseFlags(argc, argv,
             {{"--keys", flags.keys, 1, 1'000'000'000},
              {"--aeus", flags.aeus, 1, 64},
              {"--batches", flags.batches, 1, 1 << 16},
              {"--outgoing", flags.outgoing, 0, 1 << 15},
              {"--rounds", flags.rounds, 1, 1000},
              {"--ms", flags.ms, 1, 60'000},
              {"--turn", flags.turn, 1, 1 << 16},
              {"--way", flags.way},
              {"--only", flags.only},
              {"--json", flags.json}});
  if (flags.way != "aeus" && flags.way != "sessions") Die("--way: aeus or sessions");
  return flags;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) {
  using namespace eris::bench;
  const Flags flags = Parse(argc, argv);
  const std::vector<int> cpus = AllowedCpus();
  double line_ns = CacheLineNs(cpus);
  const OtherLoad load(cpus);
  const std::vector<Point> points = MeasureAll(flags, cpus);
  const double others = load.Cpus();
  line_ns = std::max(line_ns, CacheLineNs(cpus));
  if (flags.json != "-") Print(points, others, line_ns);
  if (!flags.json.empty()) WriteJson(flags.json, points, others, line_ns);
  return 0;
}
