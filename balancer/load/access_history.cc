#include "balancer/load/access_history.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace eris::balancer {
namespace {

constexpr uint32_t kForgottenBelow = 256 / 16;

uint64_t WeightOf(const std::vector<WeightedKey>& entries) {
  uint64_t sum = 0;
  for (const WeightedKey& entry : entries) sum += entry.weight;
  return sum;
}

// The number of equal weights with the same scatter: the square of the sum divided by the sum of
// squares.
template <class Count>
double Effective(const std::vector<WeightedKey>& entries, Count count) {
  double sum = 0;
  double squares = 0;
  for (const WeightedKey& entry : entries) {
    const auto weight = static_cast<double>(entry.weight);
    sum += weight;
    squares += weight * weight / count(entry);
  }
  return squares == 0 ? 0 : sum * sum / squares;
}

// Adds `more` to an entry. The number of accesses of the result is chosen so that its scatter is
// that of the sum; exact entries do not make others exact.
void Join(WeightedKey& entry, const WeightedKey& more) {
  const auto weight = static_cast<double>(entry.weight);
  const auto other = static_cast<double>(more.weight);
  const auto variance = [](double of, float accesses) {
    return accesses <= 0 ? 0 : of * of / static_cast<double>(accesses);
  };
  const double both = variance(weight, entry.accesses) + variance(other, more.accesses);
  entry.accesses = both <= 0 ? std::max(entry.accesses, more.accesses)
                             : static_cast<float>((weight + other) * (weight + other) / both);
  entry.weight += more.weight;
  entry.samples += more.samples;
}

// Sorts the entries and merges those with equal keys.
void Join(std::vector<WeightedKey>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const WeightedKey& a, const WeightedKey& b) { return a.key < b.key; });
  size_t used = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (used > 0 && entries[used - 1].key == entries[i].key) {
      Join(entries[used - 1], entries[i]);
    } else {
      entries[used++] = entries[i];
    }
  }
  entries.resize(used);
}

void Thin(std::vector<WeightedKey>& entries, size_t entries_max) {
  // Twice the mean of the entries to keep: half of the room is for merged neighbours.
  const uint64_t step = 2 * WeightOf(entries) / entries_max + 1;
  size_t used = 0;
  WeightedKey gathered;
  const auto close = [&] {
    if (gathered.weight > 0) entries[used++] = gathered;
    gathered = {};
  };
  for (size_t i = 0; i < entries.size(); ++i) {
    const WeightedKey entry = entries[i];
    if (entry.weight >= step) {
      close();
      entries[used++] = entry;
      continue;
    }
    Join(gathered, entry);
    gathered.key = entry.key;
    if (gathered.weight >= step) close();
  }
  close();
  entries.resize(used);
}

}  // namespace

void AccessHistory::Fade() {
  for (WeightedKey& entry : entries_) {
    entry.weight /= 2;
    entry.samples /= 2;
    entry.accesses /= 2;
  }
  std::erase_if(entries_, [](const WeightedKey& entry) { return entry.samples < kForgottenBelow; });
}

bool AccessHistory::Add(std::vector<WeightedKey> fresh, size_t entries_max) {
  Join(fresh);
  const bool shifted = HasShifted(fresh);
  if (shifted) entries_.clear();
  Merge(entries_, fresh, entries_max);
  return shifted;
}

void AccessHistory::Merge(std::vector<WeightedKey>& entries, const std::vector<WeightedKey>& fresh,
                          size_t entries_max) {
  entries.insert(entries.end(), fresh.begin(), fresh.end());
  Join(entries);
  if (entries.size() > entries_max) Thin(entries, entries_max);
}

uint64_t AccessHistory::total_weight() const { return WeightOf(entries_); }

double AccessHistory::EffectiveSamples(const std::vector<WeightedKey>& entries) {
  return Effective(entries,
                   [](const WeightedKey& entry) { return std::max(entry.samples, 1u) / 256.0; });
}

double AccessHistory::EffectiveAccesses() const {
  return Effective(entries_, [](const WeightedKey& entry) {
    return std::max<double>(entry.accesses, 1.0 / 256);
  });
}

bool AccessHistory::HasShifted(const std::vector<WeightedKey>& fresh) const {
  // The Kolmogorov-Smirnov test, at a chance of one in a million, and only for relevant
  // differences. It hardly detects changes of a few per cent of the load, although one of many AEUs
  // may get all of that. So each 64th of the older load is also tested by itself for whether it
  // gained another 64th.
  constexpr double kChance = 2.7;
  constexpr double kDifferenceMin = 0.15;
  constexpr double kPart = 1.0 / 64;
  constexpr double kPartChance = 5.7;  // of 64 normal deviates
  const double old_weight = static_cast<double>(WeightOf(entries_));
  const double fresh_weight = static_cast<double>(WeightOf(fresh));
  if (old_weight == 0 || fresh_weight == 0) return false;
  const double scatter = 1 / EffectiveSamples(entries_) + 1 / EffectiveSamples(fresh);
  const double chance = kChance * std::sqrt(scatter);
  double old_below = 0;  // as fractions of the whole
  double fresh_below = 0;
  double old_part_begin = 0;
  double fresh_part_begin = 0;
  for (size_t i = 0, j = 0; i < entries_.size() || j < fresh.size();) {
    const uint64_t key = j == fresh.size()      ? entries_[i].key
                         : i == entries_.size() ? fresh[j].key
                                                : std::min(entries_[i].key, fresh[j].key);
    if (i < entries_.size() && entries_[i].key == key) {
      old_below += static_cast<double>(entries_[i++].weight) / old_weight;
    }
    if (j < fresh.size() && fresh[j].key == key) {
      fresh_below += static_cast<double>(fresh[j++].weight) / fresh_weight;
    }
    if (std::abs(old_below - fresh_below) > std::max(chance, kDifferenceMin)) return true;
    const double old_part = old_below - old_part_begin;
    const bool last = i == entries_.size() && j == fresh.size();
    if (old_part < kPart && !last) continue;
    const double fresh_part = fresh_below - fresh_part_begin;
    const double part_chance = kPartChance * std::sqrt((old_part + fresh_part) / 2 * scatter);
    if (std::abs(old_part - fresh_part) > std::max(part_chance, kPart)) return true;
    old_part_begin = old_below;
    fresh_part_begin = fresh_below;
  }
  return false;
}

}  // namespace eris::balancer
