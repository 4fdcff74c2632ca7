// A small C++ client: start here to talk to an ERIS server. One Client is one channel; its calls
// are synchronous, blocking until the answer or the deadline. Many batches in flight:
// batch_stream.h. Scans: scan_reader.h. Queries over several objects: query_reader.h. Load
// balancing: balancer_client.h.
//
//   auto client = eris::client::Client::Connect({.server = "127.0.0.1:7411"});
//   auto orders = (*client)->Create("orders", {.expected = {0, 6'000'001}});
//   (*client)->Write(*orders, WriteMode::kUpsert, keys, values);
//   auto answer = (*client)->Lookup(*orders, keys);  // answer->found[i],
//   answer->rows.Uint64s(0)[i]
//
// Every object has a schema. Calls take the ObjectInfo from Create, Get or List (they use its name,
// kind and schema), and columns of native values of the schema's types:
//   OwnedRows rows{.rows = 2, .columns = {NumberColumn<int64_t>(ids), StringColumn(names)}};
//   (*client)->Write(*people, WriteMode::kUpsert, rows.view());
// Bounds of ranges are u64, encoded as include/eris/key_encoding.h says.
//
// Threads: any thread may make each call, concurrently.
// Errors: those of the server, with its code (Unauthenticated: it knows no such token or
// certificate; PermissionDenied: the caller's role or objects); InvalidArgument (columns that do
// not fit the schema, a bound outside the key type: nothing was sent), Unavailable (no server, or
// it is stopping), DeadlineExceeded (the outcome of a write is unknown), Internal (an answer that
// violates the protocol).
#ifndef ERIS_CLIENTS_ERIS_CLIENT_H_
#define ERIS_CLIENTS_ERIS_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "clients/client_security.h"
#include "clients/query_reader.h"
#include "clients/rows.h"
#include "clients/scan_reader.h"
#include "eris/batch.h"
#include "eris/options.h"
#include "eris/query.h"
#include "eris/stats.h"
#include "eris/types.h"

namespace eris::client {

struct ConnectOptions {
  std::string server = "127.0.0.1:7411";  // host:port, or unix:path
  // Longest wait for the connection, and for the answer to each call.
  absl::Duration timeout = absl::Seconds(30);
  // Uses a separate TCP connection. Otherwise the clients of one process share one connection to a
  // server.
  bool own_connection = false;
  // TLS and the token, for servers that ask for them.
  ClientSecurity security{};
};

struct ServerInfo {
  std::string version;  // "0.1.0 (commit 0123456789ab)"; empty: unknown
  // A request with more bytes gets RESOURCE_EXHAUSTED, and ends its stream.
  uint64_t receive_message_bytes_max = 0;
  absl::Duration uptime;
  uint64_t calls = 0;  // since its start, this one included; a stream is one call
  uint64_t calls_in_flight = 0;
  uint64_t in_flight_bytes = 0;  // of requests and answers under way
  uint64_t in_flight_bytes_max = 0;
};

struct RunningQuery {
  uint64_t id = 0;
  std::string peer;  // the client's address
  absl::Duration age;
  bool sending = false;  // otherwise its answer is being computed
  uint64_t rows_sent = 0;
};

struct LookupResult {
  // The requested columns, as many rows as keys. A key that was not found is unspecified, in a
  // table null.
  OwnedRows rows;
  RowBits found;
  RowBits executed;      // clear: the answer had no room for the row's strings; see `refusal`
  absl::Status refusal;  // why some keys were not executed; OK: all were
};

struct WriteResult {
  uint64_t written = 0;  // rows stored, or erased
  uint64_t refused = 0;  // rows that changed nothing and can be sent again
  // For appends all three have no bits.
  RowBits existed;       // the key was there before
  RowBits applied;       // the row was written
  RowBits executed;      // clear: refused; see `refusal`
  OwnedRows values;      // conditional modes: the value column, as WriteMode describes
  absl::Status refusal;  // why some rows were refused; OK: none were
};

class Client {
 public:
  // Blocks until it is connected or the first attempt has failed. It does not retry, so a server
  // that is still starting counts as absent. Errors: InvalidArgument (options.server,
  // options.security), those of the system (a file cannot be read), Unavailable
  // (nothing listens, an unknown host, another kind of server: at once; a peer that accepts the
  // connection but does not respond: after the timeout).
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const ConnectOptions& options);
  ~Client();
  // The same connection, with another timeout for the answer to each call.
  std::unique_ptr<Client> WithTimeout(absl::Duration timeout) const;

