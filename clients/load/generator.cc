#include "clients/load/generator.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "clients/load/verifier.h"
#include "clients/retries.h"

namespace eris::load {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();
// The longest wait before checking whether another generator has stopped the run.
constexpr int64_t kStopLookNs = 50'000'000;
constexpr uint64_t kNotSentSteps = 100'000;

int64_t ToNs(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

double ThreadCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// gRPC's texts for a connection that ended during a call.
bool IsCutOff(const absl::Status& status) {
  return absl::StrContains(status.message(), "Socket closed") ||
         absl::StrContains(status.message(), "Connection reset") ||
         absl::StrContains(status.message(), "Broken pipe") ||
         absl::StrContains(status.message(), "GOAWAY");
}

PickerOptions PickerOptionsOf(const Plan& plan, uint32_t index) {
  return {.distribution = plan.workload.distribution,
          .key_part = plan.key_part,
          .hot_part = plan.hot_part,
          .hot_percent = plan.hot_percent,
          .shift_s = plan.shift_s,
          .seed = plan.seed,
          .index = index,
          .pickers = plan.generators};
}

}  // namespace

Generator::Generator(const Plan& plan, const KeySet& keys, uint32_t index, Clock& clock,
                     std::atomic<bool>& stop)
    : plan_(plan),
      keys_(keys),
      index_(index),
      clock_(clock),
      stop_(stop),
      picker_(keys, PickerOptionsOf(plan, index), plan.zipf),
      random_(SeedOf(plan.seed, index, Draws::kKinds)),
      requests_(plan.slots()),
      inserts_under_way_(plan.slots(), kNone),
      arrivals_(0, 0, 0) {
  for (uint32_t slot = plan.slots(); slot-- > 0;) {
    requests_[slot].slot = slot;
    requests_[slot].keys.reserve(plan.batch);
    free_.push_back(&requests_[slot]);
  }
  requests_max_ = plan.requests == 0 ? kNone : plan.ShareOf(plan.requests, index);
  if (plan.load) {
    const uint64_t share = keys.count() / plan.generators, rest = keys.count() % plan.generators;
    load_next_ = index * share + std::min<uint64_t>(index, rest);
    load_end_ = load_next_ + plan.ShareOf(keys.count(), index);
    exhausted_ = load_next_ == load_end_;
  }
  exhausted_ = exhausted_ || requests_max_ == 0;
}

int64_t Generator::IntervalEnd(const Plan& plan, int64_t start_ns, int64_t now_ns) {
  const int64_t interval = std::max<int64_t>(1, ToNs(plan.interval_s));
  const int64_t warm_end = start_ns + ToNs(plan.warm_up_s);
  const int64_t from = now_ns < warm_end ? start_ns : warm_end;
  const int64_t end = from + (std::max<int64_t>(0, now_ns - from) / interval + 1) * interval;
  return now_ns < warm_end ? std::min(end, warm_end) : end;
}

bool Generator::Ending(int64_t now_ns) const {
  // Relaxed: it only ends loops.
  return exhausted_ || now_ns >= end_ns_ || stop_.load(std::memory_order_relaxed);
}

void Generator::Run(Target& target, int64_t start_ns) {
  target_ = &target;
  start_ns_ = start_ns;
  warm_end_ns_ = start_ns + ToNs(plan_.warm_up_s);
  const bool timed = !plan_.load && plan_.requests == 0;
  end_ns_ = timed ? warm_end_ns_ + ToNs(plan_.seconds) : kNever;
  interval_end_ns_ = IntervalEnd(plan_, start_ns, start_ns);
  result_.begun_ns = start_ns;
  cpu_begun_s_ = ThreadCpuSeconds();
  arrivals_ = Arrivals(plan_.rate / plan_.generators, SeedOf(plan_.seed, index_, Draws::kArrivals),
                       start_ns);
  int64_t now = clock_.NowNs();
  progress_ns_ = now;
  for (;; now = clock_.NowNs()) {
    if (now >= interval_end_ns_) EndInterval(now);
    SendRested(now);
    if (!Ending(now)) SendAllDue(now);
    if (free_.size() == requests_.size() && Ending(now)) break;
    AwaitAnswers(clock_.NowNs());
  }
  if (arrivals_.open_loop() && !exhausted_) CountNotSent(now);
  interval_end_ns_ = now;
  EndInterval(now);
  result_.ended_ns = now;
  result_.cpu_s = ThreadCpuSeconds() - cpu_begun_s_;
}

void Generator::CountNotSent(int64_t now_ns) {
  const int64_t end_ns = std::min(now_ns, end_ns_);
  // If there are very many, each counts for several.
  const uint64_t step = 1 + arrivals_.Backlog(end_ns) / kNotSentSteps;
  for (uint64_t left = requests_max_ - result_.sent; arrivals_.due_ns() < end_ns && left > 0;) {
    const uint64_t requests = std::min(step, left);
    left -= requests;
    const Operation operation =
        plan_.load ? Operation::kUpsert : plan_.workload.Pick(random_.Below(100));
    OperationTally& tally = interval_.operations[static_cast<size_t>(operation)];
    tally.not_sent += requests;
    tally.latency.Add(now_ns - arrivals_.due_ns(), requests);
    arrivals_.Advance(requests);
  }
}

void Generator::SendAllDue(int64_t now_ns) {
  while (!free_.empty() && !exhausted_) {
    if (arrivals_.open_loop()) {
      now_ns = clock_.NowNs();
      if (arrivals_.due_ns() > now_ns || arrivals_.due_ns() >= end_ns_) break;
    }
    if (Ending(now_ns)) break;
    Request& request = *free_.back();
    now_s_ = static_cast<double>(now_ns - start_ns_) / 1e9;
    if (!Prepare(request)) break;
    if (free_.size() == requests_.size()) progress_ns_ = now_ns;
    free_.pop_back();
    request.due_ns = arrivals_.open_loop() ? arrivals_.due_ns() : clock_.NowNs();
    arrivals_.Advance();
    ++result_.sent;
    exhausted_ = exhausted_ || result_.sent >= requests_max_;
    target_->Send(request);
  }
  if (arrivals_.open_loop()) {
    interval_.backlog = std::max(interval_.backlog, arrivals_.Backlog(std::min(now_ns, end_ns_)));
  }
}

bool Generator::Prepare(Request& request) {
  request.writing = false;
  request.attempts = 0;
  request.missing.clear();
  request.rows = request.wrong = 0;
  if (plan_.load) return PrepareLoad(request);
  request.operation = plan_.workload.Pick(random_.Below(100));
  switch (request.operation) {
    case Operation::kLookup:
      PrepareLookup(request);
      break;
    case Operation::kUpsert:
    case Operation::kReadModifyWrite:
      PrepareWrites(request);
      break;
    case Operation::kInsert:
      PrepareInsert(request);
      break;
    case Operation::kScan:
      PrepareScan(request);
      break;
  }
  return true;
}

void Generator::PrepareLookup(Request& request) {
  request.keys.resize(plan_.batch);
  const auto numbers = absl::MakeSpan(request.keys);
  picker_.Pick(numbers, now_s_, inserted_);
  if (plan_.missing_percent > 0) {
    request.missing.resize(plan_.batch);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const bool missing = random_.Below(100) < plan_.missing_percent;
      request.missing[i] = missing ? 1 : 0;
      if (missing) numbers[i] = picker_.MissingNumber(numbers[i]);
    }
  }
  keys_.ToKeys(numbers);
}

