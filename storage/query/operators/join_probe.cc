#include "storage/query/operators/join_probe.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "storage/table/query/block_values.h"

namespace eris::storage {
namespace {

// How many rows ahead the chain of a row is fetched.
constexpr uint32_t kChainAhead = 16;

}  // namespace

JoinProbe::JoinProbe(const JoinTable& table, QueryMemory& memory)
    : table_(table), scratch_(memory) {}

bool JoinProbe::Prepare() { return scratch_.Reserve(1); }

void JoinProbe::Begin(const SegmentView& view, uint32_t base, uint32_t rows, Rows which) {
  view_ = &view;
  base_ = base;
  at_ = 0;
  within_ = false;
  each_ = 1;
  count_ = FindPartners(base, rows, nullptr);
  if (which == Rows::kPartners) return;
  AddOthers(rows, count_);
  count_ = rows;
}

uint32_t JoinProbe::FindPartners(uint32_t base, uint32_t rows, const uint64_t* mask) {
  Scratch& s = scratch_[0];
  if (table_.empty()) return 0;
  const JoinKeys& keys = table_.keys();
  const uint32_t with_word =
      keys.Words(JoinKeys::Side::kProbe, *view_, base, rows, mask, s.picks, s.words);
  uint32_t partners = 0;
  for (uint32_t first = 0; first < with_word; first += kJoinGroup) {
    const uint32_t group = std::min(with_word - first, kJoinGroup);
    RowNumber found[kJoinGroup];
    table_.Find(s.words + first, group, found);
    if (keys.form() == JoinKeys::Form::kHashed) Verify(base, s.picks + first, found, group);
    for (uint32_t i = 0; i < group; ++i) {
      s.picks[partners] = s.picks[first + i];
      s.found[partners] = found[i];
      partners += found[i] != kNoRow;
    }
  }
  return partners;
}

void JoinProbe::Verify(uint32_t base, const uint16_t* picks, RowNumber* found,
                       uint32_t count) const {
  for (uint32_t i = 0; i < count; ++i) {
    if (found[i] != kNoRow) table_.keys().FetchForEqual(table_.build(), found[i]);
  }
  for (uint32_t i = 0; i < count; ++i) found[i] = FirstEqual(base + picks[i], found[i]);
}

RowNumber JoinProbe::FirstEqual(uint32_t row, RowNumber candidate) const {
  while (candidate != kNoRow && !table_.keys().Equal(*view_, row, table_.build(), candidate)) {
    candidate = table_.Next(candidate);
  }
  return candidate;
}

void JoinProbe::AddOthers(uint32_t rows, uint32_t partners) {
  Scratch& s = scratch_[0];
  // From the last row on: what is moved goes to where nothing is, or only what has been moved.
  for (uint32_t row = rows; row-- > 0;) {
    const bool has = partners > 0 && s.picks[partners - 1] == row;
    partners -= has;
    s.found[row] = has ? s.found[partners] : kNoRow;
    s.picks[row] = static_cast<uint16_t>(row);
  }
}

bool JoinProbe::Next(RowPairs& out) {
  ERIS_DCHECK(out.count < out.capacity);
  const Scratch& s = scratch_[0];
  if (table_.empty() || table_.unique()) {
    const uint32_t pairs = std::min(count_ - at_, out.capacity - out.count);
    std::memcpy(out.probe + out.count, s.picks + at_, pairs * sizeof *out.probe);
    std::memcpy(out.build + out.count, s.found + at_, pairs * sizeof *out.build);
    out.count += pairs;
    at_ += pairs;
    return at_ == count_;
  }
  for (; at_ < count_; ++at_) {
    if (at_ + kChainAhead < count_ && s.found[at_ + kChainAhead] != kNoRow) {
      table_.FetchNext(s.found[at_ + kChainAhead]);
    }
    if (!within_) partner_ = s.found[at_];
    do {
      if (out.count == out.capacity) return false;
      out.probe[out.count] = s.picks[at_];
      out.build[out.count++] = partner_;
      partner_ = PartnerAfter(s.picks[at_], partner_);
      within_ = partner_ != kNoRow;
    } while (within_);
  }
  return true;
}

bool JoinProbe::NextOfUnmatched(const uint64_t* matched, RowPairs& out) {
  Scratch& s = scratch_[0];
  // The rows that are left, with the next partner of each.
  const auto keep = [&s](uint32_t at, uint16_t pick, RowNumber partner) {
    s.picks[at] = pick;
    s.found[at] = partner;
  };
  uint32_t left = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    if (!BitAt(matched, s.picks[i])) keep(left++, s.picks[i], s.found[i]);
  }
  count_ = left;
  if (count_ == 0) return true;
  const uint32_t each = std::min(each_, (out.capacity - out.count) / count_);
  ERIS_DCHECK(each > 0);
  each_ = std::min(2 * each_, kBlockRows);
  left = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    if (!table_.unique() && i + kChainAhead < count_) table_.FetchNext(s.found[i + kChainAhead]);
    const uint16_t pick = s.picks[i];
    RowNumber partner = s.found[i];
    for (uint32_t pairs = 0; pairs < each && partner != kNoRow; ++pairs) {
      out.probe[out.count] = pick;
      out.build[out.count++] = partner;
      partner = PartnerAfter(pick, partner);
    }
    if (partner != kNoRow) keep(left++, pick, partner);
  }
  count_ = left;
  return count_ == 0;
}

RowNumber JoinProbe::PartnerAfter(uint16_t pick, RowNumber partner) const {
  if (partner == kNoRow || table_.unique()) return kNoRow;
  partner = table_.Next(partner);
  if (table_.keys().form() != JoinKeys::Form::kHashed) return partner;
  return FirstEqual(base_ + pick, partner);
}

void JoinProbe::Keep(const SegmentView& view, uint32_t base, uint32_t rows, uint64_t* mask,
                     bool with) {
  view_ = &view;
  at_ = count_ = 0;
  within_ = false;
  const uint32_t partners = FindPartners(base, rows, mask);
  uint64_t found[kBlockWords] = {};
  for (uint32_t i = 0; i < partners; ++i) {
    const uint16_t row = scratch_[0].picks[i];
    found[row / 64] |= uint64_t{1} << row % 64;
  }
  for (uint32_t w = 0; w * 64 < rows; ++w) mask[w] = with ? found[w] : mask[w] & ~found[w];
}

}  // namespace eris::storage
