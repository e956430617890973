//go:build unix

package crash_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// each runs scenes side by side and returns when all have ended.
func each(t *testing.T, names []string, do func(s *scene, i int)) *tally {
	t.Helper()
	sum, test := new(tally), strings.TrimPrefix(t.Name(), "Test")
	t.Run("scenes", func(t *testing.T) {
		for i, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				do(newScene(t, "r-"+test+"-"+name, sum), i)
			})
		}
	})
	return sum
}

// numbered returns names with the numbers from 1 to n, every stride-th.
func numbered(n, stride int) (names []string, numbers []int) {
	for i := 1; i <= n; i += stride {
		names, numbers = append(names, fmt.Sprintf("%03d", i)), append(numbers, i)
	}
	return names, numbers
}

// short chooses between a whole test and its sample, which is also taken under
// the race detector: it makes every process slow, and races are in the driver,
// not in the place of a kill.
func short(whole, sample int) int {
	if testing.Short() || raced {
		return sample
	}
	return whole
}

// TestEveryStep kills the process at every durable step, and resumes the run at
// once in a new process.
func TestEveryStep(t *testing.T) {
	t.Parallel()
	steps := expect(t).steps
	names, numbers := numbered(len(steps), short(1, 7))
	each(t, names, func(s *scene, i int) {
		rep, killed := s.do(s.next(int64(numbers[i])))
		if killed {
			rep = s.toEnd()
		}
		s.same(rep)
	}).complete(t)
}

// TestRandomMoments kills processes from outside: at moments that have nothing
// to do with steps, also while they start, and also resumes. The seed is fixed.
func TestRandomMoments(t *testing.T) {
	t.Parallel()
	took := expect(t).took
	names, _ := numbered(short(200, 20), 1)
	each(t, names, func(s *scene, i int) {
		rnd := rand.New(rand.NewPCG(20, uint64(i)))
		for range 1 + rnd.IntN(2) {
			c := s.start(s.next(0))
			timer := time.AfterFunc(time.Duration(rnd.Int64N(int64(took))), func() { _ = c.cmd.Process.Kill() })
			rep, killed := s.finish(c)
			timer.Stop()
			if !killed {
				s.settle(rep)
			}
		}
		s.same(s.toEnd())
	}).complete(t)
}

// TestKilledResume kills the resume too: at each of its first steps, where it
// takes over what the dead process left.
func TestKilledResume(t *testing.T) {
	t.Parallel()
	steps := expect(t).steps
	var names []string
	var numbers []int
	for i := range steps {
		if inCall := i > 0 && steps[i-1] == "call"; i%short(6, 30) == 0 || inCall && short(1, 0) == 1 {
			names, numbers = append(names, fmt.Sprintf("%03d", i+1)), append(numbers, i+1)
		}
	}
	each(t, names, func(s *scene, i int) {
		if _, killed := s.do(s.next(int64(numbers[i]))); killed {
			for n := int64(1); n <= 5; n++ {
				rep, killed := s.do(s.next(n))
				if !killed {
					s.settle(rep)
				}
			}
		}
		s.same(s.toEnd())
	}).complete(t)
}

// TestNoProcessLivesLong kills every process a few steps after its start. Each
// gets a little further, and the run ends as if nothing had happened.
func TestNoProcessLivesLong(t *testing.T) {
	t.Parallel()
	expect(t)
	names, numbers := numbered(short(13, 9), 4)
	each(t, names, func(s *scene, i int) {
		life := int64(8 + numbers[i])
		for range 200 {
			rep, killed := s.do(s.next(life))
			for !killed && len(rep.Result.Uncertain) > 0 {
				rep, killed = s.do(s.judge(rep, life))
			}
			if !killed && rep.Result.Status.Terminal() {
				s.same(rep)
				return
			}
		}
		s.t.Errorf("the run does not end when every process has %d steps", life)
	})
}
