// A Port: a source of data commands. It splits a command's keys by owner, writes the pieces into
// the outgoing buffers of their targets and copies those over. An AEU has one, and so has each
// session. Used by one thread at a time. Paper: ERIS 3.2, Figure 4.
//
// A full incoming buffer blocks nobody for ever: an AEU's Port (no wait) hands the keys back at
// once, a Port outside the engine waits with a bound first. Cost of a call: O(keys + targets
// addressed).
#ifndef ERIS_ROUTING_PORT_H_
#define ERIS_ROUTING_PORT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "routing/data_command.h"
#include "routing/endpoint.h"
#include "routing/outgoing_buffer.h"
#include "routing/partition_table.h"
#include "routing/reply.h"

namespace eris::routing {

// A keyed command before it is split. Columns are borrowed for the length of the call.
struct KeyedCommand {
  CommandType type = CommandType::kLookup;
  std::span<const uint64_t> keys = {};
  std::span<const uint64_t> values = {};     // upsert: as many as keys
  std::span<const uint32_t> positions = {};  // as many as keys; empty: 0, 1, 2, ...
  uint16_t hops = 0;
  uint64_t snapshot = 0;
  CompletionFunction complete = nullptr;
  Reply* context = nullptr;
};

class Port {
 public:
  // `directory` outlives the Port. `outgoing_bytes`: capacity per target, at most half_bytes of the
  // incoming buffers. `wait_ns`: how long a call of Send, SendTo or Flush waits for room while none
  // comes, however many targets it has to wait for; 0 for an AEU.
  Port(const EndpointDirectory& directory, size_t outgoing_bytes, int64_t wait_ns);
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Splits by the table in force and buffers the pieces; full buffers are copied over. Keys that
  // find no room within the bound get states[position] = `if_no_room`; their number is returned,
  // and the caller owes command.context an answer for them.
  uint32_t Send(const ObjectRoute& route, const KeyedCommand& command,
                storage::KeyState if_no_room);

  // Buffers one unsplit command. `segment`: its data segment, a multiple of 8 bytes. False: no room
  // within the bound, or the record is larger than an outgoing buffer.
  [[nodiscard]] bool SendTo(AeuId target, CommandHeader header, std::span<const std::byte> segment);

  // Copies everything buffered over. False when some target had no room within the bound; what is
  // buffered for it stays.
  [[nodiscard]] bool Flush();
  // After a Flush that failed: answers what is still buffered. Keyed commands get states = `state`,
  // scan parts finish as kRefused; each completion is called here.
  void RefuseBuffered(storage::KeyState state);

  bool HasBuffered() const { return !dirty_.empty(); }

 private:
  struct Target {
    OutgoingBuffer buffer;
    bool dirty = false;
    // The record being filled by Send.
    CommandHeader* open = nullptr;
    uint32_t open_capacity = 0;
    uint32_t pending = 0;  // keys of this Send that still belong here
    bool blocked = false;  // had no room within the bound
  };

  // A call's time to wait begins with the first target that has no room, and anew when one gets it.
  void BeginWait() { deadline_ns_ = 0; }
  bool FlushTarget(uint32_t target);
  // Room for a record of `bytes` in the target's outgoing buffer, copying over what is there if
  // need be.
  bool MakeRoom(uint32_t target, size_t bytes);
  bool OpenRecord(uint32_t target, const ObjectRoute& route, const RangeTable& table,
                  const KeyedCommand& command);
  void MarkDirty(uint32_t target);

  // Immutable after construction.
  const EndpointDirectory& directory_;
  const size_t outgoing_bytes_;
  const int64_t wait_ns_;

  // Owned by the Port's thread.
  std::vector<Target> targets_;    // by AeuId
  std::vector<uint32_t> dirty_;    // targets with buffered records
  std::vector<uint32_t> touched_;  // targets of the Send under way
  std::vector<AeuId> owners_;      // scratch: owner of each key
  int64_t deadline_ns_ = 0;        // of the call under way; 0: it has not had to wait yet
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_PORT_H_