void Generator::PrepareWrites(Request& request) {
  request.keys.resize(plan_.batch);
  request.values.resize(plan_.batch);
  picker_.Pick(absl::MakeSpan(request.keys), now_s_, inserted_);
  keys_.ToKeys(absl::MakeSpan(request.keys));
  FillValues(request.keys, absl::MakeSpan(request.values));
}

void Generator::PrepareInsert(Request& request) {
  request.keys.resize(plan_.batch);
  request.values.resize(plan_.batch);
  inserts_under_way_[request.slot] = inserts_sent_;
  for (uint64_t& key : request.keys) key = picker_.InsertNumber(inserts_sent_++);
  keys_.ToKeys(absl::MakeSpan(request.keys));
  FillValues(request.keys, absl::MakeSpan(request.values));
}

void Generator::PrepareScan(Request& request) {
  const Workload& workload = plan_.workload;
  request.rows_max = workload.scan_rows;
  if (workload.scan_rows_vary) request.rows_max = 1 + random_.Below(workload.scan_rows);
  request.keys.resize(1);
  picker_.Pick(absl::MakeSpan(request.keys), now_s_, inserted_);
  const uint64_t number = request.keys[0];
  request.keys[0] = request.rows_max == 0 ? 0 : keys_.Key(number);
  request.next_number = request.rows_max == 0 ? 0 : number;
  if (number >= keys_.count()) {  // inserted: the key is after, or between, keys of the set
    request.next_number = std::min(keys_.NumberOf(request.keys[0]) + 1, keys_.count());
  }
}

