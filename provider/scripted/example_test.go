package scripted_test

import (
	"context"
	"fmt"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/scripted"
)

func Example() {
	script, err := scripted.Load("replies.yaml", []byte(`
version: 1
replies:
  - {match: /fix|mend/, text: Done., usage: {in: 900, out: 40}}
  - {text: What do you mean?}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	p := scripted.New("fake", script)
	for _, prompt := range []string{"mend the test", "hello"} {
		response, err := p.Stream(context.Background(), provider.Request{
			Model: "m", Messages: []provider.Message{provider.UserText(prompt)},
		}, nil)
		fmt.Println(response.Text(), err)
	}
	// Output:
	// Done. <nil>
	// What do you mean? <nil>
}
