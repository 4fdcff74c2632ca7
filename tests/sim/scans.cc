// Ordered scans: part after part in key order, each read in slices. What a slice has read is
// noticed in the very turn that read it, as lookups of every key that it passed: a row had its
// value in that turn, and what lies between two rows was absent since the slice before at some
// moment. So the oracle of the keyed operations checks scans, too.
#include <algorithm>
#include <limits>
#include <utility>

#include "tests/sim/simulation.h"

namespace eris::sim {

using routing::CommandHeader;
using routing::CommandType;
using routing::PartOutcome;
using storage::Key;
using storage::KeyState;
using storage::Range;

namespace {

// The index of the first key behind the range.
uint32_t EndOf(const SimObject& object, const Range& range) {
  return range.hi ? object.IndexOf(*range.hi) : static_cast<uint32_t>(object.universe.size());
}

// Whether `rest` is what a scan of `asked` comes to last.
bool IsEndOf(const Range& asked, const Range& rest, bool backward) {
  if (!backward) return rest.hi == asked.hi && asked.Contains(rest.lo);
  return rest.lo == asked.lo && (!asked.hi || (rest.hi && *rest.hi <= *asked.hi));
}

// Leaves out all up to `key`, and the key itself. False: nothing is behind it.
bool GoBehind(Scan& scan, Key key) {
  if (scan.query.Backward()) {
    scan.rest.hi = key;
    return scan.rest.lo < key;
  }
  // The next one that the object can have.
  uint64_t& last = scan.object->two_parts ? key.tail : key.head;
  if (++last == 0 && (!scan.object->two_parts || ++key.head == 0)) return false;
  scan.rest.lo = key;
  return !scan.rest.Empty();
}

RangeAggregate AggregateOf(const SimObject& object, const Key& key, uint64_t value) {
  RangeAggregate one{.count = 1};
  if (object.form == Form::kBytes) return one;
  one.min = one.max = one.sum_low = value;
  one.first_key = one.last_key = key.head;
  if (object.two_parts) one.first_second = one.last_second = key.tail;
  return one;
}

}  // namespace

void Simulation::StartScan(uint32_t client, SimObject& object, bool whole) {
  auto scan = std::make_unique<Scan>(static_cast<uint32_t>(random_.Between(1, 3)),
                                     static_cast<uint32_t>(random_.Between(1, 9)), object.two_parts,
                                     world_.snapshots());
  scan->object = &object;
  scan->client = client;
  if (!whole) {
    // At a key, or right behind it.
    const auto pick = [&] {
      Key key = object.universe[random_.Below(object.universe.size())];
      uint64_t& last = object.two_parts ? key.tail : key.head;
      last += random_.Below(2);
      return key;
    };
    if (!random_.OneIn(4)) scan->rest.lo = pick();
    if (!random_.OneIn(4)) scan->rest.hi = std::max(pick(), scan->rest.lo);
    if (random_.OneIn(4)) scan->rows_left = random_.Between(1, 20);
    if (random_.OneIn(3)) scan->query.direction = ScanDirection::kBackward;
    if (object.form != Form::kBytes && random_.OneIn(6)) {
      scan->query.values.lo = 1 + random_.Below(next_value_);
      if (random_.OneIn(2)) scan->query.values.last = scan->query.values.lo + random_.Below(50);
    }
  }
  Note("client starts a scan", client, scan->rest.lo.head, scan->rest.hi ? scan->rest.hi->head : 0);
  if (scan->rest.Empty()) return;
  outcome_.coverage.Add(Event::kScans);
  if (scan->query.Backward()) outcome_.coverage.Add(Event::kBackwardScans);
  if (scan->query.Filters()) outcome_.coverage.Add(Event::kFilteredScans);
  if (!whole && random_.OneIn(2)) {
    scan->snapshot = TakeSnapshot();
    scan->adds = !scan->rows_left && !scan->query.Backward() && random_.OneIn(3);
    if (scan->adds) scan->added_up.emplace();
    outcome_.coverage.Add(Event::kSnapshotScans);
    if (options_.bug == PlantedBug::kEndSnapshotEarly) scan->LetSnapshotGo();
  }
  scan->cursor = scan->query.Backward() ? EndOf(object, scan->rest) : object.IndexOf(scan->rest.lo);
  scan->last_step = now_;
  scan->whole = scan->rest;
  scan->part.GiveAll();
  clients_[client].scan = std::move(scan);
  SendScanPart(*clients_[client].scan);
}

void Simulation::SendScanPart(Scan& scan) {
  Client& client = clients_[scan.client];
  if (draining_) RefreshView(client, *scan.object);
  const routing::ObjectRoute& view = ViewOf(client, *scan.object);
  const auto pin = view.Pin();
  const routing::RangeTable& table = *pin;
  const bool backward = scan.query.Backward();
  const size_t partition =
      table.PartitionOf(backward ? storage::LastFirstPartOf(scan.rest) : scan.rest.lo.head);
  scan.asked = scan.rest;
  // One partition at a time, as the engine does; or as far as the AEU can answer.
  const Range owned = table.RangeOf(partition);
  const bool beyond = backward ? scan.asked.lo < owned.lo
                               : owned.hi && (!scan.asked.hi || *owned.hi < *scan.asked.hi);
  scan.wide = beyond && random_.OneIn(4);
  if (beyond && !scan.wide) {
    backward ? void(scan.asked.lo = owned.lo) : void(scan.asked.hi = owned.hi);
  }
  // What lies between two parts was passed, too.
  if (!scan.adds) {
    PassTo(scan, backward ? EndOf(*scan.object, scan.asked) : scan.object->IndexOf(scan.asked.lo));
  }
  scan.last_step = now_;
  storage::ScanQuery query = scan.query;
  if (options_.bug == PlantedBug::kNarrowFilter && query.Filters() &&
      query.values.lo < query.values.last) {
    ++query.values.lo;
  }
  query.count_only = scan.adds && scan.object->form == Form::kBytes;
  const routing::ScanSegment segment{scan.asked,
                                     scan.rows_left.value_or(std::numeric_limits<uint64_t>::max()),
                                     &scan.part, query, scan.adds};
  const CommandHeader header{.type = CommandType::kScan,
                             .slot = view.slot(),
                             .object = view.object(),
                             .table_version = table.version(),
                             .snapshot = scan.snapshot ? scan.snapshot->held.epoch : 0,
                             .complete = &test::TestScanPart::Answered,
                             .context = &scan.part,
                             .count = 1};
  MayFlush(scan.client);
  const bool sent =
      client.port->SendTo(table.owners()[partition], header,
                          {reinterpret_cast<const std::byte*>(&segment), sizeof segment});
  if (!sent) {
    outcome_.coverage.Add(Event::kScanPartsRefused);
    if (!plan_.may_refuse()) Fail("a scan part was refused where there are blocks enough");
    return;
  }
  ++scan.parts;
  scan.out = true;
  scan.waiting.Begin(turns_, now_);
  outcome_.coverage.Add(Event::kScanParts);
  if (draining_ || !plan_.lazy_flushes || random_.OneIn(2)) FlushClient(scan.client);
}

void Simulation::ObserveKey(Scan& scan, uint32_t key, uint64_t value, uint32_t since) {
  Note("scan passes", key, value, since);
  KeyEvent event;
  event.found = value != kNoRow;
  event.value = value;
  event.filter = scan.query.values;
  event.sent = scan.snapshot ? scan.snapshot->taken : since;
  event.answered = scan.snapshot ? scan.snapshot->taken : now_;
  scan.object->histories[key].push_back(event);
}

void Simulation::PassTo(Scan& scan, size_t key) {
  if (scan.query.Backward()) {
    while (scan.cursor > key) ObserveKey(scan, --scan.cursor, kNoRow, scan.last_step);
  } else {
    while (scan.cursor < key) ObserveKey(scan, scan.cursor++, kNoRow, scan.last_step);
  }
}

void Simulation::ObserveScan(Scan& scan) {
  const uint32_t cursor_before = scan.cursor;
  std::vector<std::pair<Key, uint64_t>> rows;
  for (size_t i = 0; i < scan.seen.size(); ++i) {
    const storage::ScanRows& chunk = scan.part.chunks[i].rows;
    for (; scan.seen[i] < chunk.rows; ++scan.seen[i]) {
      const uint32_t row = scan.seen[i];
      rows.emplace_back(Key{chunk.keys[row], chunk.seconds == nullptr ? 0 : chunk.seconds[row]},
                        ValueIn(*scan.object, chunk.values[row]));
    }
  }
  std::sort(rows.begin(), rows.end());  // chunks are not in the order of their keys
  const bool backward = scan.query.Backward();
  if (backward) std::reverse(rows.begin(), rows.end());
  for (const auto& [key, value] : rows) {
    const uint32_t index = scan.object->IndexOf(key);
    if (index == scan.object->universe.size() || scan.object->universe[index] != key) {
      return Fail("a scan found key " + TextOf(key) + ", which nobody ever wrote");
    }
    if (backward ? index >= scan.cursor : index < scan.cursor) {
      return Fail("a scan found key " + TextOf(key) + " too late");
    }
    if (!scan.query.values.Contains(value) && scan.query.Filters()) {
      return Fail("a scan found key " + TextOf(key) + ", whose value it has not asked for");
    }
    if (!scan.asked.Contains(key)) {
      return Fail("a scan found key " + TextOf(key) + " outside its range");
    }
    PassTo(scan, index + backward);
    ObserveKey(scan, backward ? --scan.cursor : scan.cursor++, value, now_);
    scan.last_step = now_;
    scan.read.Add(AggregateOf(*scan.object, key, value));
    ++scan.rows_seen;
    outcome_.coverage.Add(Event::kScanRows);
  }
  // Without an empty chunk it is the reader who is waited for, and under a stub the transfer.
  if (scan.cursor != cursor_before || !scan.part.HasEmpty() || Transfers(*scan.object)) {
    scan.waiting.Begin(turns_, now_);
  }
  if (scan.part.ended == scan.parts) EndScanPart(scan);
  if (scan.part.ended > scan.parts) Fail("a scan part has ended twice");
}

void Simulation::EndScanPart(Scan& scan) {
  const PartOutcome outcome = scan.part.outcome();
  const std::optional<Range>& rest = scan.part.rest();
  Note("a scan part ends", static_cast<uint64_t>(outcome), rest ? rest->lo.head : 0);
  scan.out = false;
  const bool backward = scan.query.Backward();
  // Where the answered rows end.
  size_t end = backward ? scan.object->IndexOf(scan.asked.lo) : EndOf(*scan.object, scan.asked);
  switch (outcome) {
    case PartOutcome::kAnswered:
      if (scan.rows_left && scan.rows_seen == *scan.rows_left) return;  // the limit ended it
      break;
    case PartOutcome::kMoved:
      outcome_.coverage.Add(Event::kScanPartsMoved);
      if (!plan_.may_move() && !scan.wide) return Fail("a scan part moved, but no range ever does");
      if (!rest || rest->Empty() || !IsEndOf(scan.asked, *rest, backward)) {
        return Fail("a scan part's rest is not the end of what was asked for");
      }
      end = backward ? EndOf(*scan.object, *rest) : scan.object->IndexOf(rest->lo);
      break;
    case PartOutcome::kNoObject:
      outcome_.coverage.Add(Event::kScanPartsNoObject);
      if (scan.object->phase == SimObject::Phase::kLive) Fail("the scanned object is there");
      return;
    case PartOutcome::kAborted:
      SnapshotGivenUp(*scan.object, *scan.snapshot);
      if (options_.bug == PlantedBug::kTakeGivenUp && !scan.adds) break;
      return;
    case PartOutcome::kCancelled:
      if (!scan.cancelled) Fail("a scan part was cancelled by nobody");
      return;
    case PartOutcome::kRunning:
    case PartOutcome::kRefused:
    case PartOutcome::kNoMemory:  // of the general heap, which fails nowhere here
      return Fail("a scan part ended as outcome " + std::to_string(static_cast<int>(outcome)));
  }
  if (scan.adds) {
    scan.added_up->Add(scan.part.aggregate());
    const bool moved = outcome == PartOutcome::kMoved;
    if (options_.bug == PlantedBug::kAddTwice && moved) scan.added_up->Add(scan.part.aggregate());
  } else {
    PassTo(scan, end);
  }
}

bool Simulation::AddedUp(Scan& scan) {
  if (scan.adds) {
    scan.adds = false;
    scan.all_added_up = true;
    scan.rest = scan.whole;
    outcome_.coverage.Add(Event::kAggregates);
    return true;
  }
  if (scan.all_added_up && scan.read != *scan.added_up) {
    Fail("an aggregate of " + std::to_string(scan.added_up->count) + " rows and the sum " +
         std::to_string(scan.added_up->sum_low) + " is not that of the " +
         std::to_string(scan.read.count) + " rows of the same snapshot, whose sum is " +
         std::to_string(scan.read.sum_low));
  }
  return false;
}

Range Simulation::Moved(const Scan& scan) const {
  Range rest = scan.rest;
  if (scan.query.Backward()) {
    rest.hi = scan.part.rest()->hi;
    if (options_.bug == PlantedBug::kSkipBackwardRow) {
      const uint32_t end = EndOf(*scan.object, rest);
      if (end > 0) rest.hi = std::max(scan.object->universe[end - 1], rest.lo);
    }
    return rest;
  }
  rest.lo = scan.part.rest()->lo;
  if (options_.bug == PlantedBug::kSkipScanRow) ++rest.lo.head;
  // Its place was in the tree that has been cut: it comes to the end of that one.
  if (options_.bug == PlantedBug::kPointerCursor && scan.asked.hi) rest.lo = *scan.asked.hi;
  return rest;
}

bool Simulation::ReadScan(uint32_t client) {
  if (clients_[client].scan == nullptr) return false;
  Scan& scan = *clients_[client].scan;
  const bool backward = scan.query.Backward();
  while (auto* chunk = scan.part.TakeFilled()) {
    for (uint32_t i = 0; i < chunk->rows.rows; ++i) {
      const Key key{chunk->rows.keys[i],
                    chunk->rows.seconds == nullptr ? 0 : chunk->rows.seconds[i]};
      const auto in_order = [&](const Key& before) {
        return backward ? key < before : before < key;
      };
      if (scan.last_read && !in_order(*scan.last_read)) Fail("a scan's rows are not in key order");
      scan.last_read = key;
      ++scan.rows_read;
    }
    scan.seen[static_cast<size_t>(chunk - scan.part.chunks.data())] = 0;
    scan.part.GiveChunk(chunk);
    if (!draining_) return true;
  }
  if (scan.out) {
    if (!draining_ && plan_.cancels && !scan.cancelled && random_.OneIn(8)) {
      Note("client cancels its scan", client);
      outcome_.coverage.Add(Event::kScansCancelled);
      scan.part.SetCancelled();
      scan.cancelled = true;
    }
    return true;
  }
  if (scan.rows_read != scan.rows_seen) {
    Fail("a scan was given " + std::to_string(scan.rows_read) + " of " +
         std::to_string(scan.rows_seen) + " rows");
    return false;
  }
  const PartOutcome last = scan.part.outcome();
  // Before its first part there is nothing to go on from.
  bool over = false;
  if (scan.parts > 0 && scan.part.outcome() != PartOutcome::kRunning) {
    const PartOutcome outcome = scan.part.outcome();
    const Range before = scan.rest;
    over = outcome == PartOutcome::kNoObject || outcome == PartOutcome::kCancelled ||
           outcome == PartOutcome::kAborted;
    if (outcome == PartOutcome::kMoved) {
      scan.rest = Moved(scan);
      if (random_.OneIn(2)) RefreshView(clients_[client], *scan.object);
    } else if (!over && backward) {
      over = scan.asked.lo == scan.rest.lo;
      if (!over) scan.rest.hi = scan.asked.lo;
    } else if (!over) {
      over = scan.asked.hi == scan.rest.hi;
      if (!over) scan.rest.lo = *scan.asked.hi;
    }
    if (scan.rows_left) {
      *scan.rows_left -= scan.rows_seen;
      scan.rows_seen = scan.rows_read = 0;
    }
    if (scan.rows_left && *scan.rows_left == 0) {
      const bool answered = outcome == PartOutcome::kAnswered;
      if ((answered || outcome == PartOutcome::kMoved) && !scan.cancelled && random_.OneIn(2)) {
        // It goes on behind the last row, as with a token.
        scan.rows_left = random_.Between(1, 20);
        if (answered) {
          scan.rest = before;
          over = !GoBehind(scan, *scan.last_read);
          if (options_.bug == PlantedBug::kSkipResumedRow && !over) {
            over = !GoBehind(scan, backward ? *scan.rest.hi : scan.rest.lo);
          }
        }
        outcome_.coverage.Add(Event::kScansResumed);
      } else {
        over = true;
      }
    }
    scan.part.Reset();
  }
  over |= scan.rest.Empty() || (scan.cancelled && !scan.out);
  const bool told_all = scan.parts > 0 && !scan.cancelled &&
                        (last == PartOutcome::kAnswered || last == PartOutcome::kMoved) &&
                        !(scan.rows_left && *scan.rows_left == 0);
  if (over && told_all && AddedUp(scan)) {
    SendScanPart(scan);
    return true;
  }
  if (over && told_all) {
    // The client takes the range to be answered: what it has not been told of was not there.
    PassTo(scan, backward ? scan.object->IndexOf(scan.rest.lo) : EndOf(*scan.object, scan.rest));
  }
  if (over) {
    clients_[client].scan.reset();
  } else {
    SendScanPart(scan);
  }
  return true;
}

}  // namespace eris::sim
