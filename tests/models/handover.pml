/* The hand-over of a range from one AEU to another: aeu/ (the stub, the forwarding, scans that
 * pause), the coordinator in engine/, routing/transfer_step.h. docs/internals/balancing.md has the rule.
 *
 * AEUS AEUs hold KEYS ranges of a key each, with a first-in-first-out channel of CAPACITY records
 * for each pair. COORDINATORS move a range to any other AEU, MOVES times in all, each time as a
 * link or as a copy: kGive to the source, HANDOVER from there to the target, the table published
 * when the target has installed it, kConclude to the source. The source may refuse at first, the
 * target when the split is done (REFUSALS in all). CLIENTS clients do OPS operations each, one
 * after the other, on any key: the first one counts it up, the second one reads, and so on. Each
 * reads the table, and sends by what it has read at any time after; what meets an AEU that does not
 * hold the key goes along the stub, else back to the client as moved. With SCANS=1 a scan at a snapshot asks the owners of all keys: a part that comes to the
 * stub pauses until the step's conclusion, a part that meets a foreign key ends as moved with its
 * rest, which is sent again. CANCELS: it may be cancelled at any time.
 *
 * Abstracted: versions of tables, by which an AEU refuses what may be behind others (order.pml has
 * them, and a session with several under way); a turn is one command, so E is read by each (snapshot.pml has the rule of epochs); a
 * record of a version is kept for the one snapshot; the reservation of the slot; Port and incoming
 * buffer are one channel; what a link leaves out of a copy is only where the value lies meanwhile.
 * Sequentially consistent (see README.md).
 *
 * Properties
 *   - what is executed finds the value that all before have left: each key is a register in the
 *     order of execution, which is inside each operation's time (linearizable, nothing lost, none
 *     twice);
 *   - the table never names an AEU that has neither the range nor a stub; what a stub has sent on
 *     finds the range at its target, unless the target has refused it;
 *   - when a step is over each range has one owner, and the table names it;
 *   - the scan gets each key once, with its value at the snapshot, which is held meanwhile;
 *   - no deadlock; with -DLIVENESS every command is answered at last under weak fairness (then an
 *     AEU hears the coordinator first).
 *
 * Planted bugs (-D): PUBLISH_EARLY (before the acknowledgement), STUB_DROPPED_EARLY (before the
 * publication), CONCLUDED_EARLY (before the target has answered), TWO_PUBLISHERS (each derives its
 * table from the one at the beginning of its move), SPLIT_LOSES (a source that refuses has split
 * and loses what it has cut off), RETURN_LOSES (the range comes back from a target that has refused
 * without its row), TAKEN_BACK_INSTALLED (a copied range, although the target has installed it),
 * HANDOVER_OVERTAKEN (a record behind it is executed first, against the target's ranges),
 * ROWS_ON_TOP (the same in one group: the range is there, its row comes after the group),
 * GROUP_ACROSS_GIVE (a command is found to be the AEU's, then the range is given away, then the
 * command is executed), SERVES_UNDER_STUB (what it has lent), PARTS_COUNTED (the scan is complete
 * when as many parts have ended as were sent), VERSIONS_LEFT (a record stays at the source),
 * LIMBO_SCANNED (a part does not pause: it reads what was lent), FREED_AT_CANCEL (the snapshot is
 * released before all parts have answered), CONTROL_STARVES (with LIVENESS: an AEU may prefer
 * clients' commands to the coordinator's for ever).
 * BOUNCES is no bug: the table may name an AEU that has not got the range yet, which sends commands
 * back as moved. With it PUBLISH_EARLY and CONCLUDED_EARLY do harm only when the target refuses,
 * STUB_DROPPED_EARLY none.
 */
#ifndef AEUS
#define AEUS 3
#endif
#ifndef KEYS
#define KEYS 1 /* at most 2 */
#endif
#ifndef COORDINATORS
#define COORDINATORS 1 /* 2: each with its own key, and AEUs that are in no other's move */
#endif
#ifndef MOVES
#define MOVES 2
#endif
#ifndef REFUSALS
#define REFUSALS 1
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef OPS
#define OPS 1
#endif
#ifndef CAPACITY
#define CAPACITY 2
#endif
#ifndef SCANS
#define SCANS 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif

