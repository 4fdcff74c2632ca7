#include "bench/load_thread.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "clients/batch_stream.h"

namespace eris::bench {
namespace {

// gRPC's own words for a connection that ended under a call.
bool IsCutOff(const absl::Status& status) {
  return absl::StrContains(status.message(), "Socket closed") ||
         absl::StrContains(status.message(), "Connection reset") ||
         absl::StrContains(status.message(), "GOAWAY");
}

class LoadThread {
 public:
  LoadThread(client::Client& client, const LoadPlan& plan, const KeySet& key_set, uint32_t index,
             std::atomic<bool>& stop)
      : client_(client),
        plan_(plan),
        key_set_(key_set),
        index_(index),
        stop_(stop),
        picker_(key_set.count(), plan.zipf, plan.seed + index) {}

  LoadResult Run() {
    if (plan_.mode == Mode::kScan) {
      RunScans();
    } else if (plan_.unary) {
      RunUnary();
    } else {
      RunBatches();
    }
    absl::MutexLock lock(&mu_);
    return result_;
  }

 private:
  // A request under way: what its answer must say.
  struct Slot {
    std::vector<uint64_t> numbers;
    absl::Time start;
  };

  uint64_t RequestsMax() const {
    if (plan_.mode == Mode::kLoad) return UINT64_MAX;
    if (plan_.requests == 0) return UINT64_MAX;
    return plan_.requests / plan_.threads + (index_ < plan_.requests % plan_.threads ? 1 : 0);
  }
  bool Stopped() {
    // Relaxed: it only ends a loop.
    return stop_.load(std::memory_order_relaxed) || absl::Now() >= plan_.deadline;
  }

  void Count(const absl::Status& status, absl::Time start, uint64_t keys, uint64_t wrong) {
    absl::MutexLock lock(&mu_);
    if (status.ok()) {
      result_.latency.Add(absl::ToInt64Nanoseconds(absl::Now() - start));
      ++result_.answered;
      result_.keys += keys;
      result_.wrong += wrong;
      if (wrong == 0) return;
    } else if (plan_.until_unavailable && absl::IsUnavailable(status)) {
      ++result_.refused;
      if (IsCutOff(status)) {
        ++result_.cut_off;
        result_.cut_off_begun = std::min(result_.cut_off_begun, start);
        result_.cut_off_rows += keys;
      }
      stop_.store(true, std::memory_order_relaxed);  // as in Stopped
    } else {
      ++result_.failed;
      // One failure is enough to fail the run, and more of them would only flood it.
      stop_.store(true, std::memory_order_relaxed);  // as in Stopped
    }
    if (result_.first_error.empty()) {
      result_.first_error =
          status.ok() ? absl::StrCat(wrong, " wrong rows in one answer") : status.ToString();
    }
  }

  // Fills `slot` with the next batch's numbers; false when there is none.
  bool NextBatch(Slot& slot) {
    slot.numbers.clear();
    if (plan_.mode == Mode::kLoad) {
      const uint64_t end = key_set_.count() * (index_ + 1) / plan_.threads;
      for (; next_ < end && slot.numbers.size() < plan_.batch; ++next_) {
        slot.numbers.push_back(next_);
      }
      return !slot.numbers.empty();
    }
    const bool missing_too = plan_.missing_percent > 0;
    for (uint32_t i = 0; i < plan_.batch; ++i) {
      uint64_t number = picker_.Next();
      if (missing_too && !upsert_turn_ && picker_.Below(100) < plan_.missing_percent) {
        number += key_set_.count();
      }
      slot.numbers.push_back(number);
    }
    return true;
  }

  void RunBatches() {
    std::vector<Slot> lookup_slots(plan_.in_flight + 1), upsert_slots(plan_.in_flight + 1);
    std::optional<client::LookupStream> lookups;
    std::optional<client::UpsertStream> upserts;
    const client::StreamOptions options{plan_.in_flight, client_.options().timeout};
    if (plan_.mode == Mode::kLookup || plan_.mode == Mode::kMixed) {
      lookups.emplace(client_, options,
                      [&](uint64_t index, absl::Status status, client::LookupResult result) {
                        const Slot& slot = lookup_slots[index % lookup_slots.size()];
                        Count(status, slot.start, status.ok() ? slot.numbers.size() : 0,
                              status.ok() ? WrongLookups(slot, result) : 0);
                      });
    }
    if (plan_.mode != Mode::kLookup) {
      upserts.emplace(client_, options,
                      [&](uint64_t index, absl::Status status, client::RowBits existed) {
                        const Slot& slot = upsert_slots[index % upsert_slots.size()];
                        Count(status, slot.start, status.ok() ? slot.numbers.size() : 0,
                              status.ok() ? WrongUpserts(existed) : 0);
                      });
    }
    next_ = key_set_.count() * index_ / plan_.threads;
    uint64_t lookups_sent = 0, upserts_sent = 0;
    std::vector<uint64_t> keys, values;
    while (lookups_sent + upserts_sent < RequestsMax() && !Stopped()) {
      upsert_turn_ = upserts && (!lookups || picker_.Below(100) < plan_.upsert_percent);
      Slot& slot = upsert_turn_ ? upsert_slots[upserts_sent % upsert_slots.size()]
                                : lookup_slots[lookups_sent % lookup_slots.size()];
      absl::Status status = upsert_turn_ ? upserts->AwaitRoom() : lookups->AwaitRoom();
      if (!status.ok() || !NextBatch(slot)) break;  // the reason comes from Finish
      keys.clear();
      values.clear();
      for (const uint64_t number : slot.numbers) keys.push_back(key_set_.Key(number));
      if (upsert_turn_) {
        for (const uint64_t key : keys) values.push_back(ValueOf(key));
      }
      slot.start = absl::Now();
      status = upsert_turn_ ? upserts->Send(plan_.object, keys, values)
                            : lookups->Send(plan_.object, keys);
      if (!status.ok()) break;
      ++(upsert_turn_ ? upserts_sent : lookups_sent);
    }
    for (const absl::Status& end : {lookups ? lookups->Finish() : absl::OkStatus(),
                                    upserts ? upserts->Finish() : absl::OkStatus()}) {
      CountEnd(end);
    }
    absl::MutexLock lock(&mu_);
    result_.sent = lookups_sent + upserts_sent;
  }

