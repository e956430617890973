//go:build !unix

package git

import "os"

func open(name string) (*os.File, error) { return os.Open(name) }
