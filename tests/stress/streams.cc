// The pipelines once more, over gRPC: streams of writes to a server in this process, on the same
// objects as the sessions.
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "clients/batch_stream.h"
#include "server/rpc_server.h"
#include "tests/stress/draw.h"
#include "tests/stress/loads.h"
#include "tests/stress/pipeline_check.h"
#include "tests/unit/server/io_thread.h"

namespace eris::stress {
namespace {

using test::AnyKind;

constexpr AnyKind kStreamKinds[] = {AnyKind::kIndex, AnyKind::kTwoParts, AnyKind::kHash,
                                    AnyKind::kBytes, AnyKind::kTable,    AnyKind::kSigned};
constexpr uint32_t kStreamedUnderWay = 16;
constexpr uint64_t kFirstNumber = 1000;  // their keys are none of the sessions'

class Streams final : public Load {
 public:
  explicit Streams(World& world) : world_(world) {
    server::ServerConfig config;
    config.listen = "127.0.0.1:0";
    config.version = "of the stress";
    auto started = server::RpcServer::Start(config, &world.engine(), io_.io());
    if (!started.ok()) {
      std::fprintf(stderr, "stress: %s\n", started.status().ToString().c_str());
      std::exit(1);
    }
    server_ = *std::move(started);
  }

  std::vector<std::function<void()>> Threads() override {
    std::vector<std::function<void()>> threads;
    for (uint32_t i = 0; i < world_.options().streams; ++i) {
      threads.emplace_back([this, i] { Run(i); });
    }
    return threads;
  }
  void CheckEnd() override { server_->Shutdown(absl::Seconds(10)); }

 private:
  void Run(uint32_t stream_number) {
    const AnyKind kind =
        kStreamKinds[(stream_number + world_.options().seed) % std::size(kStreamKinds)];
    const std::string name = PipelineName(kind);
    const std::string where = absl::StrCat("stream ", stream_number, " on ", name);
    auto client = client::Client::Connect({.server = server_->address(), .own_connection = true});
    if (!client.ok()) return StreamFault(where + ", connect", client.status());
    const auto object = (*client)->Get(name);
    if (!object.ok()) return StreamFault(where + ", describe", object.status());
    PipelineCheck check(world_, where);
    Draw draw(kind, world_.SeedOf(where), /*streamed=*/true);
    base::Mutex mu;
    std::deque<Batch> sent;  // not answered yet
    client::WriteStream stream(
        **client, {.in_flight_max = kStreamedUnderWay, .stall_timeout = absl::Seconds(120)},
        [&](uint64_t, absl::Status status, client::WriteResult result) {
          Batch batch;
          {
            base::MutexLock lock(&mu);
            batch = std::move(sent.front());
            sent.pop_front();
          }
          check.Take(batch, AnswersOf(kind, batch, status, result, where));
        });
    while (!world_.Ending()) {
      const Batch batch = draw.Next();
      SentRows rows(kind, batch, kFirstNumber + stream_number);
      {
        base::MutexLock lock(&mu);
        sent.push_back(batch);
      }
      const WriteBatch write = rows.write();
      const absl::Status status = stream.Send(*object, write.mode, write.rows, write.expected);
      if (!status.ok()) {
        StreamFault(where + ", send", status);
        break;
      }
    }
    const absl::Status finished = stream.Finish();
    if (!finished.ok()) StreamFault(where + ", end", finished);
  }

  // With what the server's door knows: a lost connection looks alike from the client's side,
  // whether the server has cut it or never saw it.
  void StreamFault(const std::string& where, const absl::Status& status) {
    const server::DoorStats door = server_->ReadDoor();
    std::string text = absl::StrCat(where, ": ", status.ToString(), " (the door: ", door.open,
                                    " open, ", door.accepted, " accepted");
    for (size_t cause = 0; cause < server::kDoorCauses; ++cause) {
      if (door.closed[cause] == 0) continue;
      absl::StrAppend(&text, ", ", door.closed[cause], " ", server::kDoorCauseNames[cause]);
    }
    world_.Fault(text + ")");
  }

  Answers AnswersOf(AnyKind kind, const Batch& batch, const absl::Status& status,
                    const client::WriteResult& result, const std::string& where) {
    // An answer without columns: none was executed, for want of memory or room for it.
    Answers answers{std::vector<Answer>(batch.numbers.size())};
    if (!status.ok()) {
      world_.OkOrRefused(status, where);
      return answers;
    }
    world_.OkOrRefused(result.refusal, where);
    for (size_t i = 0; i < batch.numbers.size(); ++i) {
      Answer& one = answers.keys[i];
      one = {.executed = result.executed[i], .existed = result.existed[i]};
      if (!one.executed || batch.verb <= Verb::kLookup) continue;  // no conditional write
      one.applied = result.applied[i];
      if (one.existed || batch.verb == Verb::kAdd)
        one.value = test::AnyValueAt(kind, test::ViewOf(result.values.columns[0]), i);
    }
    return answers;
  }

  World& world_;
  server::IoThread io_;
  std::unique_ptr<server::RpcServer> server_;
};

}  // namespace

std::unique_ptr<Load> MakeStreams(World& world) { return std::make_unique<Streams>(world); }

}  // namespace eris::stress
