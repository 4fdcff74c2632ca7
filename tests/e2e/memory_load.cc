// Loads that press a server against its memory, each for some seconds:
//
//   memory_load SECONDS LOAD...
//
//   batches   eight connections with eight calls each write batches of 16 MiB, at most what the
//             server takes, over the same keys
//   fill      four connections write ever new keys until all are refused
//   strings   byte strings of 1 MiB, written until they are refused, and read in between
//   rows      rows of 64 columns and two long strings, written until they are refused
//   scans     scans of all tables, read
//   groups    group-bys of as many groups as there may be
//   unread    scans whose answers are opened and not read
//   snapshots held while what they see is written again
//   streams   many streams at once, each with writes in flight
//   halves    requests that arrive in part, and stay so
//   nested    requests of catalogue, balancer and scans that take fifty times their bytes once they
//             are parsed
//
// All the while one connection looks a key up, which has to be found. Exit code 0: every answer was
// OK or a refusal that is expected (RESOURCE_EXHAUSTED; INVALID_ARGUMENT: too large for any time;
// ABORTED: a snapshot was given up; UNAVAILABLE: gRPC or the door has closed or dropped the
// connection), every refusal named a limit, and reads went on. The server is ERIS_SERVER. Prints a
// line per load.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "eris/v1/admin.grpc.pb.h"
#include "tests/e2e/memory_calls.h"

namespace eris {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kProbeKey = 7;

// What the answers of one load were. Thread-safe.
class Tally {
 public:
  explicit Tally(std::string name) : name_(std::move(name)) {}

  void Add(const grpc::Status& status) {
    absl::MutexLock lock(&mu_);
    ++counts_[status.error_code()];
    const std::string text = status.error_message();
    switch (status.error_code()) {
      case StatusCode::OK:
        return;
      case StatusCode::ABORTED:
        break;
      case StatusCode::RESOURCE_EXHAUSTED:
        if (Names(text)) break;
        ++bad_;
        break;
      case StatusCode::INVALID_ARGUMENT:
        // A request that needs more than all calls together may hold.
        if (absl::StrContains(text, "in_flight_bytes_max")) break;
        ++bad_;
        break;
      case StatusCode::UNAVAILABLE:
        // Unfinished requests took more than all may, so the door cut the connection with the most;
        // or gRPC's last resort when its buffers have used its quota up: it closes a connection, and
        // drops one that is about to be made.
        if (absl::StrContains(text, "GOAWAY") || absl::StrContains(text, "failed to connect") ||
            absl::StrContains(text, "Socket closed") ||
            absl::StrContains(text, "Connection reset by peer") ||
            absl::StrContains(text, "Broken pipe")) {
          break;
        }
        [[fallthrough]];
      default:
        ++bad_;
    }
    if (examples_.size() < 6) examples_.emplace(text.substr(0, 160), status.error_code());
  }
  // Returns whether all of them were expected.
  bool Report() {
    absl::MutexLock lock(&mu_);
    std::string text = absl::StrCat("load ", name_, ":");
    for (const auto& [code, count] : counts_) absl::StrAppend(&text, " code ", code, " x ", count);
    for (const auto& [example, code] : examples_) {
      absl::StrAppend(&text, "\n    code ", code, ": ", example);
    }
    std::printf("%s%s\n", text.c_str(), bad_ > 0 ? "\n    UNEXPECTED" : "");
    std::fflush(stdout);
    return bad_ == 0;
  }
  uint64_t count(StatusCode code) {
    absl::MutexLock lock(&mu_);
    return counts_[code];
  }

 private:
  // The limit, by the name of an option or by its figure. A message that is too large may be cut
  // off before gRPC has said so.
  static bool Names(const std::string& text) {
    return absl::StrContains(text, "limit") || absl::StrContains(text, "_max") ||
           absl::StrContains(text, "max ") || absl::StrContains(text, "memory") ||
           absl::StrContains(text, "chunks") || absl::StrContains(text, "RST_STREAM") ||
           absl::StrContains(text, "bytes for all queries") || absl::StrContains(text, "groups") ||
           absl::StrContains(text, "are in use") ||
           absl::StrContains(text, "have not so many left");
  }