#define AT(aeu, key) ((aeu) * KEYS + (key))
#define PAIR(from, to) ((from) * AEUS + (to))
#define ROOM(to) (len(channel[PAIR(me, to)]) < CAPACITY)
#define NOWHERE AEUS
#define NO_KEY KEYS
#define HANDOVER CLIENTS /* a record: a client, or HANDOVER + a coordinator */

byte table[KEYS];

/* What AEUs have of each key. Of a range that was lent value and record stay. */
bool owns[AEUS * KEYS];
byte value[AEUS * KEYS];
bool has_record[AEUS * KEYS]; /* of the value at the snapshot */
byte record[AEUS * KEYS];
/* An AEU's stub. */
byte stub_key[AEUS] = NO_KEY;
byte stub_to[AEUS];
byte stub_step[AEUS]; /* the number of the move */

chan channel[AEUS * AEUS] = [CAPACITY] of { byte, byte }; /* record, step of the stub */

/* The step under way of each coordinator. */
#define IDLE 0
#define GIVE 1
#define UNDER_WAY 2
#define INSTALLED 3
#define REFUSED 4
#define RETURNED 5
#define CONCLUDE 6
typedef Step {
  byte phase;
  byte outcome;
  byte key;
  byte source;
  byte target;
  bool link;
  byte number;
  byte value;
  bool has_record;
  byte record
};
Step step[COORDINATORS];
bool busy[AEUS];
byte moves;
byte refusals = REFUSALS;

/* Clients' commands: in the ingress of an AEU, or on the way between AEUs, or answered. */
#define NOTHING 0
#define SENT 1
#define MOVED 2
#define ANSWERED 3
byte ingress[CLIENTS] = NOWHERE;
byte state[CLIENTS];
byte key_of[CLIENTS];
#define COUNTS(client) ((client) % 2 == 0)

/* The scan. A part has its lowest key's number. */
#define ALL_KEYS ((1 << KEYS) - 1)
byte part_at[KEYS] = NOWHERE;
byte part_rest[KEYS];
bool part_moved[KEYS];
byte seen;
byte parts_ended;
bool cancelled;
bool held;

/* The observer's. */
byte truth[KEYS];
byte at_snapshot[KEYS];
byte ends;

/* Of single steps. */
hidden byte client, number, key, target, from, whose, part;

inline count_owners(key) {
  number = 0;
  from = 0;
  do
  :: from < AEUS -> number = number + owns[AT(from, key)]; from++
  :: else -> break
  od
}

inline execute() {
#ifndef SERVES_UNDER_STUB
  assert(owns[AT(me, key)]);
#endif
  assert(value[AT(me, key)] == truth[key]);
  if
  :: COUNTS(client) ->
    if
    :: held && !has_record[AT(me, key)] ->
      has_record[AT(me, key)] = true;
      record[AT(me, key)] = value[AT(me, key)]
    :: else
    fi;
    value[AT(me, key)]++;
    truth[key]++
  :: else
  fi;
  state[client] = ANSWERED
}

#ifdef SERVES_UNDER_STUB
#define SERVES(key) (owns[AT(me, key)] || stub_key[me] == key)
#else
#define SERVES(key) owns[AT(me, key)]
#endif

/* `client`'s command, from the AEU `from` by the stub of step `number`; 0: by none. */
inline command() {
  key = key_of[client];
  if
  :: SERVES(key) -> execute()
  :: else ->
    assert(number == 0 || stub_key[from] != key || stub_step[from] != number ||
           step[0].outcome == RETURNED || step[COORDINATORS - 1].outcome == RETURNED);
    number = 0;
    if
    :: stub_key[me] == key && ROOM(stub_to[me]) ->
      number = stub_step[me];
      channel[PAIR(me, stub_to[me])]!client, number
    :: else ->
#ifndef BOUNCES
      assert(stub_key[me] == key || table[key] != me);
#endif
      state[client] = MOVED
    fi
  fi
}