bool Generator::PrepareLoad(Request& request) {
  const uint64_t count = std::min<uint64_t>(plan_.batch, load_end_ - load_next_);
  if (count == 0) return false;
  request.operation = Operation::kUpsert;
  request.keys.resize(count);
  request.values.resize(count);
  for (uint64_t& key : request.keys) key = load_next_++;
  keys_.SpreadAll(absl::MakeSpan(request.keys));
  keys_.ToKeys(absl::MakeSpan(request.keys));
  FillValues(request.keys, absl::MakeSpan(request.values));
  exhausted_ = load_next_ == load_end_;
  return true;
}

void Generator::AwaitAnswers(int64_t now_ns) {
  int64_t deadline = std::min(interval_end_ns_, now_ns + kStopLookNs);
  if (now_ns < end_ns_) deadline = std::min(deadline, end_ns_);
  if (arrivals_.open_loop() && !free_.empty() && !Ending(now_ns)) {
    deadline = std::min(deadline, arrivals_.due_ns());
  }
  for (const Request* request : resting_) deadline = std::min(deadline, request->rest_ns);
  target_->Await(deadline);
  if (free_.size() == requests_.size() || cancelled_) return;
  if (clock_.NowNs() - progress_ns_ < ToNs(plan_.timeout_s)) return;
  cancelled_ = true;
  target_->Cancel();
}

void Generator::OnRows(Request& request, const char* keys, const char* values, size_t rows) {
  if (plan_.verify) CheckRows(keys_, request, keys, values, rows);
  request.rows += rows;
  progress_ns_ = clock_.NowNs();
}

void Generator::OnAnswer(Request& request, const Answer& answer) {
  absl::Status status = answer.status;
  if (status.ok() && request.operation == Operation::kReadModifyWrite && !request.writing) {
    const size_t bytes = request.keys.size() * sizeof(uint64_t);
    if (answer.values.size() == bytes) return WriteWhatWasRead(request, answer);
    status =
        absl::InternalError(absl::StrCat("the lookup of a read-modify-write brought ",
                                         answer.values.size(), " bytes of values, not ", bytes));
  }
  progress_ns_ = clock_.NowNs();
  if (!status.ok() && Rest(request, status)) return;
  ++result_.answered;
  if (request.operation == Operation::kInsert) NoteInserted(request);
  if (status.ok()) {
    Count(request, answer);
  } else {
    CountError(request, status);
  }
  free_.push_back(&request);
}

void Generator::WriteWhatWasRead(Request& request, const Answer& answer) {
  if (plan_.verify) request.wrong = CountWrong(request, answer, false);
  std::memcpy(request.values.data(), answer.values.data(), answer.values.size());
  request.writing = true;
  request.read_ns = request.sent_ns;  // the target sets that again
  target_->Send(request);
}

// Only in a closed loop: an open one would have its next request wait, too, and so load the server
// less than was asked for. A scan that has brought rows cannot begin again.
bool Generator::Rest(Request& request, const absl::Status& status) {
  if (arrivals_.open_loop() || cancelled_ || request.rows > 0) return false;
  if (request.attempts == client::Retries::kMost) return false;
  const double draw = static_cast<double>(random_.Below(1000)) / 1000;
  const absl::Duration pause = client::PauseAfter(status, request.attempts + 1, draw);
  if (pause == absl::ZeroDuration()) return false;
  ++request.attempts;
  ++interval_.retried;
  request.rest_ns = progress_ns_ + absl::ToInt64Nanoseconds(pause);
  resting_.push_back(&request);
  return true;
}

