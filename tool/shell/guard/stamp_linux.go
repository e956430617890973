package guard

import (
	"io/fs"
	"syscall"
	"time"
)

// tick is longer than the step of the clock that files are stamped with: within it,
// a file may change and keep its stamp.
const tick = 100 * time.Millisecond

// stamp changes whenever a file does: nobody but the system sets its change time.
// The zero value says nothing.
type stamp struct {
	Ino     uint64 `json:"ino,omitempty"`
	Sec     int64  `json:"sec,omitempty"`
	Nanosec int64  `json:"nanosec,omitempty"`
}

func stampOf(info fs.FileInfo) stamp {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && time.Since(time.Unix(st.Ctim.Unix())) > tick {
		sec, nsec := st.Ctim.Unix() // their sizes differ between machines
		return stamp{Ino: st.Ino, Sec: sec, Nanosec: nsec}
	}
	return stamp{}
}
