// A small C++ client: start here to talk to an ERIS server. One Client is one channel; its calls
// are synchronous, blocking until the answer or the deadline. Many batches in flight:
// batch_stream.h. Ordered scans: scan_reader.h. Tables: table_client.h. Load balancing:
// balancer_client.h.
//
//   auto client = eris::client::Client::Connect({.server = "127.0.0.1:7411"});
//   (*client)->Create("orders", {.expected = {0, 6'000'001}});
//   (*client)->Upsert("orders", keys, values);
//   auto found = (*client)->Lookup("orders", keys);
//
// Keys are u64, encoded as include/eris/key_encoding.h says for objects of another key type; calls
// on such an object are told the type (ObjectInfo::key_type), in which the keys then travel. Keys
// of two parts are two columns:
//   (*client)->Upsert("lineitem", {orders, lines}, values, {ColumnType::kUint64, ColumnType::kUint64});
// A key that the type does not have, and columns of other parts than key_type, are InvalidArgument
// here, and nothing is sent. A key_type that is not the object's is InvalidArgument, too.
//
// Threads: every call from any thread, also at once.
// Errors: what the server says, with its code; Unavailable (no server, or it is stopping),
// DeadlineExceeded (of a write: the outcome is unknown), Internal (an answer that breaks the
// protocol).
#ifndef ERIS_CLIENTS_ERIS_CLIENT_H_
#define ERIS_CLIENTS_ERIS_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "clients/bytes_columns.h"
#include "clients/columns.h"
#include "clients/scan_reader.h"
#include "eris/engine.h"
#include "eris/options.h"
#include "eris/stats.h"
#include "eris/types.h"

namespace eris::client {

struct ConnectOptions {
  std::string server = "127.0.0.1:7411";  // host:port, or unix:path
  // Longest wait for the connection, and for the answer to each call.
  absl::Duration timeout = absl::Seconds(30);
  // A TCP connection of its own. Clients of one process to one server share one otherwise.
  bool own_connection = false;
};

struct ServerInfo {
  std::string version;  // "0.1.0 (commit 0123456789ab)"; empty: it does not say
  // A request of more bytes gets RESOURCE_EXHAUSTED, and ends its stream.
  uint64_t receive_message_bytes_max = 0;
};

class Client {
 public:
  // Blocks until it is connected or the first attempt has failed. It does not try again, so a
  // server that is still starting counts as none. Errors: InvalidArgument (options.server),
  // Unavailable (nobody listens, an unknown host, a server of another kind: at once; something that
  // takes the connection and says nothing: after the timeout).
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const ConnectOptions& options);
  ~Client();
  // The same connection, with another timeout for the answer to each call.
  std::unique_ptr<Client> WithTimeout(absl::Duration timeout) const;

  // Catalogue. Partition bounds of the results are those in force.
  absl::StatusOr<ObjectInfo> Create(const std::string& name, const CreateOptions& options);
  absl::Status Drop(const std::string& name);
  // As Engine::DropIfWritten. Errors: FailedPrecondition (others have written to it).
  absl::Status DropIfWritten(const std::string& name, ObjectId id, uint64_t rows);
  absl::StatusOr<ObjectInfo> Get(const std::string& name);
  absl::StatusOr<std::vector<ObjectInfo>> List();

  // Batches of 1 to kBatchKeysMax keys, any order; of a key that stands twice in an upsert the
  // later row wins. Not atomic across keys.
  absl::StatusOr<LookupResult> Lookup(const std::string& object, const KeyColumns& keys,
                                      const KeyTypes& key_type = {});
  // Result: the key was there before and its value was replaced.
  // Errors: InvalidArgument also when the spans differ in length.
  absl::StatusOr<RowBits> Upsert(const std::string& object, const KeyColumns& keys,
                                 absl::Span<const uint64_t> values, const KeyTypes& key_type = {});
  // Result: the key was there, and is gone.
  absl::StatusOr<RowBits> Erase(const std::string& object, const KeyColumns& keys,
                                const KeyTypes& key_type = {});

  // Conditional writes and counters, as Session::Write in include/eris/engine.h says. `expected`:
  // as many as keys for kCompareAndSet, else empty. OK also where some keys were refused:
  // WriteResult::refusal. Of the errors DeadlineExceeded, Cancelled and Unavailable leave the
  // outcome unknown; do not send adds again after one.
  absl::StatusOr<WriteResult> Write(const std::string& object, WriteMode mode,
                                    const KeyColumns& keys, absl::Span<const uint64_t> values,
                                    absl::Span<const uint64_t> expected = {},
                                    const KeyTypes& key_type = {});

  // Byte strings: the same on objects of ColumnType::kString, whose keys have one part (Erase serves
  // both). The values of a
  // batch have at most kBatchValueBytesMax bytes together, sent or answered. What finds no room in
  // an answer is not executed: BytesLookupResult::refusal; ask for those keys again.
  // `values_bytes_max` asks for smaller answers; 0: the limit. Errors: FailedPrecondition (the
  // object's values are u64).
  absl::StatusOr<BytesLookupResult> LookupBytes(const std::string& object,
                                                absl::Span<const uint64_t> keys,
                                                uint64_t values_bytes_max = 0,
                                                ColumnType key_type = ColumnType::kUint64);
  absl::StatusOr<RowBits> UpsertBytes(const std::string& object, absl::Span<const uint64_t> keys,
                                      absl::Span<const absl::string_view> values,
                                      ColumnType key_type = ColumnType::kUint64);
  absl::StatusOr<BytesWriteResult> WriteBytes(const std::string& object, WriteMode mode,
                                              absl::Span<const uint64_t> keys,
                                              absl::Span<const absl::string_view> values,
                                              absl::Span<const absl::string_view> expected = {},
                                              ColumnType key_type = ColumnType::kUint64);

  // Opens an ordered scan of `range`, of at most `limit` rows (0: all). Errors come from Next.
  // The client must outlive the reader.
  std::unique_ptr<ScanReader> Scan(const std::string& object, const KeyRange& range,
                                   uint64_t limit = 0, const KeyTypes& key_type = {});

  // The same, with direction, filter on the values, and keys only.
  std::unique_ptr<ScanReader> ScanWith(const std::string& object, const ScanOptions& options,
                                       const KeyTypes& key_type = {});

  // Counts and adds up the rows of a range where they are, as Session::Aggregate in
  // include/eris/engine.h says.
  absl::StatusOr<RangeAggregate> Aggregate(const std::string& object,
                                           const AggregateOptions& options,
                                           const KeyTypes& key_type = {});

  // Which program answers, and what it takes at most. Errors: Unimplemented (an older server).
  absl::StatusOr<ServerInfo> Server();
  absl::StatusOr<EngineStats> Stats();
  absl::StatusOr<std::string> Topology();
  // What the system has given for data, and what each object has of it.
  absl::StatusOr<MemoryStats> Memory();
  // Where the server's memory lies, as its kernel says. Errors: InvalidArgument (too many pages),
  // Unimplemented or PermissionDenied (the server's system does not tell).
  absl::StatusOr<MemoryVerification> VerifyMemory(const VerifyMemoryOptions& options = {});

  // For callers that need the protocol itself: client_stubs.h.
  struct Stubs;
  Stubs& stubs() const { return *stubs_; }
  const ConnectOptions& options() const { return options_; }

 private:
  Client(const ConnectOptions& options, std::shared_ptr<Stubs> stubs);

  // Immutable after construction.
  const ConnectOptions options_;
  const std::shared_ptr<Stubs> stubs_;
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_ERIS_CLIENT_H_
