#include "clients/load/null_target.h"

#include <time.h>

#include <algorithm>

#include "clients/load/clock.h"

namespace eris::load {
namespace {

constexpr uint64_t kChunkRows = 32768;  // for a scan

void SleepUntil(int64_t ns) {
  const timespec time{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

absl::string_view BytesOf(const std::vector<uint64_t>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint64_t)};
}

}  // namespace

void NullTarget::Send(Request& request) {
  request.sent_ns = MonotonicNs();
  waiting_.push_back(&request);
}

void NullTarget::Await(int64_t deadline_ns) {
  if (first_ == waiting_.size()) {
    SleepUntil(deadline_ns);
    return;
  }
  Request& request = *waiting_[first_++];
  if (first_ == waiting_.size()) {
    waiting_.clear();
    first_ = 0;
  }
  if (request.operation == Operation::kScan) {
    AnswerScan(request);
    return;
  }
  const size_t count = request.keys.size();
  Answer answer;
  if (request.operation == Operation::kLookup ||
      (request.operation == Operation::kReadModifyWrite && !request.writing)) {
    values_.resize(count);
    FillValues(request.keys, absl::MakeSpan(values_));
    answer.values = BytesOf(values_);
  }
  if (request.missing.empty() && !(new_keys_ && request.operation == Operation::kUpsert)) {
    answer.all_present = true;
  } else {
    bits_.assign((count + 7) / 8, 0);
    for (size_t i = 0; i < request.missing.size(); ++i) {
      bits_[i / 8] |= static_cast<char>((request.missing[i] == 0 ? 1 : 0) << (i % 8));
    }
    answer.present = bits_;
  }
  if (request.writing) {
    bits_.assign((count + 7) / 8, '\xff');
    answer.applied = bits_;
  }
  sink_.OnAnswer(request, answer);
}

void NullTarget::AnswerScan(Request& request) {
  uint64_t number = std::min(request.next_number, keys_.count());
  uint64_t left = keys_.count() - number;
  if (request.rows_max > 0) left = std::min(left, request.rows_max);
  while (left > 0) {
    const uint64_t rows = std::min(left, kChunkRows);
    row_keys_.resize(rows);
    values_.resize(rows);
    for (uint64_t& key : row_keys_) key = number++;
    keys_.ToKeys(absl::MakeSpan(row_keys_));
    FillValues(row_keys_, absl::MakeSpan(values_));
    sink_.OnRows(request, BytesOf(row_keys_).data(), BytesOf(values_).data(), rows);
    left -= rows;
  }
  sink_.OnAnswer(request, {});
}

}  // namespace eris::load