  const std::string name_;
  absl::Mutex mu_;
  std::map<int, uint64_t> counts_;
  std::map<std::string, int> examples_;
  uint64_t bad_ = 0;
};

struct Load {
  int seconds;
  Clock::time_point end;
  Tally& tally;
  bool Over() const { return Clock::now() >= end; }
};

void InThreads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

// Batches of 16 MiB, halved after each write that is refused because it is too large.
void Batches(const Load& load) {
  InThreads(8, [&](int) {
    const auto stub = v1::Data::NewStub(NewConnection());
    InThreads(8, [&](int call) {
      const uint64_t first = 1000 + static_cast<uint64_t>(call);
      uint64_t keys = 1 << 20;
      v1::WriteRequest request = UpsertOf(first, keys);
      while (!load.Over()) {
        const grpc::Status status = Write(*stub, request);
        load.tally.Add(status);
        if (IsTooLarge(status) && keys > 1024) request = UpsertOf(first, keys /= 2);
      }
    });
  });
}

void Fill(const Load& load) {
  std::atomic<uint64_t> next{1 << 22};
  InThreads(4, [&](int) {
    const auto stub = v1::Data::NewStub(NewConnection());
    while (!load.Over()) {
      constexpr uint64_t kKeys = 65536;
      // relaxed: keys of its own are all that each wants.
      const uint64_t first = next.fetch_add(kKeys * 2048, std::memory_order_relaxed);
      load.tally.Add(Write(*stub, UpsertOf(first, kKeys)));
    }
  });
}

void LongStrings(const Load& load) {
  load.tally.Add(CreateIndex("strings", v1::COLUMN_TYPE_BYTES));
  std::atomic<uint64_t> next{0};
  InThreads(8, [&](int) {
    const auto stub = v1::Data::NewStub(NewConnection());
    v1::WriteRequest request = UpsertOf("strings", {}, Strings(1, (1 << 20) - 64));
    while (!load.Over()) {
      const uint64_t key = next.fetch_add(1, std::memory_order_relaxed);
      *request.mutable_columns(0) = Numbers(key, 1);
      load.tally.Add(Write(*stub, request));
      v1::LookupRequest lookup;
      v1::LookupResponse found;
      lookup.set_object("strings");
      *lookup.add_keys() = Numbers(key / 8, 16);
      Context context;
      load.tally.Add(stub->Lookup(&context, lookup, &found));
    }
  });
}

void WideRows(const Load& load) {
  load.tally.Add(CreateWide());
  std::atomic<uint64_t> next{0};
  InThreads(6, [&](int thread) {
    const auto stub = v1::Data::NewStub(NewConnection());
    const uint64_t rows = thread % 2 == 0 ? 2048 : 16;
    const uint64_t string_bytes = thread % 2 == 0 ? 100 : 60'000;
    while (!load.Over()) {
      v1::WriteRequest request;
      request.set_object("wide");
      request.set_mode(v1::WRITE_MODE_APPEND);
      for (int i = 0; i < kWideColumns; ++i) {
        *request.add_columns() = Numbers(next.fetch_add(rows, std::memory_order_relaxed), rows);
      }
      for (int i = 0; i < 2; ++i) *request.add_columns() = Strings(rows, string_bytes);
      load.tally.Add(Write(*stub, request));
    }
  });
}

void Scans(const Load& load) {
  load.tally.Add(CreateWide());
  InThreads(8, [&](int) {
    const auto stub = v1::Data::NewStub(NewConnection());
    while (!load.Over()) load.tally.Add(ReadAll(*stub, ScanOf("wide")));
  });
}

void Groups(const Load& load) {
  load.tally.Add(CreateWide());
  InThreads(8, [&](int thread) {
    const auto stub = v1::Data::NewStub(NewConnection());
    v1::ScanRequest request = ScanOf("wide");
    request.mutable_query()->add_group_by(absl::StrCat("c", thread));
    if (thread % 2 == 0) request.mutable_query()->add_group_by("s0");
    for (int i = 0; i < 32; ++i) {
      v1::AggregateColumn* sum = request.mutable_query()->add_aggregates();
      sum->set_function(v1::AggregateColumn::FUNCTION_SUM);
      sum->set_name(absl::StrCat("sum", i));
      sum->mutable_argument()->set_kind(v1::Expression::KIND_COLUMN);
      sum->mutable_argument()->set_column(absl::StrCat("c", i));
    }
    while (!load.Over()) load.tally.Add(ReadAll(*stub, request));
  });
}

void Unread(const Load& load) {
  load.tally.Add(CreateWide());
  InThreads(32, [&](int thread) {
    const auto stub = v1::Data::NewStub(NewConnection());
    while (!load.Over()) {
      Context context;
      v1::ScanResponse rows;
      const auto reader = stub->Scan(&context, ScanOf(thread % 2 == 0 ? "wide" : "probe"));
      static_cast<void>(reader->Read(&rows));
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      context.TryCancel();
      const grpc::Status status = reader->Finish();
      load.tally.Add(status.error_code() == StatusCode::CANCELLED ? grpc::Status::OK : status);
    }
  });
}

void Snapshots(const Load& load) {
  const auto stub = v1::Data::NewStub(NewConnection());
  while (!load.Over()) {
    v1::TakeSnapshotRequest take;
    take.set_time_to_live_ms(2000);
    v1::TakeSnapshotResponse taken;
    Context context;
    load.tally.Add(stub->TakeSnapshot(&context, take, &taken));
    InThreads(4, [&](int thread) {
      load.tally.Add(Write(*stub, UpsertOf(1000 + 100'000 * static_cast<uint64_t>(thread), 100'000,
                                           taken.snapshot())));
    });
  }
}

void Streams(const Load& load) {
  InThreads(16, [&](int thread) {
    const auto stub = v1::Data::NewStub(NewConnection());
    Context context;
    const auto stream = stub->WriteStream(&context);
    const v1::WriteRequest request =
        UpsertOf(1000 + 50'000 * static_cast<uint64_t>(thread), 50'000);
    std::thread reader([&] {
      v1::WriteStreamResponse response;
      while (stream->Read(&response)) {
        const bool done = response.status().code() == 0;
        load.tally.Add(StatusOf(done ? response.response().refusal() : response.status()));
      }
    });
    while (!load.Over() && stream->Write(request)) {
    }
    stream->WritesDone();
    reader.join();
    load.tally.Add(stream->Finish());
  });
}

// A stream of which nothing but a part of one large message has been sent is what a client looks
// like that is slow; as many as the server lets arrive.
void Halves(const Load& load) {
  InThreads(24, [&](int) {
    const auto stub = v1::Data::NewStub(NewConnection());
    uint64_t keys = 1 << 20;
    while (!load.Over()) {
      v1::WriteResponse response;
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(30));
      const grpc::Status status = stub->Write(&context, UpsertOf(1000, keys), &response);
      const bool cut = status.error_code() == StatusCode::DEADLINE_EXCEEDED;
      load.tally.Add(cut ? grpc::Status::OK : status);
      if (absl::StrContains(status.error_message(), "larger than max") && keys > 1024) keys /= 2;
    }
  });
}