inline forget(aeu, key) {
  value[AT(aeu, key)] = 0;
  has_record[AT(aeu, key)] = false;
  record[AT(aeu, key)] = 0
}

inline give() {
  key = step[whose].key;
  target = step[whose].target;
  if
  :: refusals > 0 ->
    refusals--;
#ifdef SPLIT_LOSES
    value[AT(me, key)] = 0;
#endif
    step[whose].outcome = REFUSED
  :: ROOM(target) ->
    assert(owns[AT(me, key)]);
    owns[AT(me, key)] = false;
    step[whose].value = value[AT(me, key)];
#ifndef VERSIONS_LEFT
    step[whose].has_record = has_record[AT(me, key)];
    step[whose].record = record[AT(me, key)];
#endif
    if
    :: step[whose].link -> forget(me, key)
    :: else
    fi;
    stub_key[me] = key;
    stub_to[me] = target;
    stub_step[me] = step[whose].number;
    channel[PAIR(me, target)]!HANDOVER + whose, 0
  fi;
  step[whose].phase = UNDER_WAY
}

inline hand_over() {
  key = step[whose].key;
  if
  :: refusals > 0 -> refusals--; step[whose].outcome = RETURNED
  :: true ->
    owns[AT(me, key)] = true;
    value[AT(me, key)] = step[whose].value;
    has_record[AT(me, key)] = step[whose].has_record;
    record[AT(me, key)] = step[whose].record;
    step[whose].outcome = INSTALLED
  fi
}

inline conclude() {
  key = step[whose].key;
  if
#ifdef CONCLUDED_EARLY
  :: step[whose].outcome != REFUSED ->
#else
  :: step[whose].outcome == INSTALLED ->
#endif
#ifdef TAKEN_BACK_INSTALLED
    if
    :: step[whose].link -> forget(me, key)
    :: else -> owns[AT(me, key)] = true
    fi
#else
    forget(me, key)
#endif
  :: else -> /* RETURNED */
    owns[AT(me, key)] = true;
    if
    :: step[whose].link ->
      value[AT(me, key)] = step[whose].value;
      has_record[AT(me, key)] = step[whose].has_record;
      record[AT(me, key)] = step[whose].record
    :: else
    fi;
#ifdef RETURN_LOSES
    value[AT(me, key)] = 0;
#endif
  fi;
  stub_key[me] = NO_KEY;
  stub_to[me] = 0;
  stub_step[me] = 0;
  step[whose].phase = IDLE
}

/* The next key of part p, whose keys ascend. */
#define NEAR(part) ((part_rest[part] & 1) -> 0 : KEYS - 1)
#ifdef LIMBO_SCANNED
#define CAN_GO_ON(part) (part_at[part] == me && !part_moved[part])
#define READS(key) (owns[AT(me, key)] || stub_key[me] == key)
#else
#define CAN_GO_ON(part)                                                                           \
  (part_at[part] == me && !part_moved[part] && (cancelled || stub_key[me] != NEAR(part)))
#define READS(key) owns[AT(me, key)]
#endif

inline scan_part() {
  if
  :: cancelled -> /* seen in time */
    part_at[part] = NOWHERE;
    part_rest[part] = 0
  :: !cancelled || stub_key[me] != NEAR(part) ->
    key = NEAR(part);
    if
    :: READS(key) ->
      assert(held);
      assert(!(seen & (1 << key)));
      assert((has_record[AT(me, key)] -> record[AT(me, key)] : value[AT(me, key)]) ==
             at_snapshot[key]);
      seen = seen | (1 << key);
      part_rest[part] = part_rest[part] & ~(1 << key);
      if
      :: part_rest[part] == 0 -> part_at[part] = NOWHERE; parts_ended++
      :: else
      fi
    :: else -> part_moved[part] = true
    fi
  fi
}

