// What a generator loads: a server, an engine in this process, or nothing. Many requests are under
// way at once; each is answered through the sink, on the generator's own thread. One target per
// generator; one thread.
#ifndef ERIS_CLIENTS_LOAD_TARGET_H_
#define ERIS_CLIENTS_LOAD_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clients/load/workload.h"

namespace eris::load {

// A batch of one operation. Its memory is used again for the next one.
struct Request {
  uint32_t slot = 0;  // 0 .. requests under way - 1; a stream serves neighbouring ones
  Operation operation = Operation::kLookup;
  bool writing = false;  // kReadModifyWrite: the lookup is done, this is the write
  // As many as keys in a batch; of a scan one, where it begins.
  std::vector<uint64_t> keys;
  std::vector<uint64_t> values;  // as many as keys in all that writes: what is written
  std::vector<uint8_t> missing;  // empty, or as many as keys: 1 is not there
  uint64_t rows_max = 0;         // of a scan; 0: every row, from the beginning

  int64_t due_ns = 0;   // when it should have been sent
  int64_t sent_ns = 0;  // when the target did send it
  uint64_t rows = 0;    // of a scan: those that have come
  int64_t read_ns = 0;  // kReadModifyWrite, its write: when the lookup was sent
  // For the generator's own checks.
  uint64_t next_number = 0;
  uint64_t last_key = 0;
  uint64_t wrong = 0;
};

// Valid during AnswerSink::OnAnswer.
struct Answer {
  absl::Status status{};  // if not OK, the rest says nothing
  // Lookups: as many little-endian u64 as keys, at any address, in `values`. Scans: empty.
  absl::string_view values{};
  // One bit per key, Arrow order: it was there before. `all_present`: there are no bits to show.
  absl::string_view present{};
  bool all_present = false;
  absl::string_view applied{};  // kReadModifyWrite, its write: the same, the key was written
};

class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  // Once for each request that was sent. The request may be sent again from here.
  virtual void OnAnswer(Request& request, const Answer& answer) = 0;
  // Rows of a scan, in order, before its answer: `rows` little-endian u64 each.
  virtual void OnRows(Request& request, const char* keys, const char* values, size_t rows) = 0;
};

class Target {
 public:
  virtual ~Target() = default;

  // Starts `request`, which must stay where it is until its answer. Does not wait for the answer;
  // may call the sink. REQUIRES: not under way.
  virtual void Send(Request& request) = 0;
  // Blocks until something has happened (an answer, or a step towards one) or the
  // generator's clock shows `deadline_ns`.
  virtual void Await(int64_t deadline_ns) = 0;
  // What is under way is answered soon, by an error where need be. Later requests get one, too.
  virtual void Cancel() = 0;
  // Ends the connection. REQUIRES: nothing under way. Errors: those with which it had ended before.
  virtual absl::Status Close() = 0;
};

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_TARGET_H_
