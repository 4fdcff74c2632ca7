// Sends the rows of a scan into another object: a chunk's rows become write commands to the owners
// of the target, through the AEU's own Port. This producer pauses: rows without room are kept and
// sent in a later turn, and no further chunk before that. Never waits. One per running scan; owned
// by the AEU. Paper: ERIS 3.1 (data commands that AEUs generate), contribution 2.
#ifndef ERIS_AEU_SCAN_INTO_SENDER_H_
#define ERIS_AEU_SCAN_INTO_SENDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "eris/types.h"
#include "routing/port.h"
#include "routing/table_scan_part.h"
#include "storage/batch.h"

namespace eris::aeu {

class ScanIntoSender {
 public:
  // `port` is the AEU's own.
  ScanIntoSender(AeuId self, routing::Port& port, const routing::TableScanTarget& target)
      : self_(self), port_(port), target_(target) {}

  // Sends the chunk's rows, at least one; from then on the answering AEUs use the chunk too.
  // REQUIRES: !pending(). Errors: InvalidArgument (nulls in a column of the target without nulls).
  // Throws std::bad_alloc. After either it has not been sent.
  absl::Status Send(routing::TableChunk* chunk);
  // Whether rows of the last chunk must still be sent, because there was no room for them.
  bool pending() const { return !left_.empty(); }
  // Sends the remaining rows; without memory they are answered accordingly. True if any have been
  // sent.
  bool SendLeft();
  // Answers the remaining rows instead of sending them.
  void AnswerLeft(storage::KeyState state);

 private:
  bool appends() const { return target_.type == routing::CommandType::kAppendRows; }
  // Throws std::bad_alloc.
  void TakeKeys(const routing::TableChunk& chunk);
  // Send the remaining keys, or pieces. Throw std::bad_alloc, with nothing sent.
  void SendKeys();
  void SendPieces();

  const AeuId self_;
  routing::Port& port_;
  const routing::TableScanTarget& target_;
  routing::TableChunk* chunk_ = nullptr;  // the chunk with remaining rows
  std::vector<uint64_t> heads_;
  std::vector<uint64_t> tails_;   // for keys of two words
  std::vector<uint32_t> left_;    // positions of keys, or numbers of pieces
  std::vector<uint64_t> firsts_;  // for appends: each piece's first row, and the end
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_SCAN_INTO_SENDER_H_
