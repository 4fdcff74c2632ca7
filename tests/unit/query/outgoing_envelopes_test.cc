// Envelopes for others: each target takes its own, and the filler frees the rest.
#include "storage/query/rows/outgoing_envelopes.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/query/query_lab.h"

namespace eris::storage {
namespace {

Envelope* OneRow(QueryLab& lab, int64_t number) {
  const std::vector<EnvelopeColumn> columns{{.type = ColumnType::kInt64}};
  const std::vector<uint32_t> no_strings{0};
  Envelope* const envelope = Envelope::Create(lab.memory, columns, 1, no_strings);
  PutCell(Cell{.number = number}, envelope->out().columns[0], 0);
  envelope->out().rows = 1;
  envelope->Seal();
  return envelope;
}
int64_t NumberOf(const Envelope* envelope) {
  return static_cast<int64_t>(CellAt(envelope->column(0), 0).number);
}

TEST(OutgoingEnvelopesTest, EachTargetTakesItsOwn) {
  QueryLab lab;
  OutgoingEnvelopes outgoing(lab.memory);
  ASSERT_TRUE(outgoing.Prepare(3));
  for (int64_t i = 0; i < 6; ++i) outgoing.Add(i < 4 ? 0 : 2, OneRow(lab, i));
  EXPECT_EQ(outgoing.First(1), nullptr);
  EXPECT_EQ(outgoing.First(3), nullptr);  // no target
  std::vector<int64_t> taken;
  while (Envelope* const first = outgoing.First(0)) {
    outgoing.Taken(0, first->next());
    taken.push_back(NumberOf(first));
    Envelope::Free(first, lab.memory);
  }
  EXPECT_EQ(taken, (std::vector<int64_t>{3, 2, 1, 0}));
  EXPECT_EQ(NumberOf(outgoing.First(2)), 5);
  // The two of target 2, and then no more.
  EXPECT_TRUE(outgoing.FreeOne());
  EXPECT_TRUE(outgoing.FreeOne());
  EXPECT_FALSE(outgoing.FreeOne());
  EXPECT_EQ(outgoing.First(2), nullptr);
}

TEST(OutgoingEnvelopesTest, WhatNobodyHasTakenIsFreed) {
  QueryLab lab;  // which finds that nothing is left
  OutgoingEnvelopes outgoing(lab.memory);
  ASSERT_TRUE(outgoing.Prepare(2));
  for (int64_t i = 0; i < 10; ++i) outgoing.Add(i % 2, OneRow(lab, i));
}

TEST(OutgoingEnvelopesTest, WithoutMemoryThereAreNoTargets) {
  QueryLab lab;
  OutgoingEnvelopes outgoing(lab.memory);
  lab.tree.cache.ArmFailures(1, memory::FailurePoint::Mode::kOnce);
  EXPECT_FALSE(outgoing.Prepare(2));
  lab.tree.cache.ArmFailures(0, memory::FailurePoint::Mode::kOnce);
  EXPECT_EQ(outgoing.First(0), nullptr);
  EXPECT_FALSE(outgoing.FreeOne());
}

}  // namespace
}  // namespace eris::storage
