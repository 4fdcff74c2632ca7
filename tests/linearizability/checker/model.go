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
	case "cas":
		if state.present && state.value == one.Expected {
			return (!known || yes) && was() && seen(), written
		}
		return (!known || !yes) && was() && seen(), state
	}
	return false, state
}

var model = porcupine.Model{
	Init: func() interface{} { return register{} },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		return step(state.(register), input.(Operation))
	},
}

// partition gives the operations of each key, in porcupine's form. What had no effect and told
// nothing is left out: refused ones, and reads without an answer. A write whose outcome is unknown
// may take effect at any time after its begin, or never, which is the same as after everything
// else: it has no end.
func partition(operations []Operation) map[uint64][]porcupine.Operation {
	keys := map[uint64][]porcupine.Operation{}
	for _, one := range operations {
		end := one.End
		if one.Answer == "refused" {
			continue
		}
		if one.Answer == "unknown" {
			if one.Verb == "get" || one.Verb == "scan" {
				continue
			}
			end = math.MaxInt64
		}
		keys[one.Key] = append(keys[one.Key], porcupine.Operation{
			ClientId: one.Client, Input: one, Call: one.Begin, Return: end})
	}
	return keys
}