// All of them are refused: for their size, for want of memory, or for what they ask. Parsed at once
// those under way would take gigabytes.
void Nested(const Load& load) {
  InThreads(8, [&](int) {
    const auto channel = NewConnection();
    const auto catalog = v1::Catalog::NewStub(channel);
    const auto data = v1::Data::NewStub(channel);
    const auto admin = v1::Admin::NewStub(channel);
    InThreads(8, [&](int call) {
      int parts = 4 << 20;  // of two bytes
      while (!load.Over()) {
        Context context;
        grpc::Status status;
        if (call % 4 == 1) {
          v1::ScanRequest request = ScanOf("wide");
          for (int i = 0; i < parts; ++i) request.mutable_query()->add_group_by();
          status = ReadAll(*data, request);
        } else if (call % 4 == 3) {
          v1::PlanBalanceRequest request;
          v1::PlanBalanceResponse response;
          request.set_object(std::string(2 * static_cast<size_t>(parts), 'x'));
          status = admin->PlanBalance(&context, request, &response);
        } else {
          v1::CreateObjectRequest request;
          v1::CreateObjectResponse response;
          request.set_name("nested");
          for (int i = 0; i < parts; ++i) {
            call % 4 == 0 ? static_cast<void>(request.add_split_keys())
                          : static_cast<void>(request.mutable_schema()->add_columns());
          }
          status = catalog->CreateObject(&context, request, &response);
        }
        const bool refused = status.error_code() == StatusCode::INVALID_ARGUMENT ||
                             status.error_code() == StatusCode::NOT_FOUND;
        load.tally.Add(refused ? grpc::Status::OK : status);
        if (IsTooLarge(status) && parts > 4096) parts /= 2;
      }
    });
  });
}

