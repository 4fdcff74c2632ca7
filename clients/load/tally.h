// The counts of a generator: requests, keys, errors, latencies, per kind of operation. Plain data.
#ifndef ERIS_CLIENTS_LOAD_TALLY_H_
#define ERIS_CLIENTS_LOAD_TALLY_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/histogram.h"
#include "clients/load/workload.h"

namespace eris::load {

struct OperationTally {
  uint64_t answered = 0;  // requests with OK
  uint64_t keys = 0;      // keys or rows in them
  uint64_t wrong = 0;     // wrong, missing or surplus keys and values in them
  uint64_t not_sent = 0;  // open loop: requests that were due when the run ended
  base::Histogram latency;      // from the time a request was due; for those not sent, to the run's end
  base::Histogram service;      // from its sending; only for an open loop: otherwise the same

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
  // Requests with UNAVAILABLE or RESOURCE_EXHAUSTED, if that is expected, and how long each refusal
  // took from the request's sending on.
  uint64_t refused = 0;
  base::Histogram refusal;
  uint64_t retried = 0;  // times that a request was sent again because the server asked for it
  uint64_t failed = 0;   // requests with another status
  uint64_t backlog = 0;  // open loop: the maximum number of requests due but not sent
  // The part of `refused` due to the end of the connection, not to an answer of the server; when
  // the first of them was sent; and how many rows they had received.
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
    refusal.Merge(other.refusal);
    retried += other.retried;
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
    refusal.Clear();
    auto kept = std::move(operations);
    auto kept_refusal = std::move(refusal);
    *this = {};
    operations = std::move(kept);
    refusal = std::move(kept_refusal);
  }

  OperationTally All() const {
    OperationTally all;
    for (const OperationTally& one : operations) all.Merge(one);
    return all;
  }
};

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_TALLY_H_
