package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func verdictOf(t *testing.T, timeout time.Duration, lines ...string) Verdict {
	t.Helper()
	operations, err := ReadHistory(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return Check(operations, timeout)
}

// lane verb key value expected begin end answer was read order
func TestLegal(t *testing.T) {
	for name, lines := range map[string][]string{
		"nothing":                        {},
		"absent at first":                {"0 get 5 0 0 1 2 no 0 0 0", "0 scan 5 0 0 3 4 no 0 0 0", "0 erase 5 0 0 5 6 yes 0 0 0"},
		"a write is seen":                {"0 upsert 5 7 0 1 2 yes 0 0 0", "1 get 5 0 0 3 4 yes 0 7 0", "1 scan 5 0 0 5 6 yes 0 7 0"},
		"overlapping, the one order":     {"0 upsert 5 7 0 1 9 yes 1 0 0", "1 upsert 5 8 0 2 8 yes 0 0 0", "1 get 5 0 0 10 11 yes 0 7 0"},
		"a read beside a write, before":  {"0 upsert 5 7 0 1 9 yes 0 0 0", "1 get 5 0 0 2 3 no 0 0 0", "1 get 5 0 0 4 5 yes 0 7 0"},
		"insert, then not again":         {"0 insert 5 7 0 1 2 yes 0 0 0", "0 insert 5 8 0 3 4 no 1 7 0", "0 get 5 0 0 5 6 yes 0 7 0"},
		"cas":                            {"0 upsert 5 7 0 1 2 yes 0 0 0", "0 cas 5 8 7 3 4 yes 1 7 0", "0 cas 5 9 7 5 6 no 1 8 0", "0 get 5 0 0 7 8 yes 0 8 0"},
		"cas of nothing":                 {"0 cas 5 8 0 1 2 no 0 0 0"},
		"erase":                          {"0 upsert 5 7 0 1 2 yes 0 0 0", "0 erase 5 0 0 3 4 yes 1 0 0", "0 insert 5 8 0 5 6 yes 0 0 0"},
		"keys are apart":                 {"0 upsert 0 7 0 1 2 yes 0 0 0", "0 get 18446744073709551615 0 0 3 4 no 0 0 0"},
		"an unknown write, never":        {"0 upsert 5 7 0 1 2 unknown 0 0 0", "1 get 5 0 0 3 4 no 0 0 0"},
		"an unknown write, late":         {"0 upsert 5 7 0 1 2 unknown 0 0 0", "1 get 5 0 0 3 4 no 0 0 0", "1 get 5 0 0 5 6 yes 0 7 0"},
		"an unknown erase, and cas":      {"0 upsert 5 7 0 1 2 yes 0 0 0", "0 cas 5 8 7 3 4 unknown 0 0 0", "0 erase 5 0 0 5 6 unknown 0 0 0", "1 get 5 0 0 7 8 yes 0 8 0", "1 get 5 0 0 9 10 no 0 0 0"},
		"a refused write has no effect":  {"0 upsert 5 7 0 1 2 refused 0 0 0", "1 get 5 0 0 3 4 no 0 0 0"},
		"adds":                           {"0 add 5 7 0 1 2 yes 0 7 0", "1 add 5 8 0 3 4 yes 1 15 0", "0 get 5 0 0 5 6 yes 0 15 0"},
		"adds, the other way round":      {"0 add 5 7 0 1 9 yes 1 15 0", "1 add 5 8 0 2 8 yes 0 8 0", "0 get 5 0 0 10 11 yes 0 15 0"},
		"an add beyond 2^64":             {"0 upsert 5 7 0 1 2 yes 0 0 0", "0 add 5 18446744073709551615 0 3 4 yes 1 6 0"},
		"an add after an erase":          {"0 add 5 7 0 1 2 yes 0 7 0", "0 erase 5 0 0 3 4 yes 1 0 0", "0 add 5 8 0 5 6 yes 0 8 0"},
		"an unknown add, late":           {"0 upsert 5 7 0 1 2 yes 0 0 0", "0 add 5 8 0 3 4 unknown 0 0 0", "1 get 5 0 0 5 6 yes 0 7 0", "1 add 5 1 0 7 8 yes 1 16 0"},
		"replace":                        {"0 replace 5 7 0 1 2 no 0 0 0", "0 upsert 5 7 0 3 4 yes 0 0 0", "0 replace 5 8 0 5 6 yes 1 7 0", "0 get 5 0 0 7 8 yes 0 8 0"},
		"a doubled key, the later wins":  {"0 upsert 5 7 0 1 2 yes 0 0 1", "0 upsert 5 8 0 1 2 yes 1 0 2", "1 get 5 0 0 3 4 yes 0 8 0"},
		"a doubled add, both count":      {"0 add 5 7 0 1 2 yes 0 7 1", "0 add 5 8 0 1 2 yes 1 15 2"},
		"a lane in its order":            {"0 upsert 5 7 0 1 8 yes 0 0 1", "0 upsert 5 8 0 2 9 yes 1 0 2", "1 get 5 0 0 10 11 yes 0 8 0"},
		"two lanes in either order":      {"0 upsert 5 7 0 1 8 yes 1 0 1", "1 upsert 5 8 0 2 9 yes 0 0 2", "2 get 5 0 0 10 11 yes 0 7 0"},
		"an unknown write leaves a lane": {"0 upsert 5 7 0 1 2 unknown 0 0 1", "0 upsert 5 8 0 3 4 yes 0 0 2", "1 get 5 0 0 5 6 yes 0 7 0"},
		"an unanswered read says little": {"0 get 5 0 0 1 2 unknown 0 9 0"},
	} {
		if verdict := verdictOf(t, time.Minute, lines...); verdict.Illegal+verdict.Unknown != 0 {
			t.Errorf("%s: %+v", name, verdict)
		}
	}
}

func TestIllegal(t *testing.T) {
	for name, lines := range map[string][]string{
		"a lost write":                  {"0 upsert 5 7 0 1 2 yes 0 0 0", "1 get 5 0 0 3 4 no 0 0 0"},
		"a lost write, by scan":         {"0 upsert 5 7 0 1 2 yes 0 0 0", "1 scan 5 0 0 3 4 no 0 0 0"},
		"from nowhere":                  {"0 get 5 0 0 1 2 yes 0 7 0"},
		"an old value":                  {"0 upsert 5 7 0 1 2 yes 0 0 0", "0 upsert 5 8 0 3 4 yes 1 0 0", "1 get 5 0 0 5 6 yes 0 7 0"},
		"back in time":                  {"0 upsert 5 7 0 1 9 yes 0 0 0", "1 get 5 0 0 2 3 yes 0 7 0", "1 get 5 0 0 4 5 no 0 0 0"},
		"upsert: it was there":          {"0 upsert 5 7 0 1 2 yes 0 0 0", "0 upsert 5 8 0 3 4 yes 0 0 0"},
		"two inserts":                   {"0 insert 5 7 0 1 9 yes 0 0 0", "1 insert 5 8 0 2 8 yes 0 0 0"},
		"insert finds another value":    {"0 insert 5 7 0 1 2 yes 0 0 0", "1 insert 5 8 0 3 4 no 1 9 0"},
		"two cas of one value":          {"0 upsert 5 7 0 1 2 yes 0 0 0", "0 cas 5 8 7 3 9 yes 1 7 0", "1 cas 5 9 7 4 8 yes 1 7 0"},
		"a cas that should have been":   {"0 upsert 5 7 0 1 2 yes 0 0 0", "0 cas 5 8 7 3 4 no 1 7 0"},
		"a cas of nothing":              {"0 cas 5 8 0 1 2 yes 0 0 0"},
		"erased twice":                  {"0 upsert 5 7 0 1 2 yes 0 0 0", "0 erase 5 0 0 3 4 yes 1 0 0", "0 erase 5 0 0 5 6 yes 1 0 0"},
		"an unknown write, and gone":    {"0 upsert 5 7 0 1 2 unknown 0 0 0", "1 get 5 0 0 3 4 yes 0 7 0", "1 get 5 0 0 5 6 no 0 0 0"},
		"an unknown write, too early":   {"1 get 5 0 0 1 2 yes 0 7 0", "0 upsert 5 7 0 3 4 unknown 0 0 0"},
		"a refused write is seen":       {"0 upsert 5 7 0 1 2 refused 0 0 0", "1 get 5 0 0 3 4 yes 0 7 0"},
		"a lost add":                    {"0 add 5 7 0 1 2 yes 0 7 0", "1 add 5 8 0 3 4 yes 0 8 0"},
		"an add done twice":             {"0 add 5 7 0 1 2 yes 0 7 0", "1 get 5 0 0 3 4 yes 0 14 0"},
		"a sum that is none":            {"0 upsert 5 7 0 1 2 yes 0 0 0", "1 add 5 8 0 3 4 yes 1 14 0"},
		"two adds with the same sum":    {"0 add 5 7 0 1 9 yes 0 7 0", "1 add 5 7 0 2 8 yes 0 7 0"},
		"an unknown add, done twice":    {"0 add 5 7 0 1 2 unknown 0 0 0", "1 get 5 0 0 3 4 yes 0 14 0"},
		"replace creates":               {"0 replace 5 7 0 1 2 yes 0 0 0", "1 get 5 0 0 3 4 yes 0 7 0"},
		"a replace that was not done":   {"0 upsert 5 7 0 1 2 yes 0 0 0", "0 replace 5 8 0 3 4 no 1 7 0"},
		"a doubled key, the first wins": {"0 upsert 5 7 0 1 2 yes 1 0 1", "0 upsert 5 8 0 1 2 yes 0 0 2"},
		"a doubled key, read before":    {"0 upsert 5 7 0 1 2 yes 0 0 1", "0 upsert 5 8 0 1 2 yes 1 0 2", "1 get 5 0 0 3 4 yes 0 7 0"},
		"a doubled add, only one":       {"0 add 5 7 0 1 2 yes 0 7 1", "0 add 5 8 0 1 2 yes 0 8 2"},
		"a lane out of order":           {"0 upsert 5 7 0 1 8 yes 1 0 1", "0 upsert 5 8 0 2 9 yes 0 0 2"},
		"a lane out of order, far":      {"0 upsert 5 7 0 1 8 yes 0 0 1", "1 get 5 0 0 2 3 no 0 0 0", "0 get 5 0 0 3 4 yes 0 7 3", "0 erase 5 0 0 1 9 yes 1 0 2", "1 get 5 0 0 10 11 yes 0 7 0"},
		"an answer that is not defined": {"0 upsert 5 7 0 1 2 yes 1 0 0"},
	} {
		verdict := verdictOf(t, time.Minute, lines...)
		if verdict.Illegal != 1 || verdict.Unknown != 0 || len(verdict.IllegalOf) != 1 || verdict.IllegalOf[0] != 5 {
			t.Errorf("%s: %+v", name, verdict)
		}
	}
}

// Very many orders, and no time to try them: neither legal nor illegal.
func TestUnknown(t *testing.T) {
	var lines []string
	for i := 0; i < 40; i++ {
		lines = append(lines, fmt.Sprintf("%d upsert 5 %d 0 1 1000 unknown 0 0 0", i, i+1))
	}
	for i := 0; i < 40; i++ {
		lines = append(lines, fmt.Sprintf("99 get 5 0 0 %d %d yes 0 %d 0", 2+2*i, 3+2*i, 1+i%20*2))
	}
	lines = append(lines, "99 get 5 0 0 900 901 yes 0 77 0", "0 get 6 0 0 1 2 no 0 0 0")
	verdict := verdictOf(t, 20*time.Millisecond, lines...)
	if verdict.Unknown != 1 || verdict.Illegal != 0 || verdict.Keys != 2 {
		t.Errorf("%+v", verdict)
	}
}

func TestLinesThatAreNone(t *testing.T) {
	for _, line := range []string{
		"0 get 5 0 0 1 2 no 0 0", "0 get 5 0 0 1 2 no 0 0 0 0", "0 get 5 0 0 1 2 no 0 0 x", "0 put 5 0 0 1 2 no 0 0 0",
		"0 get 5 0 0 1 2 maybe 0 0 0", "0 get x 0 0 1 2 no 0 0 0", "0 get 5 0 0 2 1 no 0 0 0", "",
	} {
		if _, err := ReadHistory(strings.NewReader("0 get 5 0 0 1 2 no 0 0 0\n" + line + "\n")); err == nil {
			t.Errorf("%q was read", line)
		} else if !strings.HasPrefix(err.Error(), "line 2: ") {
			t.Errorf("%q: %v", line, err)
		}
	}
}