#define GIVEN(whose) (step[whose].phase == GIVE && step[whose].source == me)
#define CAN_GIVE(whose) (GIVEN(whose) && (refusals > 0 || ROOM(step[whose].target)))
#define CONCLUDED(whose) (step[whose].phase == CONCLUDE && step[whose].source == me)
#if defined(LIVENESS) && !defined(CONTROL_STARVES)
#define MAY_TAKE !(CAN_GIVE(0) || CONCLUDED(0))
#else
#define MAY_TAKE true
#endif
#define RECEIVES(from) (from != me && len(channel[PAIR(from, me)]) > 0)
#if AEUS == 3
#define RECEIVES_LAST false
#else
#define RECEIVES_LAST RECEIVES(3)
#endif

proctype Aeu(byte me) {
#ifdef GROUP_ACROSS_GIVE
  byte grouped = CLIENTS;
#endif
end:
  do
  :: atomic { MAY_TAKE && (ingress[0] == me || ingress[CLIENTS - 1] == me) ->
      if
      :: ingress[0] == me -> client = 0
      :: ingress[CLIENTS - 1] == me -> client = CLIENTS - 1
      fi;
      ingress[client] = NOWHERE;
      number = 0;
      from = me;
#ifdef GROUP_ACROSS_GIVE
      if
      :: owns[AT(me, key_of[client])] && grouped == CLIENTS -> grouped = client
      :: else -> command()
      fi
#else
      command()
#endif
    }
#ifdef GROUP_ACROSS_GIVE
  :: atomic { grouped < CLIENTS ->
      client = grouped;
      grouped = CLIENTS;
      key = key_of[client];
      if
      :: COUNTS(client) -> value[AT(me, key)]++; truth[key]++
      :: else -> assert(value[AT(me, key)] == truth[key])
      fi;
      state[client] = ANSWERED
    }
#endif
  :: atomic { MAY_TAKE && (RECEIVES(0) || RECEIVES(1) || RECEIVES(2) || RECEIVES_LAST) ->
      if
      :: RECEIVES(0) -> from = 0
      :: RECEIVES(1) -> from = 1
      :: RECEIVES(2) -> from = 2
      :: RECEIVES_LAST -> from = 3
      fi;
#ifdef HANDOVER_OVERTAKEN
      if
      :: channel[PAIR(from, me)]?client, number
      :: channel[PAIR(from, me)]??[0, number] ->
        channel[PAIR(from, me)]??0, number; client = 0
      fi;
#else
      channel[PAIR(from, me)]?client, number;
#endif
      if
      :: client >= HANDOVER ->
        whose = client - HANDOVER;
#ifdef ROWS_ON_TOP
        if
        :: nempty(channel[PAIR(from, me)]) ->
          owns[AT(me, step[whose].key)] = true;
          channel[PAIR(from, me)]?client, number;
          command()
        :: empty(channel[PAIR(from, me)])
        fi;
#endif
        hand_over()
      :: else -> command()
      fi
    }
  :: atomic { CAN_GIVE(0) || CAN_GIVE(COORDINATORS - 1) ->
      if
      :: CAN_GIVE(0) -> whose = 0
      :: CAN_GIVE(COORDINATORS - 1) -> whose = COORDINATORS - 1
      fi;
      give()
    }
  :: atomic { CONCLUDED(0) || CONCLUDED(COORDINATORS - 1) ->
      if
      :: CONCLUDED(0) -> whose = 0
      :: CONCLUDED(COORDINATORS - 1) -> whose = COORDINATORS - 1
      fi;
      conclude()
    }
#if SCANS
  :: atomic { MAY_TAKE && (CAN_GO_ON(0) || CAN_GO_ON(KEYS - 1)) ->
      if
      :: CAN_GO_ON(0) -> part = 0
      :: CAN_GO_ON(KEYS - 1) -> part = KEYS - 1
      fi;
      scan_part()
    }
#endif
  od
}

