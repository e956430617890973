//go:build unix

package tooltest

import (
	"io/fs"
	"syscall"

	"github.com/tenonrun/tenon/tool"
)

func system(out *tool.Info, info fs.FileInfo) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		out.Identity = tool.Identity{Dev: uint64(s.Dev), Ino: s.Ino} //nolint:unconvert // int32 on some systems
		out.Links = uint64(s.Nlink)                                  //nolint:unconvert // uint16 on some systems
		out.Disk = s.Blocks * 512
	}
}