  // Catalogue. Partition bounds of the results are the current ones.
  absl::StatusOr<ObjectInfo> Create(const std::string& name, const CreateOptions& options);
  absl::Status Drop(const std::string& name);
  // As Engine::DropIfWritten. Errors: FailedPrecondition (other clients have written to it).
  absl::Status DropIfWritten(const std::string& name, ObjectId id, uint64_t rows);
  absl::StatusOr<ObjectInfo> Get(const std::string& name);
  absl::StatusOr<std::vector<ObjectInfo>> List();

  // Looks up rows by their keys, in any order. `keys`: only the key columns, in the key's order.
  // `columns`: the columns to return, by name; empty: all outside the key. `answer_bytes_max`:
  // limit for the strings of the answer; 0: kBatchValueBytesMax. Keys whose strings have no room
  // are not executed: see LookupResult::refusal, and ask for them again. Errors: FailedPrecondition
  // (a heap table).
  absl::StatusOr<LookupResult> Lookup(const ObjectInfo& object, const RowView& keys,
                                      const std::vector<std::string>& columns = {},
                                      uint64_t answer_bytes_max = 0);
  // Writes rows as described at WriteMode in include/eris/batch.h. `rows`: all columns of the
  // object; for kErase the key columns. `expected`: for kCompareAndSet the value column. Not atomic
  // across rows. OK even if some rows were refused: see WriteResult::refusal. After
  // DeadlineExceeded, Cancelled and Unavailable the outcome is unknown; do not repeat adds then.
  absl::StatusOr<WriteResult> Write(const ObjectInfo& object, WriteMode mode, const RowView& rows,
                                    const RowView& expected = {});
  // The same for objects whose keys and values are u64. Spans of different lengths are
  // InvalidArgument.
  absl::StatusOr<LookupResult> Lookup(const ObjectInfo& object, const KeyColumns& keys);
  absl::StatusOr<WriteResult> Write(const ObjectInfo& object, WriteMode mode,
                                    const KeyColumns& keys, absl::Span<const uint64_t> values = {},
                                    absl::Span<const uint64_t> expected = {});

  // Opens a scan; errors are returned by Next. `snapshot`: from TakeSnapshot; 0: the scan takes its
  // own. The query's own snapshot is ignored. The client must outlive the reader.
  std::unique_ptr<ScanReader> Scan(const ObjectInfo& object, const Query& query,
                                   uint64_t snapshot = 0);
  // Counts and adds up the rows of a range in place, as Session::Aggregate in
  // include/eris/session.h. `snapshot`: as for Scan.
  absl::StatusOr<RangeAggregate> Aggregate(const ObjectInfo& object,
                                           const AggregateOptions& options, uint64_t snapshot = 0);
  // Writes the rows of a table scan into another object, inside the server. Returns their number.
  absl::StatusOr<uint64_t> ScanInto(const std::string& table, const Query& query,
                                    const std::string& target, uint64_t snapshot = 0);

  // Runs a query over several objects; errors are returned by Next. `plan`: a serialised
  // substrait.Plan. The client must outlive the reader.
  std::unique_ptr<QueryReader> Execute(std::string plan);
  // How the server would run it, as text.
  absl::StatusOr<std::string> Explain(std::string plan);
  // Runs it without its rows: what each step has really done, as text. The client's timeout is for
  // the whole query.
  absl::StatusOr<std::string> Analyze(std::string plan);
  // The queries of all clients, oldest first.
  absl::StatusOr<std::vector<RunningQuery>> RunningQueries();
  // Ends a query without waiting for its end. Errors: NotFound (it does not run).
  absl::Status CancelQuery(uint64_t id);

  // One moment of all objects, kept until it has not been used for `time_to_live`.
  absl::StatusOr<uint64_t> TakeSnapshot(absl::Duration time_to_live = absl::Minutes(1));
  // Errors: NotFound (already released).
  absl::Status ReleaseSnapshot(uint64_t snapshot);

  // The server's version and limits. Errors: Unimplemented (an older server).
  absl::StatusOr<ServerInfo> Server();
  absl::StatusOr<EngineStats> Stats();
  absl::StatusOr<std::string> Topology();
  // The system's memory for data, and each object's part of it.
  absl::StatusOr<MemoryStats> Memory();
  // Where the server's memory is, according to its kernel. Errors: InvalidArgument (too many
  // pages), Unimplemented or FailedPrecondition (the server's system does not tell).
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
