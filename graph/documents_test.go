package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// node writes a node; an end is "outcome>node", or "outcome>" for none.
func node(name, kind, params string, ends ...string) string {
	wired := map[string]*string{}
	for _, e := range ends {
		outcome, to, _ := strings.Cut(e, ">")
		wired[outcome] = nil
		if to != "" {
			wired[outcome] = &to
		}
	}
	if params == "" {
		params = "{}"
	}
	return fmt.Sprintf(`%q:{"kind":%q,"params":%s,"ends":%s}`, name, kind, params, text(wired))
}

// task is a node of kind work.
func task(name, to string) string { return node(name, "work", "", "next>"+to, "failed>"+to) }

const (
	done = `"done":{"kind":"end","params":{"outcome":"success"},"ends":{}}`
	bad  = `"bad":{"kind":"end","params":{"outcome":"failure","reason":"went_bad"},"ends":{}}`
)

// graphOf writes a body with the ends done and bad.
func graphOf(entry string, nodes ...string) string {
	return fmt.Sprintf(`"entry":%q,"nodes":{%s}`, entry, strings.Join(append(nodes, done, bad), ","))
}

func body(entry string, nodes ...string) string {
	return fmt.Sprintf(`{"entry":%q,"nodes":{%s}}`, entry, strings.Join(nodes, ","))
}

// doc2 and doc1 write definitions of the two formats.
func doc2(graph string, more ...string) string { return doc(2, graph, more...) }
func doc1(graph string, more ...string) string { return doc(1, graph, more...) }

func doc(level int, graph string, more ...string) string {
	return fmt.Sprintf(`{"schemaVersion":%d,"id":"test",%s}`, level, strings.Join(append([]string{graph}, more...), ","))
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && text(x) == text(y)
}
