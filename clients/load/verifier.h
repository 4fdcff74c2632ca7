// Checks answers: values are functions of their keys, and the existing keys are known. Pure
// functions on a request and its answer; any thread.
#ifndef ERIS_CLIENTS_LOAD_VERIFIER_H_
#define ERIS_CLIENTS_LOAD_VERIFIER_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "clients/load/key_set.h"
#include "clients/load/target.h"

namespace eris::load {

// Bits set among the first `rows`, Arrow order; absent bytes count as 0.
uint64_t CountBits(absl::string_view bits, size_t rows);

// The number of wrong keys and values in an answer with OK. `new_keys`: the keys of an upsert were
// absent before (a bulk load). Scans: CheckRows and CheckScanEnd.
uint64_t CountWrong(const Request& request, const Answer& answer, bool new_keys);

// Checks the next rows of a scan. request.next_number is the number of the next key of the set (at
// first that of the scan's first key); request.wrong counts errors. Rows must begin at or after the
// scan's first key and ascend; every key of the set must be there, with the right value; keys
// outside the set may be in between.
void CheckRows(const KeySet& keys, Request& request, const char* row_keys, const char* values,
               size_t rows);
// At the end: checks that there were as many rows as requested, or all that exist.
void CheckScanEnd(const KeySet& keys, Request& request);

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_VERIFIER_H_
