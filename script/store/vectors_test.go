package store_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/tenonrun/tenon/script/store/storetest"
)

var vectors = flag.String("vectors", "testdata/vectors.jsonl", "file of vectors, one JSON object a line")

// Choices where the vectors leave one: a hostile scope is hashed and not refused;
// a path that folds back into the partition is read, because the folded path is
// what is opened; a relative path is refused, for it has no base; a name is a stem,
// so "deploy.js" would be deploy.js.js; a built-in is found without a store, any
// other name then lacks one; an empty key of the string argument is kept.
func TestVectors(t *testing.T) {
	t.Parallel()
	file, err := os.Open(*vectors)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	count := map[string]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := slices.Clone(lines.Bytes())
		var head struct{ ID, Group string }
		if err := json.Unmarshal(line, &head); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(storetest.Groups, head.Group) {
			continue
		}
		count[head.Group]++
		t.Run(head.ID, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, line)
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for _, group := range storetest.Groups {
		if count[group] == 0 {
			t.Errorf("no vector of the group %s", group)
		}
	}
}
