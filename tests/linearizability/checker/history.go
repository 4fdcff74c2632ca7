package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Operation is a line of a history; tests/linearizability/history.h describes it.
type Operation struct {
	Lane     int
	Verb     string
	Key      uint64
	Value    uint64
	Expected uint64
	Begin    int64
	End      int64
	Answer   string
	Was      bool
	Read     uint64
	Order    uint64
}

var verbs = map[string]bool{
	"get": true, "scan": true, "upsert": true, "insert": true, "replace": true, "cas": true, "add": true, "erase": true,
}

var answers = map[string]bool{"yes": true, "no": true, "refused": true, "unknown": true}

// ReadHistory reads operations to the end. An error names the line.
func ReadHistory(in io.Reader) ([]Operation, error) {
	var operations []Operation
	lines := bufio.NewScanner(in)
	for number := 1; lines.Scan(); number++ {
		one, err := parse(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		operations = append(operations, one)
	}
	return operations, lines.Err()
}

func parse(line string) (Operation, error) {
	fields := strings.Fields(line)
	if len(fields) != 11 {
		return Operation{}, fmt.Errorf("%d fields, expected 11", len(fields))
	}
	var numbers [11]uint64
	for _, i := range []int{0, 2, 3, 4, 5, 6, 8, 9, 10} {
		number, err := strconv.ParseUint(fields[i], 10, 64)
		if err != nil {
			return Operation{}, err
		}
		numbers[i] = number
	}
	one := Operation{
		Lane: int(numbers[0]), Verb: fields[1], Key: numbers[2], Value: numbers[3],
		Expected: numbers[4], Begin: int64(numbers[5]), End: int64(numbers[6]),
		Answer: fields[7], Was: numbers[8] != 0, Read: numbers[9],
		Order: numbers[10],
	}
	switch {
	case !verbs[one.Verb]:
		return one, fmt.Errorf("no verb %q", one.Verb)
	case !answers[one.Answer]:
		return one, fmt.Errorf("no answer %q", one.Answer)
	case one.End < one.Begin:
		return one, fmt.Errorf("ends at %d, before it begins at %d", one.End, one.Begin)
	}
	return one, nil
}