// Looks one key up until told to stop. It has to be found within some tries, which are counted.
class Probe {
 public:
  Probe() : thread_([this] { Run(); }) {}
  bool Stop() {
    stop_.store(true, std::memory_order_relaxed);  // a flag; the join publishes the rest
    thread_.join();
    std::printf("probe: %d reads, %d of them not with the first try, %d not found\n", reads_,
                retried_, failed_);
    for (const std::string& text : texts_) std::printf("    %s\n", text.c_str());
    return failed_ == 0 && reads_ > 0;
  }

 private:
  bool Read(v1::Data::Stub& stub) {
    v1::LookupRequest request;
    v1::LookupResponse response;
    request.set_object("probe");
    *request.add_keys() = Numbers(kProbeKey, 1);
    Context context(20);
    const grpc::Status status = stub.Lookup(&context, request, &response);
    if (!status.ok() && texts_.size() < 4) {
      texts_.push_back(absl::StrCat("code ", status.error_code(), ": ", status.error_message()));
    }
    return status.ok() && response.found().size() == 1 && (response.found()[0] & 1) != 0;
  }
  void Run() {
    const auto stub = v1::Data::NewStub(NewConnection());
    while (!stop_.load(std::memory_order_relaxed)) {
      ++reads_;
      int tries = 0;
      while (tries < 10 && !Read(*stub)) {
        ++tries;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      retried_ += tries > 0;
      failed_ += tries == 10;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  std::atomic<bool> stop_{false};
  int reads_ = 0;
  int retried_ = 0;
  int failed_ = 0;
  std::vector<std::string> texts_;
  std::thread thread_;
};

int Run(int seconds, const std::vector<std::string>& names) {
  const std::map<std::string, std::function<void(const Load&)>> loads = {
      {"batches", Batches}, {"fill", Fill},     {"strings", LongStrings}, {"rows", WideRows},
      {"scans", Scans},     {"groups", Groups}, {"unread", Unread},       {"snapshots", Snapshots},
      {"streams", Streams}, {"halves", Halves}, {"nested", Nested}};
  const grpc::Status created = CreateIndex("probe", v1::COLUMN_TYPE_UINT64);
  if (!created.ok() && created.error_code() != StatusCode::ALREADY_EXISTS) {
    std::fprintf(stderr, "cannot create: %s\n", created.error_message().c_str());
    return 1;
  }
  const auto stub = v1::Data::NewStub(NewConnection());
  if (created.ok() && !Write(*stub, UpsertOf(kProbeKey, 1, 1)).ok()) return 1;
  Probe probe;
  bool good = true;
  for (const std::string& name : names) {
    const auto found = loads.find(name);
    if (found == loads.end()) {
      std::fprintf(stderr, "no load is called %s\n", name.c_str());
      return 2;
    }
    Tally tally(name);
    found->second({seconds, Clock::now() + std::chrono::seconds(seconds), tally});
    good = tally.Report() && good;
  }
  return probe.Stop() && good ? 0 : 1;
}

}  // namespace
}  // namespace eris

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: memory_load SECONDS LOAD...\n");
    return 2;
  }
  return eris::Run(std::atoi(arguments[1]), {arguments + 2, arguments + count});
}
