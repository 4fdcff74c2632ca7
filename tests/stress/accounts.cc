// Money moves between accounts in objects of all kinds that have scans: it is taken from one, and
// given to another when that is acknowledged. One snapshot of the whole engine shows all of it but
// what is just under way, and shows the same when it is read again. Each transfer is then noted in
// a heap table, of which a snapshot shows each writer's first notes without a gap.
#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <shared_mutex>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/stress/loads.h"

namespace eris::stress {
namespace {

using test::AnyKind;
using test::AnyObject;
using test::AnyRows;

constexpr AnyKind kAccountKinds[] = {AnyKind::kIndex, AnyKind::kBytes, AnyKind::kTwoParts,
                                     AnyKind::kTable};
constexpr size_t kAccountKindCount = std::size(kAccountKinds);
constexpr uint32_t kWriters = 2;
constexpr uint64_t kAccounts = 32;  // of a writer, in each object
constexpr uint64_t kMoney = 1000;   // of an account at first
constexpr uint64_t kTransferMax = 50;
constexpr uint64_t kAll = kAccountKindCount * kWriters * kAccounts * kMoney;
constexpr uint64_t kNotesMax = 20'000;  // the heap is then dropped, and another one begun
constexpr char kNotes[] = "accounts-notes";

std::string AccountsName(AnyKind kind) { return "accounts-" + test::NameOf(kind); }

class Accounts final : public Load {
 public:
  explicit Accounts(World& world) : world_(world) {}

  void Prepare() override {
    for (const AnyKind kind : kAccountKinds) {
      world_.CreateMovable(kind, AccountsName(kind));
      AnyRows rows;
      for (uint64_t writer = 0; writer < kWriters; ++writer) {
        for (uint64_t i = 0; i < kAccounts; ++i)
          rows.push_back({{SpreadKey(i, writer), 0}, kMoney});
      }
      const absl::Status put = AnyObject(world_.engine(), kind, AccountsName(kind)).Put(rows);
      if (!put.ok()) world_.Fault("accounts: " + put.ToString());
    }
    world_.CreateMovable(AnyKind::kHeapTable, kNotes);
    notes_ = test::Open(world_.engine(), kNotes);
  }
  std::vector<std::function<void()>> Threads() override {
    std::vector<std::function<void()>> threads;
    for (uint32_t i = 0; i < kWriters; ++i) threads.emplace_back([this, i] { Write(i); });
    threads.emplace_back([this] { Read(); });
    return threads;
  }
  void CheckEnd() override {
    const uint64_t money = MoneyAt(nullptr, nullptr);
    if (money != kAll) {
      world_.Fault(absl::StrCat("accounts: in the end ", money, " of ", kAll, " are there"));
    }
    if (world_.Get(Figure::kTransfers) == 0) world_.Fault("accounts: nothing was transferred");
  }

 private:
  struct Writer {
    // Notes sent and acknowledged. release and acquire: a reader that sees `acknowledged` takes its
    // snapshot after that, and reads `sent` after the snapshot.
    std::atomic<uint64_t> sent{0};
    std::atomic<uint64_t> acknowledged{0};
  };

  void Write(uint32_t writer) {
    std::mt19937_64 random(world_.SeedOf(absl::StrCat("writer ", writer)));
    std::vector<std::unique_ptr<AnyObject>> objects;
    for (const AnyKind kind : kAccountKinds) {
      objects.push_back(std::make_unique<AnyObject>(world_.engine(), kind, AccountsName(kind)));
    }
    std::vector<std::vector<uint64_t>> money(kAccountKindCount,
                                             std::vector<uint64_t>(kAccounts, kMoney));
    const auto put = [&](size_t kind, uint64_t account) {
      std::vector<uint8_t> existed;
      const absl::Status status =
          objects[kind]->Put({{{SpreadKey(account, writer), 0}, money[kind][account]}}, existed);
      if (!status.ok()) world_.Count(Figure::kRefused);
      world_.OkOrRefused(status, "accounts: a write");
      if (status.ok() && existed[0] == 0) world_.Fault("accounts: an account was not there");
      return status.ok();
    };
    while (!world_.Ending()) {
      const size_t from = random() % kAccountKindCount, to = random() % kAccountKindCount;
      const uint64_t source = random() % kAccounts, target = random() % kAccounts;
      if ((from == to && source == target) || money[from][source] == 0) continue;
      const uint64_t amount = 1 + random() % std::min(money[from][source], kTransferMax);
      money[from][source] -= amount;
      if (!put(from, source)) {  // a refused write has changed nothing
        money[from][source] += amount;
        continue;
      }
      money[to][target] += amount;
      while (!put(to, target)) {
        if (world_.faults() > 0) return;
        absl::SleepFor(absl::Milliseconds(1));
      }
      Note(writer, objects[0]->session());
      world_.Count(Figure::kTransfers);
    }
  }

  void Note(uint32_t writer, Session& session) {
    std::shared_lock<std::shared_mutex> lock(heap_mu_);
    Writer& mine = writers_[writer];
    const uint64_t number = mine.acknowledged.load(std::memory_order_relaxed);  // own
    if (number >= kNotesMax) return;
    mine.sent.store(number + 1, std::memory_order_release);
    test::AnyBatch rows(AnyKind::kHeapTable, AnyRows{{{number, 0}, writer}});
    const absl::Status status = session.Write(notes_, rows.write(WriteMode::kAppend)).status;
    world_.OkOrRefused(status, "accounts: a note");
    if (status.ok()) {
      mine.acknowledged.store(number + 1, std::memory_order_release);
    } else {
      world_.Count(Figure::kRefused);
      mine.sent.store(number, std::memory_order_release);
    }
  }

