package main

import (
	"fmt"
	"math/rand"
	"sort"
	"strings"
	"testing"
	"time"
)

// A key as the load has it: 1,300 operations of eight clients that overlap, and as many writes with
// an unknown outcome as a key gets at most, each of which takes effect then, much later, or never.
func loadedKey(seed int64) []string {
	const clients, perClient, unknownMax = 8, 160, 6
	random := rand.New(rand.NewSource(seed))
	type operation struct {
		client, value     int
		begin, at, end    int64
		get, insert, lost bool
	}
	var operations []operation
	for client := 0; client < clients; client++ {
		now := int64(random.Intn(1000))
		for i := 0; i < perClient; i++ {
			begin := now + int64(random.Intn(200))
			end := begin + 1 + int64(random.Intn(1500))
			operations = append(operations, operation{client: client, value: client*1000 + i + 1, begin: begin,
				at: begin + random.Int63n(end-begin), end: end, get: random.Intn(10) < 5, insert: random.Intn(4) == 0})
			now = end + 1
		}
	}
	for lost := 0; lost < unknownMax; {
		one := &operations[random.Intn(len(operations))]
		if one.get || one.lost {
			continue
		}
		one.lost = true
		one.at += random.Int63n(1 << (4 * (1 + lost%6)))
		lost++
	}
	sort.Slice(operations, func(i, j int) bool { return operations[i].at < operations[j].at })
	var lines []string
	value := 0 // absent
	for _, one := range operations {
		was, answer, read := 0, "yes", 0
		if value != 0 {
			was = 1
		}
		switch {
		case one.get:
			if value == 0 {
				answer = "no"
			}
			lines = append(lines, fmt.Sprintf("%d get 5 0 0 %d %d %s 0 %d 0", one.client, one.begin, one.end, answer, value))
			continue
		case one.insert && value != 0:
			answer, read = "no", value
		default:
			value = one.value
		}
		verb := "upsert"
		if one.insert {
			verb = "insert"
		}
		if one.lost {
			was, answer, read = 0, "unknown", 0
		}
		lines = append(lines, fmt.Sprintf("%d %s 5 %d 0 %d %d %s %d %d 0", one.client, verb, one.value, one.begin, one.end, answer, was, read))
	}
	return lines
}

func TestUnknownWritesOfALoadedKeyAreDecided(t *testing.T) {
	for seed := int64(1); seed <= 8; seed++ {
		lines := loadedKey(seed)
		if verdict := verdictOf(t, time.Minute, lines...); verdict.Illegal+verdict.Unknown != 0 {
			t.Errorf("seed %d: %+v", seed, verdict)
		}
		// One of its reads is of what nobody has written.
		for i := len(lines) * int(seed) / 21; ; i++ {
			var fields [11]string
			if copy(fields[:], strings.Fields(lines[i])); fields[1] == "get" {
				fields[7], fields[9] = "yes", "999999"
				lines[i] = strings.Join(fields[:], " ")
				break
			}
		}
		if verdict := verdictOf(t, time.Minute, lines...); verdict.Illegal != 1 {
			t.Errorf("seed %d, with a wrong read: %+v", seed, verdict)
		}
	}
}