void Generator::SendRested(int64_t now_ns) {
  for (size_t i = 0; i < resting_.size();) {
    Request* const request = resting_[i];
    if (request->rest_ns > now_ns && !cancelled_) {
      ++i;
      continue;
    }
    resting_[i] = resting_.back();
    resting_.pop_back();
    target_->Send(*request);
  }
}

void Generator::NoteInserted(const Request& request) {
  inserts_under_way_[request.slot] = kNone;
  inserted_ = inserts_sent_;
  for (const uint64_t first : inserts_under_way_) inserted_ = std::min(inserted_, first);
}

void Generator::Count(Request& request, const Answer& answer) {
  OperationTally& tally = interval_.operations[static_cast<size_t>(request.operation)];
  const bool scan = request.operation == Operation::kScan;
  tally.latency.Add(std::max<int64_t>(0, progress_ns_ - request.due_ns));
  if (arrivals_.open_loop()) {
    const int64_t sent_ns = request.writing ? request.read_ns : request.sent_ns;
    tally.service.Add(std::max<int64_t>(0, progress_ns_ - sent_ns));
  }
  ++tally.answered;
  tally.keys += scan ? request.rows : request.keys.size();
  if (!plan_.verify) return;
  if (scan) {
    CheckScanEnd(keys_, request);
  } else {
    request.wrong += CountWrong(request, answer, plan_.load);
  }
  if (request.wrong == 0) return;
  tally.wrong += request.wrong;
  if (interval_.first_error.empty()) {
    interval_.first_error =
        absl::StrCat(request.wrong, " wrong of ", scan ? request.rows : request.keys.size(),
                     scan ? " rows of a " : " keys of a ",
                     kOperationNames[static_cast<size_t>(request.operation)], " from key ",
                     request.keys[0], " on");
  }
}

void Generator::CountError(const Request& request, const absl::Status& status) {
  absl::Status error = status;
  if (cancelled_) {
    error = absl::DeadlineExceededError(absl::StrCat("no answer within ", plan_.timeout_s, " s"));
  }
  if (plan_.tolerate_refusals && absl::IsResourceExhausted(error)) {
    ++interval_.refused;
    interval_.refusal.Add(std::max<int64_t>(0, progress_ns_ - request.sent_ns));
    return;
  }
  if (plan_.until_unavailable && absl::IsUnavailable(error)) {
    ++interval_.refused;
    if (IsCutOff(error)) {
      ++interval_.cut_off;
      interval_.cut_off_sent_ns = std::min(interval_.cut_off_sent_ns, request.sent_ns);
      interval_.cut_off_rows += request.rows;
    }
  } else {
    ++interval_.failed;
    if (interval_.first_failure.ok()) interval_.first_failure = error;
  }
  // One failure ends the run; more would only flood the report. Relaxed: as in Ending.
  stop_.store(true, std::memory_order_relaxed);
  if (interval_.first_error.empty()) interval_.first_error = error.ToString();
}

void Generator::EndInterval(int64_t now_ns) {
  {
    absl::MutexLock lock(&mu_);
    shared_.Merge(interval_);
  }
  if (interval_end_ns_ > warm_end_ns_) {
    result_.tally.Merge(interval_);
  } else {
    result_.tally.MergeErrors(interval_);
    for (OperationTally& one : interval_.operations) {
      result_.warm += one.answered;
      // A wrong answer counts whenever it is found.
      const size_t index = &one - interval_.operations.data();
      result_.tally.operations[index].wrong += one.wrong;
    }
    result_.begun_ns = now_ns;
    cpu_begun_s_ = ThreadCpuSeconds();
  }
  interval_.Clear();
  interval_end_ns_ = IntervalEnd(plan_, start_ns_, now_ns);
}

void Generator::Take(Tally& into) {
  absl::MutexLock lock(&mu_);
  into.Merge(shared_);
  shared_.Clear();
}

}  // namespace eris::load