  // All money, as of the snapshot, and the rows that it is read from. 0 where the snapshot was
  // given up.
  uint64_t MoneyAt(const std::shared_ptr<Snapshot>& snapshot, std::vector<AnyRows>* all) {
    uint64_t money = 0;
    for (const AnyKind kind : kAccountKinds) {
      AnyObject object(world_.engine(), kind, AccountsName(kind));
      auto rows = object.All(snapshot);
      if (!world_.ReadOk(rows.status(), "accounts: " + AccountsName(kind))) return 0;
      if (rows->size() != kWriters * kAccounts) {
        world_.Fault(absl::StrCat("accounts: a scan of ", AccountsName(kind), " has ", rows->size(),
                                  " rows, not ", kWriters * kAccounts));
      }
      for (const auto& [key, value] : *rows) money += value;
      if (all != nullptr) all->push_back(*std::move(rows));
    }
    return money;
  }

  void Read() {
    while (!world_.Ending()) {
      // Exclusive to the change of heaps alone, which this thread makes.
      uint64_t acknowledged[kWriters];
      for (uint32_t i = 0; i < kWriters; ++i) {
        acknowledged[i] = writers_[i].acknowledged.load(std::memory_order_acquire);
      }
      const auto snapshot = world_.engine().TakeSnapshot();
      if (!snapshot.ok()) {
        world_.Fault("accounts: " + snapshot.status().ToString());
        return;
      }
      uint64_t sent[kWriters];
      for (uint32_t i = 0; i < kWriters; ++i) {
        sent[i] = writers_[i].sent.load(std::memory_order_acquire);
      }
      std::vector<AnyRows> first, second;
      const uint64_t money = MoneyAt(*snapshot, &first);
      if (money == 0) continue;
      if (money > kAll || money + kWriters * kTransferMax < kAll) {
        world_.Fault(absl::StrCat("accounts: a snapshot shows ", money, " of ", kAll));
      }
      CheckNotes(*snapshot, acknowledged, sent);
      if (MoneyAt(*snapshot, &second) == 0) continue;
      for (size_t kind = 0; kind < kAccountKindCount; ++kind) {
        if (first[kind] != second[kind]) {
          world_.Fault(absl::StrCat("accounts: a snapshot of ", AccountsName(kAccountKinds[kind]),
                                    " read twice shows different rows"));
        }
      }
      world_.Count(Figure::kSnapshots);
      if (acknowledged[0] >= kNotesMax && acknowledged[1] >= kNotesMax) BeginNotesAnew();
    }
  }

  void CheckNotes(const std::shared_ptr<Snapshot>& snapshot, const uint64_t* acknowledged,
                  const uint64_t* sent) {
    AnyObject notes(world_.engine(), AnyKind::kHeapTable, kNotes);
    const auto rows = notes.All(snapshot);
    if (!world_.ReadOk(rows.status(), "accounts: notes")) return;
    uint64_t next[kWriters] = {};  // rows are sorted by number
    for (const auto& [key, writer] : *rows) {
      if (writer >= kWriters || key.first != next[writer]++) {
        world_.Fault(absl::StrCat("accounts: note ", key.first, " of writer ", writer,
                                  " comes twice, or one before it is missing"));
        return;
      }
    }
    for (uint32_t i = 0; i < kWriters; ++i) {
      if (next[i] < acknowledged[i] || next[i] > sent[i]) {
        world_.Fault(absl::StrCat("accounts: a snapshot shows ", next[i], " notes of writer ", i,
                                  ", ", acknowledged[i], " were acknowledged before and ", sent[i],
                                  " sent"));
      }
    }
  }

  void BeginNotesAnew() {
    std::unique_lock<std::shared_mutex> lock(heap_mu_);
    const absl::Status dropped = world_.engine().Drop(kNotes);
    if (!dropped.ok()) world_.Fault("accounts: " + dropped.ToString());
    AnyObject notes(world_.engine(), AnyKind::kHeapTable, kNotes);
    absl::Status created = notes.Create(test::OptionsOf(AnyKind::kHeapTable));
    while (absl::IsResourceExhausted(created)) {
      absl::SleepFor(absl::Milliseconds(10));
      created = notes.Create(test::OptionsOf(AnyKind::kHeapTable));
    }
    if (!created.ok()) return world_.Fault("accounts: " + created.ToString());
    notes_ = test::Open(world_.engine(), kNotes);
    for (Writer& writer : writers_) {
      writer.sent.store(0, std::memory_order_release);
      writer.acknowledged.store(0, std::memory_order_release);
    }
  }

  World& world_;
  std::shared_mutex heap_mu_;  // shared: a note is written; exclusive: the heap is replaced
  Object notes_;               // with that lock
  Writer writers_[kWriters];
};

}  // namespace

std::unique_ptr<Load> MakeAccounts(World& world) { return std::make_unique<Accounts>(world); }

}  // namespace eris::stress