  void RunUnary() {
    next_ = key_set_.count() * index_ / plan_.threads;
    upsert_turn_ = plan_.mode != Mode::kLookup;
    Slot slot;
    std::vector<uint64_t> keys, values;
    uint64_t sent = 0;
    for (; sent < RequestsMax() && !Stopped() && NextBatch(slot); ++sent) {
      keys.clear();
      values.clear();
      for (const uint64_t number : slot.numbers) {
        keys.push_back(key_set_.Key(number));
        values.push_back(ValueOf(keys.back()));
      }
      slot.start = absl::Now();
      if (upsert_turn_) {
        const absl::StatusOr<client::RowBits> existed = client_.Upsert(plan_.object, keys, values);
        Count(existed.status(), slot.start, existed.ok() ? keys.size() : 0,
              existed.ok() ? WrongUpserts(*existed) : 0);
      } else {
        const absl::StatusOr<client::LookupResult> result = client_.Lookup(plan_.object, keys);
        Count(result.status(), slot.start, result.ok() ? keys.size() : 0,
              result.ok() ? WrongLookups(slot, *result) : 0);
      }
    }
    absl::MutexLock lock(&mu_);
    result_.sent = sent;
  }

  // A stream that ended by itself with no request to tell it to.
  void CountEnd(const absl::Status& status) {
    if (status.ok()) return;
    absl::MutexLock lock(&mu_);
    if (result_.first_error.empty()) result_.first_error = status.ToString();
    if (plan_.until_unavailable && absl::IsUnavailable(status)) {
      stop_.store(true, std::memory_order_relaxed);  // as in Stopped
    } else {
      ++result_.failed;
    }
  }

  uint64_t WrongLookups(const Slot& slot, const client::LookupResult& result) const {
    uint64_t wrong = 0;
    for (size_t i = 0; i < slot.numbers.size(); ++i) {
      const bool expected = slot.numbers[i] < key_set_.count();
      const bool right = result.found[i] == expected &&
                         (!expected || result.values[i] == ValueOf(key_set_.Key(slot.numbers[i])));
      wrong += right ? 0 : 1;
    }
    return wrong;
  }

  // Loading meets new keys only, upserting such as are there.
  uint64_t WrongUpserts(const client::RowBits& existed) const {
    const uint64_t there = existed.Count();
    return plan_.mode == Mode::kLoad ? there : existed.size() - there;
  }

  void RunScans() {
    uint64_t sent = 0;
    client::ScanRows rows;
    for (; sent < RequestsMax() && !Stopped(); ++sent) {
      const bool every_row = plan_.scan_rows == 0;
      const uint64_t first = key_set_.Key(picker_.Next());
      const absl::Time start = absl::Now();
      const auto reader =
          client_.Scan(plan_.object, {every_row ? 0 : first, std::nullopt}, plan_.scan_rows);
      uint64_t count = 0, wrong = 0;
      std::optional<uint64_t> last;
      absl::StatusOr<bool> more = reader->Next(rows);
      for (; more.ok() && *more; more = reader->Next(rows)) {
        // The range begins at a key that is there.
        if (!every_row && count == 0 && !rows.keys.empty() && rows.keys[0] != first) ++wrong;
        for (size_t i = 0; i < rows.keys.size(); ++i) {
          const bool ascending = !last || *last < rows.keys[i];
          if (!ascending || rows.values[i] != ValueOf(rows.keys[i])) ++wrong;
          last = rows.keys[i];
        }
        count += rows.keys.size();
      }
      if (every_row ? count != key_set_.count() : count == 0 || count > plan_.scan_rows) ++wrong;
      Count(more.status(), start, count, more.ok() ? wrong : 0);
    }
    absl::MutexLock lock(&mu_);
    result_.sent = sent;
  }

  client::Client& client_;
  const LoadPlan& plan_;
  const KeySet& key_set_;
  const uint32_t index_;
  std::atomic<bool>& stop_;

  // Owned by the sending thread.
  KeyPicker picker_;
  uint64_t next_ = 0;  // mode load: number of the next key
  bool upsert_turn_ = false;

  // Guarded by mu_.
  absl::Mutex mu_;
  LoadResult result_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

void LoadResult::Merge(const LoadResult& other) {
  latency.Merge(other.latency);
  sent += other.sent;
  answered += other.answered;
  keys += other.keys;
  refused += other.refused;
  cut_off += other.cut_off;
  wrong += other.wrong;
  failed += other.failed;
  if (first_error.empty()) first_error = other.first_error;
  cut_off_begun = std::min(cut_off_begun, other.cut_off_begun);
  cut_off_rows += other.cut_off_rows;
}

LoadResult RunLoadThread(client::Client& client, const LoadPlan& plan, const KeySet& key_set,
                         uint32_t index, std::atomic<bool>& stop) {
  return LoadThread(client, plan, key_set, index, stop).Run();
}

}  // namespace eris::bench
