#include "tests/linearizability/load_client.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace eris {
namespace {

// One write in so many has so little time that its client often does not hear how it ended. For
// each key there are few: each may take effect at any time to the end, and the checker tries that.
constexpr uint32_t kHastyEvery = 50;
constexpr uint32_t kHastyMinUs = 30, kHastyMaxUs = 330;
constexpr uint32_t kHastyPerKeyMax = 6;
// Up to so many batches follow each other without a pause, and some of those of streams have all
// rows behind the keys as a filler. What has gone by an old table, after a range has moved, is then
// sent again with others of its session behind it.
constexpr uint64_t kBurstMax = 16;
constexpr uint64_t kFilledEvery = 2;
constexpr uint32_t kBatchMax = 6;  // operations

bool IsRead(Verb verb) { return verb == Verb::kGet || verb == Verb::kScan; }

}  // namespace

LoadClient::LoadClient(const LoadClientOptions& options, const LoadedObject& object,
                       LoadProgress& progress)
    : options_(options),
      object_(object),
      progress_(progress),
      random_(options.seed * 1000 + options.id) {
  auto client = client::Client::Connect({.server = options.server, .own_connection = true});
  Check(client.status());
  client_ = *std::move(client);
  done_.reserve(options.operations);
  const auto failed = [this](const absl::Status& why) { Failed(why); };
  lanes_[0].verbs = object.verbs();
  for (const Verb verb : object.verbs()) {
    if (verb != Verb::kScan) lanes_[verb == Verb::kGet ? 2 : 1].verbs.push_back(verb);
  }
  lanes_[1].stream = object.OpenStream(*client_, /*writes=*/true, failed);
  lanes_[2].stream = object.OpenStream(*client_, /*writes=*/false, failed);
}

LoadClient::~LoadClient() = default;

void LoadClient::Run(int64_t begin_ns, int64_t interval_ns) {
  uint64_t burst = 0;  // batches to go on the lane without a pause
  uint32_t lane = 0;
  while (done_.size() < options_.operations) {
    if (burst-- == 0) {
      // Half of them are calls.
      lane = random_() % 2 == 0 ? 0 : static_cast<uint32_t>(1 + random_() % (kLanes - 1));
      burst = random_() % kBurstMax;
      const auto number = static_cast<int64_t>(done_.size());
      const int64_t wait_ns = begin_ns + number * interval_ns - NowNs();
      if (wait_ns > 0) absl::SleepFor(absl::Nanoseconds(wait_ns));
    }
    const absl::Span<Operation> batch =
        Draw(lane, options_.operations - static_cast<uint32_t>(done_.size()));
    progress_.operations.fetch_add(batch.size(), std::memory_order_relaxed);
    if (lane == 0) {
      Call(batch);
    } else {
      streamed_ += batch.size();
      Check(lanes_[lane].stream->Send(batch, random_() % kFilledEvery == 0 ? rows_ : Rows{}));
    }
  }
  for (Lane& each : lanes_) {
    if (each.stream != nullptr) Check(each.stream->Finish());
  }
}

absl::Span<Operation> LoadClient::Draw(uint32_t lane, uint32_t room) {
  const Verb verb = lanes_[lane].verbs[random_() % lanes_[lane].verbs.size()];
  const size_t most = std::min(verb == Verb::kScan ? 1 : kBatchMax, room);
  const size_t count = random_() % 2 == 0 ? 1 : 1 + random_() % most;
  const size_t first = done_.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t key = random_() % kKeyCount;
    Operation one{.lane = options_.id * kLanes + lane, .verb = verb, .key = kKeys[key]};
    if (!IsRead(verb) && verb != Verb::kErase) {
      // No other operation writes it, so a client that reads it knows which one has written it.
      one.value = (uint64_t{options_.id} + 1) << 32 | (done_.size() + 1);
    }
    // Some adds take off what others add, and sums pass 2^64.
    if (verb == Verb::kAdd && random_() % 2 == 0) one.value = 0 - one.value;
    if (verb == Verb::kCas) one.expected = last_read_[key];
    one.order = ++lanes_[lane].orders;
    doubled_ += std::any_of(done_.begin() + static_cast<ptrdiff_t>(first), done_.end(),
                            [&](const Operation& other) { return other.key == one.key; });
    done_.push_back(one);
  }
  const absl::Span<Operation> batch(done_.data() + first, count);
  const int64_t now_ns = NowNs();
  // Until it is answered it may have any end.
  for (Operation& one : batch) one.begin_ns = one.end_ns = now_ns;
  return batch;
}

void LoadClient::Call(absl::Span<Operation> batch) {
  const std::unique_ptr<client::Client> hasty = IsRead(batch[0].verb) ? nullptr : DrawHasty(batch);
  const absl::Status status = object_.Execute(hasty == nullptr ? *client_ : *hasty, batch);
  const int64_t now_ns = NowNs();
  for (Operation& one : batch) one.end_ns = now_ns;
  if (!status.ok()) return Failed(status);
  for (const Operation& one : batch) {
    if (one.read == 0) continue;
    const auto key = std::lower_bound(std::begin(kKeys), std::end(kKeys), one.key);
    last_read_[key - std::begin(kKeys)] = one.read;
  }
}

std::unique_ptr<client::Client> LoadClient::DrawHasty(absl::Span<const Operation> batch) {
  if (random_() % kHastyEvery != 0) return nullptr;
  const uint64_t us = kHastyMinUs + random_() % (kHastyMaxUs - kHastyMinUs + 1);
  for (const Operation& one : batch) {
    const auto key = std::lower_bound(std::begin(kKeys), std::end(kKeys), one.key);
    if (progress_.hasty_writes[static_cast<size_t>(key - std::begin(kKeys))].fetch_add(
            1, std::memory_order_relaxed) >= kHastyPerKeyMax) {
      return nullptr;
    }
  }
  return client_->WithTimeout(absl::Microseconds(us));
}

void LoadClient::Failed(const absl::Status& status) {
  if (absl::IsDeadlineExceeded(status)) return;
  // The first, for a reader who wonders about the count.
  if (failures_.fetch_add(1, std::memory_order_relaxed) == 0) {
    std::fprintf(stderr, "client %u: %s\n", options_.id, status.ToString().c_str());
  }
}

}  // namespace eris
