// Whether answers are right: values are functions of their keys, and which keys are there is known.
// Pure functions on a request and its answer; any thread.
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

// Wrong keys and values in an answer with OK. `new_keys`: the keys of an upsert were not there
// before (a bulk load). Scans: CheckRows and CheckScanEnd.
uint64_t CountWrong(const Request& request, const Answer& answer, bool new_keys);

// Takes the next rows of a scan: request.next_number is the number of the key of the set that comes
// next (at first that of the scan's first key), request.wrong counts. Rows begin at the scan's
// first key or behind it and ascend, every key of the set is there, and every value is right; keys
// outside the set may stand between.
void CheckRows(const KeySet& keys, Request& request, const char* row_keys, const char* values,
               size_t rows);
// At the end: as many rows as were asked for, or all that there are.
void CheckScanEnd(const KeySet& keys, Request& request);

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_VERIFIER_H_
