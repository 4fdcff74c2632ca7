// A Port: a source of data commands. It splits a command's keys by owner, writes the pieces into
// the outgoing buffers of their targets, and sends these when they are full or flushed. Each AEU
// and each session has one. Used by one thread at a time. Paper: ERIS 3.2, Figure 4.
//
// An AEU's Port copies a buffer into the target's incoming buffer. A Port outside the engine hands
// the whole block to the target's ingress, so that its thread may lose its core anywhere without
// delaying others. Blocks come from the Port's bounded pool. Nothing waits for ever: without room
// an AEU's Port returns the keys at once, and a Port outside first waits up to a limit.
// Cost of a call: O(keys + targets addressed). Memory: a few bytes per existing AEU; a target and a
// block per AEU addressed; a range table of up to 4096 ranges; 12 bytes per key of the largest
// call, freed beyond 65,536 keys (8 of them are touched only if keys find no room).
#ifndef ERIS_ROUTING_PORT_H_
#define ERIS_ROUTING_PORT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "routing/block_pool.h"
#include "routing/data_command.h"
#include "routing/endpoint.h"
#include "routing/ranges/object_route.h"
#include "routing/ranges/range_table.h"
#include "routing/ranges/table_reader.h"
#include "routing/reply.h"

namespace eris::routing {

class AnswerCollector;  // answers.h
struct KeyColumns;      // ranges/split_kernels.h

// A keyed command before it is split. Columns are borrowed for the length of the call.
struct KeyedCommand {
  CommandType type = CommandType::kLookup;
  std::span<const uint64_t> keys = {};
  std::span<const uint64_t> values = {};       // HasValues(type): as many as keys
  std::span<const uint32_t> positions = {};    // as many as keys; empty: 0, 1, 2, ...
  std::optional<uint8_t> lane = std::nullopt;  // lane of the first sender; default: this Port's
  uint64_t snapshot = 0;
  CompletionFunction complete = nullptr;
  Reply* context = nullptr;
  std::span<const std::byte> query = {};    // sent with every piece; a multiple of 8 bytes
  std::span<const uint64_t> expected = {};  // HasExpected(type): as many as keys
  std::span<const uint64_t> seconds = {};   // for two-part keys: as many as keys; else empty
  // kRecord: its blocks come home to PortOptions::home (kIngress only). kHome: for SendAlong;
  // positions are indices of `home`.
  AnswersTo answers = AnswersTo::kReply;
  const CommandHeader* home = nullptr;
};

struct PortOptions {
  enum class Way : uint8_t {
    kIncoming,  // for an AEU: copies into incoming buffers, never waits
    kIngress,   // for a thread outside: hands blocks over, waits up to a limit for a free one
  };
  Way way = Way::kIngress;
  // Size of one outgoing buffer; a record may be as large. kIncoming: at most half_bytes of the
  // incoming buffers.
  size_t outgoing_bytes = 64 << 10;
  // Size of all outgoing buffers of the Port; at least outgoing_bytes.
  size_t pool_bytes_max = 4 << 20;
  // Memory limit of several Ports together; outlives their blocks. nullptr: none.
  BlockAllowance* allowance = nullptr;
  // Where its thread belongs, for statistics.
  NumaNodeId numa_node{0};
  // How long a call waits if no block is returned. kIngress only.
  int64_t wait_ns = 0;
  // Where blocks with answers come home; it outlives them. kIngress only.
  ReturnPoint* home = nullptr;
  // Called now and then while a call waits for room and the allowance is crowded; it outlives the
  // Port. nullptr: only `home` is looked at.
  AnswerCollector* collector = nullptr;
};

class Port {
 public:
  // `directory` outlives the Port. Throws std::bad_alloc.
  Port(const EndpointDirectory& directory, const PortOptions& options);
  // kIngress: hands over what is buffered first. kIncoming: nothing may be buffered.
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Splits the command by the current table and buffers the pieces. Keys without room get
  // states[position] = `if_no_room`; returns their number, and the caller must answer them to
  // command.context. Commands of all three functions for one target keep their order. They throw
  // std::bad_alloc; then nothing has been sent.
  uint32_t Send(const ObjectRoute& route, const KeyedCommand& command,
                storage::KeyState if_no_room);
  // The same by `table`, a version of the route's that the caller keeps alive. `waits`: whether to
  // wait for room, as the options say.
  uint32_t SendBy(const RangeTable& table, const ObjectRoute& route, const KeyedCommand& command,
                  storage::KeyState if_no_room, bool waits = true);
  // The same, but all keys go to `target`, as a command of table `version`: along a stub.
  uint32_t SendAlong(AeuId target, uint64_t version, const ObjectRoute& route,
                     const KeyedCommand& command, storage::KeyState if_no_room);
  // The keys of the last Send without room, as indices into command.keys. Valid until the next
  // call.
  std::span<const uint32_t> refused_keys() const { return left_; }

