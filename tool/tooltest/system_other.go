//go:build !unix

package tooltest

import (
	"io/fs"

	"github.com/tenonrun/tenon/tool"
)

func system(*tool.Info, fs.FileInfo) {}
