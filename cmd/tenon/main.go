// Command tenon runs agent workflows durably. See `tenon help`.
package main

import (
	"os"

	"github.com/tenonrun/tenon/cli"
	"github.com/tenonrun/tenon/tool/shell/confine"
)

func main() {
	confine.Main()
	os.Exit(cli.Main(os.Args[1:], cli.Standard()))
}
