// What a scan into another object sends: a chunk's rows become write commands to the owners of the
// target, through the AEU's own Port. A producer that pauses: what finds no room is kept and sent
// in a later turn, and no further chunk before. Never waits. One per running scan; owned by the
// AEU. Paper: ERIS 3.1 (data commands that AEUs generate), contribution 2.
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

  // Sends the chunk's rows, at least one; from here on it is the answering AEUs' as well. REQUIRES:
  // nothing is left. Errors: InvalidArgument (nulls where the target has none). Throws
  // std::bad_alloc. It has not been sent then.
  absl::Status Send(routing::TableChunk* chunk);
  // Whether rows of the last chunk are still to be sent, since there was no room for them.
  bool pending() const { return !left_.empty(); }
  // Sends what is left; without memory it is answered so. True if anything has gone.
  bool SendLeft();
  // Answers what is left instead of sending it.
  void AnswerLeft(storage::KeyState state);

 private:
  bool appends() const { return target_.type == routing::CommandType::kAppendRows; }
  // Throws std::bad_alloc.
  void TakeKeys(const routing::TableChunk& chunk);
  // What is left, of keys or of pieces. Throw std::bad_alloc, with nothing sent.
  void SendKeys();
  void SendPieces();

  const AeuId self_;
  routing::Port& port_;
  const routing::TableScanTarget& target_;
  routing::TableChunk* chunk_ = nullptr;  // of which something is left
  std::vector<uint64_t> heads_;
  std::vector<uint64_t> tails_;   // of keys of two words
  std::vector<uint32_t> left_;    // positions of keys, or numbers of pieces
  std::vector<uint64_t> firsts_;  // of appends: each piece's first row, and the end
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_SCAN_INTO_SENDER_H_