  // Buffers one unsplit command: a record with room for `segment_bytes` (a multiple of 8) after its
  // header. Its size_bytes is set; the caller fills the rest before the next call. nullptr: no
  // room, or the record is larger than an outgoing buffer.
  [[nodiscard]] CommandHeader* Open(AeuId target, size_t segment_bytes);
  // The same for a complete segment. False: no room.
  [[nodiscard]] bool SendTo(AeuId target, const CommandHeader& header,
                            std::span<const std::byte> segment);
  // After it, commands for `target` need only memory for blocks. Throws std::bad_alloc, with
  // nothing changed.
  void ReserveTarget(AeuId target) { TargetOf(target); }
  // Takes back the record of the last call, which must have been an Open for `target`.
  void Withdraw(AeuId target, const CommandHeader* record);

  // Sends one command without keys to many AEUs: one copy, and a reference to each. Targets without
  // room are put into `refused`. Commands of one Port reach a target in the order of its calls,
  // whichever function sent them. Paper: ERIS 3.2 (multicast).
  void Multicast(std::span<const AeuId> targets, const CommandHeader& header,
                 std::span<const std::byte> segment, std::vector<AeuId>& refused);

  // Limits of visits (turn_door.h) in one Flush: the bytes sent to one AEU, and the number of AEUs.
  // Longer work is left to the AEU's own thread, which does not lose its core.
  static constexpr size_t kVisitBytesMax = 64 << 10;
  static constexpr size_t kVisitsMax = 4;

  // Sends everything buffered, and wakes each sleeping target once (or runs its turn). False if
  // some target had no room: its commands stay buffered (kIncoming only).
  bool Flush();

  bool HasBuffered() const { return !dirty_.empty(); }
  const PortCounters& counters() const { return counters_; }
  // Memory of all its blocks. For statistics.
  size_t allocated_bytes() const {
    return pool_->allocated_bytes() + multicasts_->allocated_bytes();
  }

  // Blocks in use elsewhere. For tests and statistics.
  uint32_t outstanding() const { return pool_->outstanding() + multicasts_->outstanding(); }

 private:
  // An AEU that this Port has addressed.
  struct Target {
    AeuEndpoint* endpoint = nullptr;
    Block* block = nullptr;  // its outgoing buffer, while it has content
    bool dirty = false;      // is in dirty_
    bool wake = false;       // is in to_wake_: something was sent to it, and it has not been woken
    bool blocked = false;    // had no room in this pass
    size_t sent_bytes = 0;   // since its last wake-up
    uint32_t pending = 0;    // keys of this Send that must still go into a record
    base::Counter* sent = nullptr;  // keys, to all AEUs of its NumaNode
  };
  // The position of a target's next key, in the record that Send is filling.
  struct Cursor {
    uint32_t at = 0;
    uint32_t end = 0;
    uint64_t* keys = nullptr;
    uint64_t* values = nullptr;
    uint64_t* expected = nullptr;
    uint64_t* seconds = nullptr;
    uint32_t* positions = nullptr;
  };

  // How long a call has been without room, from its first pause on.
  class Wait {
   public:
    // Gives the AEUs time. False: the limit has passed, or the Port has none.
    [[nodiscard]] bool Pause(Port& port);

   private:
    int attempts_ = 0;
    int64_t deadline_ns_ = 0;
  };

  // `table`, for splitting `keys` keys: its copy in this Port's memory, once enough keys have been
  // split by that version to pay for one. Valid until the next call.
  const RangeTable& NearCopyOf(const RangeTable& table, ObjectId object, size_t keys);
  // Throws std::bad_alloc; nothing has changed then.
  uint32_t TargetOf(AeuId aeu);
  // Reserves room for `count` targets. Throws std::bad_alloc.
  void GrowTargets(size_t count);
  // Reserves room for what splitting `keys` keys by `table` writes, so that it cannot fail midway.
  // Throws std::bad_alloc.
  void ReserveFor(const RangeTable& table, size_t keys);
  // Room for a record of `bytes` in the target's outgoing buffer; nullptr: none now.
  std::byte* Reserve(uint32_t target, size_t bytes);
  std::byte* ReserveOrWait(uint32_t target, size_t bytes);
  bool SendOver(uint32_t target);
  bool SendAllOver();
  void WakeTargets();
  void Wake(Target& to);
  // As WakeTargets, but runs turns if possible.
  void VisitTargets();

