// Checks histories of clients (tests/linearizability/history.h) for linearizability: each key is a
// register, absent at the beginning, and operations of one lane take effect in their order. Prints
// one line of JSON: operations, the keys whose history is illegal, those that the time did not
// suffice for, seconds. Exit code 1 if there are illegal ones, 2 if what was given cannot be
// checked, 3 if time did not suffice, else 0.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdict is what is printed.
type Verdict struct {
	Operations int      `json:"operations"`
	Keys       int      `json:"keys"`
	Illegal    int      `json:"illegal"`
	Unknown    int      `json:"unknown"`
	Seconds    float64  `json:"seconds"`
	IllegalOf  []uint64 `json:"illegal_keys"`
}

// Check judges each key by itself; timeout bounds the time for one of them.
func Check(operations []Operation, timeout time.Duration) Verdict {
	begin := time.Now()
	histories := partition(operations)
	verdict := Verdict{Operations: len(operations), Keys: len(histories), IllegalOf: []uint64{}}
	for key, history := range histories {
		switch porcupine.CheckOperationsTimeout(model, history, timeout) {
		case porcupine.Illegal:
			verdict.Illegal++
			verdict.IllegalOf = append(verdict.IllegalOf, key)
		case porcupine.Unknown:
			verdict.Unknown++
		}
	}
	sort.Slice(verdict.IllegalOf, func(i, j int) bool { return verdict.IllegalOf[i] < verdict.IllegalOf[j] })
	verdict.Seconds = time.Since(begin).Seconds()
	return verdict
}

func main() {
	timeout := flag.Duration("timeout", time.Minute, "for one key")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: checker [-timeout 1m] <history>")
		os.Exit(2)
	}
	file, err := os.Open(flag.Arg(0))
	var operations []Operation
	if err == nil {
		operations, err = ReadHistory(file)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", flag.Arg(0), err)
		os.Exit(2)
	}
	verdict := Check(operations, *timeout)
	line, _ := json.Marshal(verdict)
	fmt.Println(string(line))
	switch {
	case verdict.Illegal > 0:
		os.Exit(1)
	case verdict.Unknown > 0:
		os.Exit(3)
	}
}
