package expr_test

import (
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/workflow/expr"
)

func ExampleParse() {
	e, err := expr.Parse(`$outputs.test.exitCode == 0 && length($vars.files) < 10`, expr.Level2)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.Eval(expr.Values{
		"outputs": map[string]any{"test": map[string]any{"exitCode": 0}},
		"vars":    map[string]any{"files": []any{"a.go", "b.go"}},
	}))
	// Output: true <nil>
}

// Where a text is one token and nothing else, its value keeps its type.
func ExampleInterpolate() {
	params := json.RawMessage(`{"port": "{{vars.port}}", "text": "Port {{vars.port}}?"}`)
	filled, err := expr.Interpolate(params, expr.Level2, expr.Values{"vars": map[string]any{"port": 8080}})
	fmt.Println(string(filled), err)
	// Output: {"port":8080,"text":"Port 8080?"} <nil>
}