  // Send's two ways to put all of command's keys into records; keys of targets without room go to
  // left_. By range if there are few ranges (for commands without expected values and second
  // parts), else key by key.
  void SplitByRange(const ObjectRoute& route, const RangeTable& table, const KeyedCommand& command,
                    uint32_t chunk_keys);
  struct RangeSplit;
  // A record for each AEU that the chunk has keys of. False: some AEU has no room.
  bool OpenRecords(RangeSplit& split, const ObjectRoute& route, const RangeTable& table,
                   const KeyedCommand& command, const KeyColumns& chunk);
  // Copies the chunk's keys range by range, or leaves those of an AEU without room.
  void GatherRanges(RangeSplit& split, const RangeTable& table, const KeyedCommand& command,
                    const KeyColumns& chunk);
  void SplitByKey(const ObjectRoute& route, const RangeTable& table, const KeyedCommand& command);
  // Tries again with the keys in left_, up to a limit; answers those that still have no room.
  uint32_t EndSend(const ObjectRoute& route, uint64_t version, const KeyedCommand& command,
                   storage::KeyState if_no_room, bool waits);

  // The chunk's keys in [first, last] have no room now.
  void LeaveRange(std::span<const uint64_t> keys, size_t begin, size_t count, uint64_t first,
                  uint64_t last, uint32_t target);

  void CountByTarget(const RangeTable& table, std::span<const uint64_t> keys);
  // A record for the target's pending keys, or for as many as an outgoing buffer holds.
  bool OpenRecord(uint32_t target, const ObjectRoute& route, uint64_t version,
                  const KeyedCommand& command);
  // The columns of a record that has just been opened in the block; makes room for its answers.
  Cursor CursorAt(CommandHeader* header, Block* block) const;
  // Puts command's keys todo[0], todo[1], ... into records; keys of targets without room go to
  // left_. todo empty: all keys.
  void Fill(const ObjectRoute& route, uint64_t version, const KeyedCommand& command,
            std::span<const uint32_t> todo);
  // Fill, for keys of one part and of two: separate, so that one-part keys do not pay for the
  // others.
  void FillRecords(const ObjectRoute& route, uint64_t version, const KeyedCommand& command,
                   std::span<const uint32_t> todo);
  void FillTwoPartRecords(const ObjectRoute& route, uint64_t version, const KeyedCommand& command,
                          std::span<const uint32_t> todo);

  // Immutable after construction.
  const EndpointDirectory& directory_;
  const PortOptions options_;
  struct CloseBlockPool {
    void operator()(BlockPool* pool) const { pool->Close(); }
  };
  const std::unique_ptr<BlockPool, CloseBlockPool> pool_;
  const std::unique_ptr<BlockPool, CloseBlockPool> multicasts_;

  // Owned by the Port's thread.
  const std::unique_ptr<uint32_t[]> target_of_;  // by AeuId: index of targets_ plus 1; 0: none
  std::vector<Target> targets_;                  // in the order in which they were first addressed
  std::vector<Cursor> cursors_;                  // parallel to targets_
  std::vector<uint32_t> dirty_;                  // targets that may have a block
  std::vector<uint32_t> to_wake_;
  Block* multicast_ = nullptr;  // the multicast buffer, open until the next Flush
  // The table that TableOf found last, and its copy: the published one is on one NumaNode, and
  // every key reads it several times.
  ObjectId table_object_;
  uint64_t table_version_ = 0;
  uint64_t keys_by_table_ = 0;
  std::optional<RangeTable> own_table_;
  // For the current Send.
  std::vector<AeuId> target_of_key_;  // as an index of targets_
  std::vector<uint32_t> touched_;     // its targets
  std::vector<uint32_t> left_;        // keys without room in this pass
  std::vector<uint32_t> left_now_;    // in the previous pass

  // Shared: written by the Port's thread, read by anyone.
  PortCounters counters_;
  TableReader table_reader_;
  // Immutable after construction.
  const uint8_t lane_;  // last: its registration needs the members above
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_PORT_H_