proctype Client(byte me) {
  byte begun, to;
  do
  :: atomic { begun < OPS && state[me] == NOTHING ->
      begun++;
      if
      :: key_of[me] = 0
      :: KEYS > 1 -> key_of[me] = KEYS - 1
      fi;
      to = table[key_of[me]]
    };
    atomic { ingress[me] = to; state[me] = SENT; to = 0 }
  :: atomic { state[me] == MOVED -> to = table[key_of[me]] };
    atomic { ingress[me] = to; state[me] = SENT; to = 0 }
  :: atomic { state[me] == ANSWERED -> state[me] = NOTHING; key_of[me] = 0 }
  :: atomic { begun == OPS && state[me] == NOTHING -> ends++; break }
  od
}

#ifdef TWO_PUBLISHERS
#define BASE(key) base[key]
#else
#define BASE(key) table[key]
#endif

#define CAN_MOVE(key, to) (to != table[key] && !busy[to] && !busy[table[key]])
#if AEUS == 3
#define CAN_MOVE_LAST(key) false
#else
#define CAN_MOVE_LAST(key) CAN_MOVE(key, 3)
#endif
#define CAN_MOVE_KEY(key)                                                                         \
  (CAN_MOVE(key, 0) || CAN_MOVE(key, 1) || CAN_MOVE(key, 2) || CAN_MOVE_LAST(key))

inline publish() {
  key = 0;
  do
  :: key < KEYS -> table[key] = (key == step[me].key -> step[me].target : BASE(key)); key++
  :: else -> break
  od
}

proctype Coordinator(byte me) {
#ifdef TWO_PUBLISHERS
  byte base[KEYS];
#endif
  do
  :: atomic { moves < MOVES && (COORDINATORS == 1 || CAN_MOVE_KEY(me)) ->
      key = me;
      if
      :: COORDINATORS == 1 && KEYS > 1 -> key = KEYS - 1
      :: true
      fi;
      if
      :: CAN_MOVE(key, 0) -> target = 0
      :: CAN_MOVE(key, 1) -> target = 1
      :: CAN_MOVE(key, 2) -> target = 2
      :: CAN_MOVE_LAST(key) -> target = 3
      fi;
      moves++;
      step[me].number = moves;
      step[me].key = key;
      step[me].source = table[key];
      step[me].target = target;
      busy[target] = true;
      busy[table[key]] = true;
      if
      :: step[me].link = true
      :: true
      fi;
#ifdef TWO_PUBLISHERS
      key = 0;
      do
      :: key < KEYS -> base[key] = table[key]; key++
      :: else -> break
      od;
#endif
      step[me].phase = GIVE
    };
#ifdef PUBLISH_EARLY
    atomic { publish() };
#endif
#ifdef CONCLUDED_EARLY
    atomic { step[me].phase == UNDER_WAY ->
      if
      :: step[me].outcome != REFUSED -> step[me].phase = CONCLUDE
      :: else
      fi
    };
#endif
    step[me].outcome != 0;
    if
    :: atomic { step[me].outcome == REFUSED -> goto over }
#ifdef CONCLUDED_EARLY
    :: atomic { step[me].outcome == RETURNED }
    :: atomic { step[me].outcome == INSTALLED -> publish() }
#else
    :: atomic { step[me].outcome == RETURNED -> step[me].phase = CONCLUDE }
    :: atomic { step[me].outcome == INSTALLED ->
#ifdef STUB_DROPPED_EARLY
        step[me].phase = CONCLUDE };
      atomic { publish() }
#else
        publish() };
      step[me].phase = CONCLUDE
#endif
#endif
    fi;
    step[me].phase == IDLE;
over:
    atomic {
      key = step[me].key;
      count_owners(key);
      assert(number == 1);
      assert(owns[AT(table[key], key)]);
      busy[step[me].source] = false;
      busy[step[me].target] = false;
      step[me].phase = 0;
      step[me].outcome = 0;
      step[me].key = 0;
      step[me].source = 0;
      step[me].target = 0;
      step[me].link = false;
      step[me].number = 0;
      step[me].value = 0;
      step[me].has_record = false;
      step[me].record = 0;
#ifdef TWO_PUBLISHERS
      key = 0;
      do
      :: key < KEYS -> base[key] = 0; key++
      :: else -> break
      od;
#endif
    }
  :: atomic { moves == MOVES -> ends++; break }
  od
}

