// A request of a simulated client: reply columns that outlive the client, reference counted like
// engine::Request, and a ledger that holds every answer against the columns: an AEU's turn must
// answer exactly the keys whose states it wrote.
#ifndef ERIS_TESTS_SIM_REQUEST_H_
#define ERIS_TESTS_SIM_REQUEST_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "routing/reply.h"
#include "routing/reply_bytes.h"
#include "tests/sim/table_columns.h"

namespace eris::sim {

struct Batch;
struct SimRequest;

// Requests that the step under way has told of answers.
using Ledger = std::vector<SimRequest*>;

struct SimRequest final : routing::Reply {
  SimRequest(Ledger& of, uint32_t keys)
      : ledger(of), value_column(keys, 0), state_column(keys), recorded(keys, 0) {
    values = value_column.data();
    states = state_column.data();
    bytes_sink = &strings;
  }

  // The completion function.
  static void Answered(routing::Reply* reply, uint32_t keys) noexcept {
    static_cast<SimRequest*>(reply)->AddAnswers(keys);
  }
  void AddAnswers(uint32_t keys) {
    answered_now += keys;
    if (in_ledger) return;
    in_ledger = true;
    ledger.push_back(this);
  }
  // A hash of the columns after the last answer, when no AEU may write them any more.
  uint64_t Fingerprint() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < value_column.size(); ++i) {
      sum = (sum ^ value_column[i] ^ static_cast<uint64_t>(state_column[i])) * 0x9e3779b97f4a7c15;
    }
    return sum;
  }

  // For tables: the rows of a write, or the columns for the answers of a lookup.
  TableRows& StoreRows() { return *(stored = std::make_unique<TableRows>()); }
  void AnswerRows() {
    answers = std::make_unique<TableAnswers>(value_column.size(), value_column.data());
    columns_out = answers->columns();
  }

  Ledger& ledger;
  Batch* batch = nullptr;                // nullptr once the client has let go of it
  routing::ReplyBytes strings{1 << 20};  // where answers are byte strings
  std::vector<uint64_t> value_column;
  std::vector<storage::KeyState> state_column;
  std::vector<uint8_t> recorded;  // by position: its answer has been taken note of
  std::unique_ptr<TableRows> stored;
  std::unique_ptr<TableAnswers> answers;
  uint32_t owed = 0;          // answers to come
  uint32_t answered_now = 0;  // in the step under way
  bool in_ledger = false;
  uint64_t final_fingerprint = 0;
};

}  // namespace eris::sim

#endif  // ERIS_TESTS_SIM_REQUEST_H_
