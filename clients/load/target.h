// The target of a generator: a server, an engine in this process, or nothing. Many requests are in
// flight at the same time; each is answered through the sink, on the generator's own thread. One
// target per generator; one thread.
#ifndef ERIS_CLIENTS_LOAD_TARGET_H_
#define ERIS_CLIENTS_LOAD_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clients/load/workload.h"

namespace eris::load {

// A batch of one operation. Its memory is reused for the next one.
struct Request {
  uint32_t slot = 0;  // 0 .. requests in flight - 1; a stream serves adjacent slots
  Operation operation = Operation::kLookup;
  bool writing = false;  // kReadModifyWrite: the lookup has been answered, this is the write
  // The keys of the batch; for a scan one: where it begins.
  std::vector<uint64_t> keys;
  std::vector<uint64_t> values;  // for writes, as many as keys: the values to write
  std::vector<uint8_t> missing;  // empty, or as many as keys: 1 means absent
  uint64_t rows_max = 0;         // for a scan; 0: every row, from the beginning

  int64_t due_ns = 0;   // when it was due
  int64_t sent_ns = 0;  // when the target sent it
  uint64_t rows = 0;    // for a scan: received rows
  int64_t read_ns = 0;  // kReadModifyWrite, its write: when the lookup was sent
  int attempts = 0;     // times that it was refused and is to be sent again
  int64_t rest_ns = 0;  // until when it is not sent again
  // For the generator's checks.
  uint64_t next_number = 0;
  uint64_t last_key = 0;
  uint64_t wrong = 0;
};

// Valid during AnswerSink::OnAnswer.
struct Answer {
  absl::Status status{};  // if not OK, the other fields are unspecified
  // Lookups: as many little-endian u64 as keys, at any address, in `values`. Scans: empty.
  absl::string_view values{};
  // One bit per key, Arrow order: it was there before. `all_present`: all were, and there are no
  // bits.
  absl::string_view present{};
  bool all_present = false;
  // for the write of kReadModifyWrite: one bit per key, it was written
  absl::string_view applied{};
};

class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  // Called once for each sent request, which may be sent again from here.
  virtual void OnAnswer(Request& request, const Answer& answer) = 0;
  // Rows of a scan, in order, before its answer: `rows` little-endian u64 each.
  virtual void OnRows(Request& request, const char* keys, const char* values, size_t rows) = 0;
};

class Target {
 public:
  virtual ~Target() = default;

  // Starts `request`, which must not move until its answer. Does not wait for the answer; may call
  // the sink. REQUIRES: not in flight.
  virtual void Send(Request& request) = 0;
  // Blocks until an event (an answer, or a step towards one) or until the generator's clock reaches
  // `deadline_ns`.
  virtual void Await(int64_t deadline_ns) = 0;
  // Requests in flight are answered soon, if necessary by an error. Later requests get an error
  // too.
  virtual void Cancel() = 0;
  // Ends the connection. REQUIRES: nothing in flight. Errors: those of an earlier end.
  virtual absl::Status Close() = 0;
};

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_TARGET_H_
