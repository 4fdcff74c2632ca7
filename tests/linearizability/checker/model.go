package main

import (
	"math"

	"github.com/anishathalye/porcupine"
)

// register is what a key may be: absent, or there with a value.
type register struct {
	present bool
	value   uint64
}

// step says whether a key in this state can have answered so, and what it is then.
func step(state register, one Operation) (bool, register) {
	known := one.Answer != "unknown"
	yes := one.Answer == "yes"
	written := register{present: true, value: one.Value}
	// What the answer says of the state before.
	was := func() bool { return !known || one.Was == state.present }
	seen := func() bool { return !known || !one.Was || one.Read == state.value }
	switch one.Verb {
	case "get", "scan":
		if yes {
			return state.present && state.value == one.Read, state
		}
		return !state.present, state
	case "upsert":
		return was(), written
	case "erase":
		return was(), register{}
	case "insert":
		if state.present {
			return (!known || !yes) && was() && seen(), state
		}
		return (!known || yes) && was(), written
	case "add":
		if !state.present {
			state.value = 0 // an absent key counts from 0
		}
		sum := state.value + one.Value
		return was() && (!known || one.Read == sum), register{present: true, value: sum}
	case "replace":
		if !state.present {
			return (!known || !yes) && was(), state
		}
		return (!known || yes) && was() && seen(), written
	case "cas":
		if state.present && state.value == one.Expected {
			return (!known || yes) && was() && seen(), written
		}
		return (!known || !yes) && was() && seen(), state
	}
	return false, state
}

// progress is a state of the model: what the key is, and for each lane the order of the last of its
// operations that has taken effect.
type progress struct {
	register
	last []uint64
}

// ordered is an input of the model. lane says which of progress.last it is about, or none.
type ordered struct {
	Operation
	lane int
}

const noLane = -1

func stepInOrder(state progress, one ordered) (bool, progress) {
	possible, after := step(state.register, one.Operation)
	if !possible || one.lane == noLane {
		return possible, progress{after, state.last}
	}
	if one.lane < len(state.last) && state.last[one.lane] >= one.Order {
		return false, state
	}
	last := make([]uint64, max(len(state.last), one.lane+1))
	copy(last, state.last)
	last[one.lane] = one.Order
	return true, progress{after, last}
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

var model = porcupine.Model{
	Init: func() interface{} { return progress{} },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		return stepInOrder(state.(progress), input.(ordered))
	},
	// porcupine compares states after the same operations, and these determine progress.last.
	Equal: func(a, b interface{}) bool { return a.(progress).register == b.(progress).register },
}

// partition gives the operations of each key, in porcupine's form. What had no effect and told
// nothing is left out: refused ones, and reads without an answer. A write whose outcome is unknown
// may take effect at any time after its begin, or never, which is the same as after everything
// else: it has no end and no place in its lane.
func partition(operations []Operation) map[uint64][]porcupine.Operation {
	keys := map[uint64][]porcupine.Operation{}
	lanes := map[uint64]map[int]int{} // of each key: lanes, numbered from 0
	for _, one := range operations {
		end, lane := one.End, noLane
		if one.Answer == "refused" {
			continue
		}
		if one.Answer == "unknown" {
			if one.Verb == "get" || one.Verb == "scan" {
				continue
			}
			end = math.MaxInt64
		} else if one.Order != 0 {
			if lanes[one.Key] == nil {
				lanes[one.Key] = map[int]int{}
			}
			number, there := lanes[one.Key][one.Lane]
			if !there {
				number = len(lanes[one.Key])
				lanes[one.Key][one.Lane] = number
			}
			lane = number
		}
		keys[one.Key] = append(keys[one.Key], porcupine.Operation{
			ClientId: one.Lane, Input: ordered{one, lane}, Call: one.Begin, Return: end})
	}
	return keys
}
