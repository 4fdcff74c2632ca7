// The object that a round loads, one class for each kind of object. Keys and values are u64 here;
// each class maps them to what its kind has: one part or two, numbers or byte strings, rows of a
// table. Threads: calls from any thread, also at once; a stream has one sending thread.
#ifndef ERIS_TESTS_LINEARIZABILITY_LOADED_OBJECT_H_
#define ERIS_TESTS_LINEARIZABILITY_LOADED_OBJECT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
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

// Operations that are in flight at once over one stream of the server.
class LoadedStream {
 public:
  virtual ~LoadedStream() = default;
  // All with the same verb. They are answered, with end_ns, on another thread, and must stay where
  // they are until Finish. `filler` goes in the same batch, where the kind allows, so that AEUs are
  // busy with it for longer: writes that leave these rows as they are. Errors: of the stream
  // itself.
  virtual absl::Status Send(absl::Span<Operation> batch, const Rows& filler) = 0;
  // Blocks until all are answered.
  virtual absl::Status Finish() = 0;
};

class LoadedObject {
 public:
  virtual ~LoadedObject() = default;

  // With the rows behind the keys, and a partition that begins at each of Borders().
  virtual absl::Status Create(client::Client& client, const Rows& rows) = 0;
  // The bounds of partitions, from 0, in what Move takes.
  virtual std::vector<uint64_t> Borders() const { return {std::begin(kKeys), std::end(kKeys)}; }
  // Whether ranges move by link. If not, they move by copy alone.
  virtual bool HasLinks() const { return true; }

  // Operations that the kind has, each as often as it is to be drawn.
  virtual absl::Span<const Verb> Verbs() const = 0;
  // Keys that a batch of the load may have. Batches of gets may have more.
  virtual size_t BatchMax(Verb verb) const = 0;
  // One batch. REQUIRES: all have the same verb, and are as many as BatchMax allows. Fills in the
  // answers, unless the status is an error. Blocks until the answer.
  virtual absl::Status Execute(client::Client& client, absl::Span<Operation> batch) = 0;

  // One of the kind's streams, by number, and the verbs that it carries; nullptr: it has no more.
  // `client` must outlive it. `on_error` gets what ends a batch without an answer.
  using OnError = std::function<void(const absl::Status&)>;
  virtual std::unique_ptr<LoadedStream> OpenStream(client::Client& client, size_t number,
                                                   std::vector<Verb>& verbs, OnError on_error) = 0;

  // All rows. REQUIRES: nothing is written meanwhile.
  virtual absl::StatusOr<Rows> ReadAll(client::Client& client) = 0;
};

// `kind`: one of kLoadedKinds.
inline constexpr const char* kLoadedKinds[] = {"index", "hash", "bytes", "two_part", "table"};
std::unique_ptr<LoadedObject> MakeLoadedObject(const std::string& kind, const std::string& name);

// The kinds: number_object.cc, bytes_object.cc, table_object.cc.
std::unique_ptr<LoadedObject> MakeIndex(const std::string& name);
std::unique_ptr<LoadedObject> MakeHash(const std::string& name);
std::unique_ptr<LoadedObject> MakeTwoPart(const std::string& name);
std::unique_ptr<LoadedObject> MakeBytes(const std::string& name);
std::unique_ptr<LoadedObject> MakeTable(const std::string& name);

// What the kinds share.

// The mode of a conditional write. REQUIRES: insert, replace, cas or add.
WriteMode ModeOf(Verb verb);
// Columns of a batch: its operations, then `filler`, which a write of the same verb does not
// change.
std::vector<uint64_t> KeysOf(absl::Span<const Operation> batch, const Rows& filler = {});
std::vector<uint64_t> ValuesOf(absl::Span<const Operation> batch, const Rows& filler = {});
// Empty unless the verb is cas.
std::vector<uint64_t> ExpectedOf(absl::Span<const Operation> batch, const Rows& filler = {});

// Fills in the answer of a get or a scan.
void SetRead(Operation& one, bool found, uint64_t value);
// Fills in the answer of a scan of one key. Ends the program if `rows` has any other row.
void SetScanned(Operation& one, const Rows& rows);
// Fills in the answers of upserts and erases.
void SetExisted(absl::Span<Operation> batch, const client::RowBits& existed);
// Fills in the answers of conditional writes; `value_of(i)`: what was answered for operation i.
// Result: WriteResult or BytesWriteResult.
template <class Result, class ValueOf>
void SetWritten(absl::Span<Operation> batch, const Result& written, ValueOf value_of) {
  for (size_t i = 0; i < batch.size(); ++i) {
    Operation& one = batch[i];
    if (!written.executed[i]) {
      one.answer = Answer::kRefused;
      continue;
    }
    one.answer = written.applied[i] ? Answer::kYes : Answer::kNo;
    one.was = written.existed[i];
    if (one.was || one.verb == Verb::kAdd) one.read = value_of(i);
  }
}

}  // namespace eris

#endif  // ERIS_TESTS_LINEARIZABILITY_LOADED_OBJECT_H_
