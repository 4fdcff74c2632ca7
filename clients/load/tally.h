// What a generator counts: requests, keys, errors, latencies, per kind of operation. Plain data.
#ifndef ERIS_CLIENTS_LOAD_TALLY_H_
#define ERIS_CLIENTS_LOAD_TALLY_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "clients/load/histogram.h"
#include "clients/load/workload.h"

namespace eris::load {

struct OperationTally {
  uint64_t answered = 0;  // requests with OK
  uint64_t keys = 0;      // keys or rows in them
  uint64_t wrong = 0;     // wrong, missing or surplus keys and values in them
  uint64_t not_sent = 0;  // open loop: requests that were due when the run ended
  Histogram latency;      // from when a request was due; of those not sent, to the run's end
  Histogram service;      // from its sending; open loop only: otherwise the same

  void Merge(const OperationTally& other) {
    answered += other.answered;
    keys += other.keys;
    wrong += other.wrong;
    not_sent += other.not_sent;
    latency.Merge(other.latency);
    service.Merge(other.service);
  }
};

struct Tally {
  std::array<OperationTally, kOperations> operations;
  uint64_t refused = 0;  // requests that got UNAVAILABLE, where that is expected
  uint64_t failed = 0;   // requests with another status
  uint64_t backlog = 0;  // open loop: requests due and not sent, the most there were
  // Of those refused: by the end of the connection, not by the server's answer. The first of them
  // was sent at ..., rows had come for them.
  uint64_t cut_off = 0;
  int64_t cut_off_sent_ns = std::numeric_limits<int64_t>::max();
  uint64_t cut_off_rows = 0;
  std::string first_error;
  absl::Status first_failure;

  void Merge(const Tally& other) {
    for (size_t i = 0; i < kOperations; ++i) operations[i].Merge(other.operations[i]);
    MergeErrors(other);
  }
  void MergeErrors(const Tally& other) {
    refused += other.refused;
    failed += other.failed;
    backlog = std::max(backlog, other.backlog);
    cut_off += other.cut_off;
    cut_off_sent_ns = std::min(cut_off_sent_ns, other.cut_off_sent_ns);
    cut_off_rows += other.cut_off_rows;
    if (first_error.empty()) first_error = other.first_error;
    if (first_failure.ok()) first_failure = other.first_failure;
  }
  // Forgets everything and keeps the histograms' memory.
  void Clear() {
    for (OperationTally& one : operations) {
      one.answered = one.keys = one.wrong = one.not_sent = 0;
      one.latency.Clear();
      one.service.Clear();
    }
    auto kept = std::move(operations);
    *this = {};
    operations = std::move(kept);
  }

  OperationTally All() const {
    OperationTally all;
    for (const OperationTally& one : operations) all.Merge(one);
    return all;
  }
};

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_TALLY_H_
