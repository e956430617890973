// Command tenon runs agent workflows durably. See `tenon help`.
package main

import (
	"os"

	"github.com/tenonrun/tenon/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Standard()))
}
