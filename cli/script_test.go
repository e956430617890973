package cli_test

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tenonrun/tenon/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tenon": func() { os.Exit(cli.Main(os.Args[1:], cli.Standard())) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}
