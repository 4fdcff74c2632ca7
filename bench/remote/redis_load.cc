// Puts load on a Redis server as `eris bench` does on ours: the same keys (eight bytes of the same
// sparse set) and the same values, each one checked.
//
//   redis_load --port P [--keys N] [--batch B] [--in-flight F] [--connections C] [--seconds S]
//              [--operation load|lookup|upsert]
//
// A request is an MGET or MSET of B keys (GET and SET for B = 1); F requests are in flight over C
// connections, F / C pipelined on each, by one thread. Prints one JSON object. Ends with 1 after a
// wrong value or an error.
#include <hiredis/hiredis.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "clients/load/key_set.h"
#include "clients/load/random.h"

namespace eris::bench {
namespace {

struct Flags {
  int port = 6379;
  uint64_t keys = 1'000'000;
  uint32_t batch = 256;
  uint32_t in_flight = 64;
  uint32_t connections = 1;
  double seconds = 2;
  std::string operation = "lookup";
};

double NowSeconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Request {
  std::vector<uint64_t> keys;
  double sent_at = 0;
};

struct Connection {
  redisContext* redis = nullptr;
  std::deque<Request> under_way;
  ~Connection() {
    if (redis != nullptr) redisFree(redis);
  }
};

class Load {
 public:
  explicit Load(const Flags& flags)
      : flags_(flags), key_set_(flags.keys, load::Layout::kSparse), random_(1) {}

  int Run() {
    for (uint32_t i = 0; i < flags_.connections; ++i) {
      auto connection = std::make_unique<Connection>();
      connection->redis = redisConnect("127.0.0.1", flags_.port);
      if (connection->redis == nullptr || connection->redis->err != 0) {
        std::fprintf(stderr, "redis_load: cannot connect to port %d: %s\n", flags_.port,
                     connection->redis == nullptr ? "no memory" : connection->redis->errstr);
        return 1;
      }
      connections_.push_back(std::move(connection));
    }
    const double begin = NowSeconds(CLOCK_MONOTONIC), cpu = NowSeconds(CLOCK_THREAD_CPUTIME_ID);
    for (uint32_t i = 0; i < flags_.in_flight; ++i) {
      if (!Send(*connections_[i % connections_.size()])) break;
    }
    const bool loading = flags_.operation == "load";
    for (size_t at = 0, idle = 0; idle < connections_.size(); at = (at + 1) % connections_.size()) {
      Connection& connection = *connections_[at];
      if (connection.under_way.empty()) {
        ++idle;
        continue;
      }
      idle = 0;
      if (!Receive(connection)) return 1;
      const bool over =
          loading ? next_ >= flags_.keys : NowSeconds(CLOCK_MONOTONIC) - begin > flags_.seconds;
      if (!over && !Send(connection)) return 1;
    }
    Print(NowSeconds(CLOCK_MONOTONIC) - begin, NowSeconds(CLOCK_THREAD_CPUTIME_ID) - cpu);
    return wrong_ == 0 ? 0 : 1;
  }

 private:
  bool Send(Connection& connection) {
    Request request;
    for (uint32_t i = 0; i < flags_.batch; ++i) {
      if (flags_.operation == "load" && next_ >= flags_.keys) break;
      request.keys.push_back(
          key_set_.Key(flags_.operation == "load" ? next_++ : random_.Below(flags_.keys)));
    }
    if (request.keys.empty()) return false;
    const bool writes = flags_.operation != "lookup";
    const bool single = flags_.batch == 1;
    const char* const name = writes ? (single ? "SET" : "MSET") : (single ? "GET" : "MGET");
    words_.assign(1, name);
    lengths_.assign(1, std::strlen(name));
    values_.clear();
    values_.reserve(request.keys.size());
    for (const uint64_t& key : request.keys) {
      words_.push_back(reinterpret_cast<const char*>(&key));
      lengths_.push_back(sizeof key);
      if (!writes) continue;
      values_.push_back(load::ValueOf(key));
      words_.push_back(reinterpret_cast<const char*>(&values_.back()));
      lengths_.push_back(sizeof(uint64_t));
    }
    request.sent_at = NowSeconds(CLOCK_MONOTONIC);
    if (redisAppendCommandArgv(connection.redis, static_cast<int>(words_.size()), words_.data(),
                               lengths_.data()) != REDIS_OK) {
      return false;
    }
    // Write now, not at the next wait for an answer.
    for (int done = 0; done == 0;) {
      if (redisBufferWrite(connection.redis, &done) != REDIS_OK) return false;
    }
    connection.under_way.push_back(std::move(request));
    return true;
  }

