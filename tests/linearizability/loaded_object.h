// The object that a round loads, of any kind. Keys and values are u64 here, and in the columns of
// the object what its kind has: keys of i64 or of two parts, values that are byte strings. Threads:
// calls from any thread, also at once; a stream has one sending thread.
#ifndef ERIS_TESTS_LINEARIZABILITY_LOADED_OBJECT_H_
#define ERIS_TESTS_LINEARIZABILITY_LOADED_OBJECT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "clients/eris_client.h"
#include "tests/linearizability/history.h"
#include "tests/linearizability/keys.h"

namespace eris {

// Prints what is wrong and ends the program.
[[noreturn]] void Fail(const std::string& what);
void Check(const absl::Status& status);
int64_t NowNs();

enum class LoadedKind { kIndex, kInt64, kTwoPart, kBytes, kHash, kTable };
inline constexpr const char* kLoadedKinds[] = {"index", "int64", "two_part",
                                               "bytes", "hash",  "table"};

// Operations that are in flight at once over one stream of the server.
class LoadedStream {
 public:
  virtual ~LoadedStream() = default;
  // All with the same verb. They are answered, with end_ns, on another thread, and must stay where
  // they are until Finish. `filler` goes in the same batch, so that AEUs are busy with it for
  // longer: the batch leaves these rows as they are, but for erases, which go without. Errors: of
  // the stream itself.
  virtual absl::Status Send(absl::Span<Operation> batch, const Rows& filler) = 0;
  // Blocks until all are answered.
  virtual absl::Status Finish() = 0;
};

class LoadedObject {
 public:
  // `kind`: one of kLoadedKinds.
  LoadedObject(const std::string& kind, std::string name);

  // With the rows behind the keys, and a partition that begins at each of Borders(). To be called
  // first, and once.
  absl::Status Create(client::Client& client, const Rows& rows);
  // The bounds of partitions, from 0, in what Move takes.
  std::vector<uint64_t> Borders() const;
  ColumnType key_type() const { return info_.schema.columns[0].type; }
  // Whether ranges move by link. If not, they move by copy alone.
  bool HasLinks() const { return kind_ != LoadedKind::kHash && kind_ != LoadedKind::kTable; }

  // Operations that the kind has, each as often as it is to be drawn.
  const std::vector<Verb>& verbs() const { return verbs_; }
  // One batch. REQUIRES: all have the same verb; a scan is one operation. Fills in the answers,
  // unless the status is an error. Blocks until the answer.
  absl::Status Execute(client::Client& client, absl::Span<Operation> batch) const;

  // A stream of writes, or of gets. `client` must outlive it. `on_error` gets what ends a batch
  // without an answer.
  using OnError = std::function<void(const absl::Status&)>;
  std::unique_ptr<LoadedStream> OpenStream(client::Client& client, bool writes,
                                           OnError on_error) const;

  // All rows. REQUIRES: nothing is written meanwhile.
  absl::StatusOr<Rows> ReadAll(client::Client& client) const;

 private:
  // The two parts of a key: the rows that share the first are up to four, and two neighbours of the
  // load's keys are among them.
  static std::pair<uint64_t, uint64_t> PartsOf(uint64_t key);

  // Columns of the object's types.
  client::OwnedRows KeyColumnsOf(const std::vector<uint64_t>& keys) const;
  ColumnBuffers ValueColumnOf(const std::vector<uint64_t>& values) const;
  client::OwnedRows RowsOf(const std::vector<uint64_t>& keys,
                           const std::vector<uint64_t>& values) const;
  // And back.
  uint64_t KeyAt(const client::OwnedRows& rows, uint64_t row) const;
  uint64_t ValueAt(const client::OwnedRows& rows, size_t column, uint64_t row) const;

  // A batch of writes: hands its mode, rows and expected values to `send`.
  template <class Send>
  auto WithWrites(absl::Span<const Operation> batch, const Rows& filler, Send send) const;
  void SetFound(absl::Span<Operation> batch, const client::LookupResult& found) const;
  void SetWritten(absl::Span<Operation> batch, const client::WriteResult& written) const;

  absl::Status Scan(client::Client& client, Operation& one) const;
  absl::StatusOr<Rows> Read(client::Client& client, const Query& query) const;
  absl::StatusOr<Rows> LookupAll(client::Client& client) const;

  // Immutable after Create.
  const LoadedKind kind_;
  const std::string name_;
  const std::vector<Verb> verbs_;
  ObjectInfo info_;
};

}  // namespace eris

#endif  // ERIS_TESTS_LINEARIZABILITY_LOADED_OBJECT_H_
