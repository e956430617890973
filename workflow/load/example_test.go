package load_test

import (
	"errors"
	"fmt"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/workflow/load"
)

// A document is judged whole: every defect has its place and, where there is
// one, the nearest valid name.
func ExampleLoad() {
	pieces, err := piece.NewRegistry(control.Pieces()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	document := `schemaVersion: 2
id: ask
entry: colour
nodes:
  colour:
    kind: question
    params: {text: Which colour?, option: [red, green]}
    ends: {next: don}
  done: {kind: end, params: {outcome: success}, ends: {}}
`
	_, err = load.Load("ask.yaml", []byte(document), load.Config{Pieces: pieces})
	var issues load.Issues
	if errors.As(err, &issues) {
		for _, i := range issues {
			fmt.Printf("line %d: %s; %s\n", i.Line, i.Code, i.Hint)
		}
	}
	// Output:
	// line 7: invalid_piece_params; did you mean "options"?
	// line 8: node_not_found; did you mean "done"?
	// line 9: unreachable_node; wire an outcome to it, or remove it
}