#if SCANS
/* Sends the keys of `rest` by the table in force when it was read. */
inline send_parts() {
  atomic {
    key = 0;
    do
    :: key < KEYS -> to[key] = table[key]; key++
    :: else -> break
    od
  };
  atomic {
    if
    :: KEYS == 2 && rest == 3 && to[0] == to[KEYS - 1] ->
      part_at[0] = to[0];
      part_rest[0] = 3;
      parts_sent++
    :: else ->
      key = 0;
      do
      :: key < KEYS ->
        if
        :: rest & (1 << key) -> part_at[key] = to[key]; part_rest[key] = 1 << key; parts_sent++
        :: else
        fi;
        key++
      :: else -> break
      od
    fi;
    key = 0;
    do
    :: key < KEYS -> to[key] = 0; key++
    :: else -> break
    od;
    rest = 0
  }
}

#ifdef PARTS_COUNTED
#define COMPLETE (parts_ended == parts_sent)
#else
#define COMPLETE (seen == ALL_KEYS)
#endif
#define UNDER_WAY_PARTS (part_rest[0] != 0 || part_rest[KEYS - 1] != 0)

proctype Scan() {
  byte to[KEYS], rest, parts_sent;
  atomic { /* Begin: a write before has an epoch below, one after needs a record. */
    held = true;
    key = 0;
    do
    :: key < KEYS -> at_snapshot[key] = truth[key]; key++
    :: else -> break
    od;
    rest = ALL_KEYS
  };
  send_parts();
  do
  :: atomic { part_moved[0] || part_moved[KEYS - 1] ->
      if
      :: part_moved[0] -> part = 0
      :: else -> part = KEYS - 1
      fi;
      rest = part_rest[part];
      part_moved[part] = false;
      part_at[part] = NOWHERE;
      part_rest[part] = 0;
#ifdef PARTS_COUNTED
      parts_ended++;
#endif
      if
      :: cancelled -> rest = 0; goto next
      :: else
      fi
    };
#ifdef PARTS_COUNTED
    if
    :: COMPLETE -> break
    :: else
    fi;
#endif
    send_parts();
next:
    skip
  :: atomic { !cancelled && COMPLETE -> assert(seen == ALL_KEYS); break }
  :: atomic { cancelled && !UNDER_WAY_PARTS -> break }
#if CANCELS
  :: atomic { !cancelled && !COMPLETE -> cancelled = true };
#ifdef FREED_AT_CANCEL
    held = false
#else
    skip
#endif
#endif
  od;
  atomic {
    assert(cancelled || seen == ALL_KEYS);
    held = false;
    from = 0;
    do
    :: from < AEUS * KEYS -> has_record[from] = false; record[from] = 0; from++
    :: else -> break
    od;
    from = 0;
    do
    :: from < COORDINATORS -> step[from].has_record = false; step[from].record = 0; from++
    :: else -> break
    od;
    key = 0;
    do
    :: key < KEYS -> at_snapshot[key] = 0; key++
    :: else -> break
    od;
    seen = 0;
    parts_ended = 0;
    parts_sent = 0;
    ends++
  }
}
#endif

#define PROCESSES (CLIENTS + COORDINATORS + SCANS)

init {
  byte i;
  atomic {
    for (i : 0 .. KEYS - 1) {
      table[i] = (COORDINATORS == 2 -> i : 0);
      owns[AT(table[i], i)] = true
    };
    for (i : 0 .. AEUS - 1) { run Aeu(i) };
    for (i : 0 .. CLIENTS - 1) { run Client(i) };
    for (i : 0 .. COORDINATORS - 1) { run Coordinator(i) };
#if SCANS
    run Scan();
#endif
    i = 0
  };
  ends == PROCESSES;
  atomic {
    for (i : 0 .. KEYS - 1) {
      assert(owns[AT(table[i], i)] && value[AT(table[i], i)] == truth[i]);
      count_owners(i);
      assert(number == 1)
    }
  }
}

#ifdef LIVENESS
ltl all_answered { <> (ends == PROCESSES) }
#endif