  bool Receive(Connection& connection) {
    redisReply* reply = nullptr;
    if (redisGetReply(connection.redis, reinterpret_cast<void**>(&reply)) != REDIS_OK) {
      std::fprintf(stderr, "redis_load: %s\n", connection.redis->errstr);
      return false;
    }
    const Request request = std::move(connection.under_way.front());
    connection.under_way.pop_front();
    latencies_us_.push_back((NowSeconds(CLOCK_MONOTONIC) - request.sent_at) * 1e6);
    keys_ += request.keys.size();
    ++requests_;
    const bool failed = reply->type == REDIS_REPLY_ERROR;
    if (failed) {
      std::fprintf(stderr, "redis_load: %s\n", reply->str);
    } else if (flags_.operation == "lookup") {
      for (size_t i = 0; i < request.keys.size(); ++i) {
        const redisReply* const one = flags_.batch == 1 ? reply : reply->element[i];
        uint64_t value = 0;
        if (one->type == REDIS_REPLY_STRING && one->len == sizeof value) {
          std::memcpy(&value, one->str, sizeof value);
        }
        if (value != load::ValueOf(request.keys[i])) ++wrong_;
      }
    }
    freeReplyObject(reply);
    return !failed;
  }

  void Print(double seconds, double cpu_seconds) {
    std::sort(latencies_us_.begin(), latencies_us_.end());
    const auto percentile = [&](size_t percent) {
      return latencies_us_[std::min(latencies_us_.size() - 1,
                                    latencies_us_.size() * percent / 100)];
    };
    std::printf(
        "{\"operation\": \"%s\", \"batch\": %u, \"in_flight\": %u, \"connections\": %u, "
        "\"requests_per_second\": %.1f, \"keys_per_second\": %.1f, \"p50_us\": %.1f, "
        "\"p99_us\": %.1f, \"client_cpu\": %.3f, \"wrong\": %llu}\n",
        flags_.operation.c_str(), flags_.batch, flags_.in_flight, flags_.connections,
        static_cast<double>(requests_) / seconds, static_cast<double>(keys_) / seconds,
        percentile(50), percentile(99), cpu_seconds / seconds,
        static_cast<unsigned long long>(wrong_));
  }

  const Flags& flags_;
  const load::KeySet key_set_;
  load::Random random_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<const char*> words_;
  std::vector<size_t> lengths_;
  std::vector<uint64_t> values_;
  std::vector<double> latencies_us_;
  uint64_t next_ = 0;
  uint64_t keys_ = 0;
  uint64_t requests_ = 0;
  uint64_t wrong_ = 0;
};

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) {
  eris::bench::Flags flags;
  CLI::App app("Load on a Redis server of this machine.");
  app.add_option("--port", flags.port)->check(CLI::Range(1, 65535));
  app.add_option("--keys", flags.keys)->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40));
  app.add_option("--batch", flags.batch)->check(CLI::Range(1u, 65536u));
  app.add_option("--in-flight", flags.in_flight)->check(CLI::Range(1u, 4096u));
  app.add_option("--connections", flags.connections)->check(CLI::Range(1u, 4096u));
  app.add_option("--seconds", flags.seconds)->check(CLI::Range(0.1, 3600.0));
  app.add_option("--operation", flags.operation)
      ->check(CLI::IsMember({"load", "lookup", "upsert"}));
  CLI11_PARSE(app, argc, argv);
  if (flags.connections > flags.in_flight) flags.connections = flags.in_flight;
  return eris::bench::Load(flags).Run();
}
