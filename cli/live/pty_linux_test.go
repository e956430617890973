package live_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/tenonrun/tenon/cli/live"
)

// terminal opens a pseudo terminal and shows what is written to it on a screen.
func terminal(t *testing.T, cols, rows int) (s *screen, side *os.File, resize func(cols, rows int)) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine gives no pseudo terminals: %v", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if side, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Skipf("this machine gives no pseudo terminals: %v", err)
	}
	s = newScreen(cols, rows)
	resize = func(cols, rows int) {
		s.resize(cols, rows)
		if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)}); err != nil {
			t.Error(err)
		}
	}
	resize(cols, rows)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(s, master) // ends when the other side is closed
	}()
	t.Cleanup(func() {
		side.Close()
		<-ended
		master.Close()
	})
	return s, side, resize
}

func TestOnAPseudoTerminal(t *testing.T) {
	t.Parallel()
	s, side, resize := terminal(t, 70, 20)
	before, err := unix.IoctlGetTermios(int(side.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	f := &feed{view: live.Open(live.Config{
		Out: side, ASCII: true, Color: true, Reflow: true, Every: time.Millisecond, Now: func() time.Time { return start.Std() },
		Size: func() (int, int) {
			cols, rows, err := term.GetSize(int(side.Fd()))
			if err != nil {
				t.Error(err)
			}
			return cols, rows
		},
	})}
	fmt.Fprintln(f.view, "$ tenon run top")
	f.begin()
	for i := range 6 {
		f.admit(fmt.Sprintf("step-%d#1", i))
	}
	s.until(t, "step-5  prompt\n  0 model calls  0 tokens  0s")
	resize(26, 20) // the budget line is wrapped before it is drawn again
	s.until(t, "step-5  prompt\n  0 tokens  0s")
	resize(70, 12)
	s.until(t, "step-5  prompt\n  0 model calls  0 tokens  0s")
	for i := range 6 {
		f.ok(fmt.Sprintf("step-%d#1", i))
	}
	if err := f.view.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(side, "$")
	s.until(t, "  + step-5\n$")
	got := s.text()
	if strings.Count(got, "> top") != 1 || !strings.HasPrefix(got, "$ tenon run top\n> top  r1\n  + step-0\n  + step-1\n") {
		t.Errorf("at the end:\n%s", got)
	}
	s.sound(t)
	after, err := unix.IoctlGetTermios(int(side.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if *before != *after {
		t.Errorf("the terminal was left as %+v, it was %+v", *after, *before)
	}
}
