package live_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/cli/live"
	"github.com/tenonrun/tenon/workflow"
)

// crowd is a map of n branches of which some wait, failed, ask or are retried.
func crowd(tree *live.Tree, n int) *film {
	f := newFilm(tree, "r1").begin("crowd").admit("each#1", workflow.KindMap)
	for i := range n {
		v := fmt.Sprintf("each#1[%d]/do#1", i)
		f.admit(v, "prompt")
		switch {
		case i%97 == 13:
			f.fail(v, "failed").end(fmt.Sprintf("each#1[%d]/bad#1", i), false)
		case i == n-3:
			f.put(v, 1, &workflow.QuestionOpened{Question: workflow.Question{ID: "q1", Text: "Which one?"}})
		case i > n-12:
			f.say(v, "text", "working on it")
		case i > n-20:
			f.put(v, 1, &workflow.Retrying{Code: "timeout", After: f.at.Add(time.Minute)})
		default:
			f.call(v, 10, 1).ok(v, "next").end(fmt.Sprintf("each#1[%d]/good#1", i), true)
		}
	}
	return f.wait(5 * time.Second)
}

func TestAThousandBranchesFit(t *testing.T) {
	t.Parallel()
	var tree live.Tree
	f := crowd(&tree, 1000)
	for height := 4; height < 60; height++ {
		look := f.look()
		look.Height = height
		got := tree.Draw(look)
		if len(got) >= height {
			t.Errorf("%d rows in a terminal of %d", len(got), height)
		}
		all := strings.Join(got, "\n")
		if !strings.Contains(got[len(got)-1], "model calls") {
			t.Errorf("at %d rows the budget is missing:\n%s", height, all)
		}
		if height > 8 && !strings.Contains(all, "[997] do") {
			t.Errorf("at %d rows the question is missing:\n%s", height, all)
		}
		if height > 12 && (!strings.Contains(all, "971 done  11 failed") || !strings.Contains(all, "tenon answer q1")) {
			t.Errorf("at %d rows:\n%s", height, all)
		}
	}
}

// Whatever happens, at whatever size, a frame fits and holds only what the
// painter may write.
func TestEveryFrameFits(t *testing.T) {
	t.Parallel()
	visits := []string{"a#1", "a#2", "each#1", "each#1[0]/do#1", "each#1[1]/do#1", "each#1[1]/do#1/x#1[left]/y#1", "each#1[0]/end#1", "c#1/d#1/e#1"}
	kinds := []string{"prompt", "shell", workflow.KindMap, workflow.KindParallel, workflow.KindComponent, workflow.KindEnd, workflow.KindWait, workflow.KindWorkflow}
	texts := []string{"", "short", "漢字 and 👩‍👩‍👧 and ❤️", strings.Repeat("long words ", 50), "tab\tand\x1b[31m red", strings.Repeat("漢", 200)}
	rapid.Check(t, func(t *rapid.T) {
		var tree live.Tree
		f := newFilm(&tree, "r1").begin(rapid.SampledFrom(texts).Draw(t, "name"))
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			v, text := rapid.SampledFrom(visits).Draw(t, "visit"), rapid.SampledFrom(texts).Draw(t, "text")
			later := f.at.Add(time.Duration(rapid.IntRange(-1, 1000).Draw(t, "later")) * time.Minute)
			switch rapid.IntRange(0, 13).Draw(t, "event") {
			case 0, 1, 2:
				f.admit(v, rapid.SampledFrom(kinds).Draw(t, "kind"))
			case 3, 4:
				f.ok(v, text)
			case 5:
				f.fail(v, "failed")
			case 6:
				f.put(v, 2, &workflow.Retrying{Code: "timeout", Message: text, After: later})
			case 7:
				f.put(v, 1, &workflow.QuestionOpened{Question: workflow.Question{ID: text, Text: text, Kind: workflow.AskGate, Deadline: later}})
			case 8:
				f.put(v, 1, &workflow.InvocationSettled{RetryAt: later, Model: text, Usage: known(1<<40, 5)})
			case 9:
				f.put(v, 1, &workflow.Lost{Code: "owner_lost", Message: text, Uncertain: len(text)%2 == 0, Until: later})
			case 10:
				f.put("", 0, &workflow.BreakerOpened{Provider: text, Message: text, Until: later})
			case 11:
				f.put(v, 1, &workflow.ChildStarted{Run: workflow.RunID("r" + v)})
				newFilm(&tree, workflow.RunID("r"+v)).begin("child").admit(v, "prompt")
			case 12:
				f.put("", 0, &workflow.Ended{Status: workflow.StatusFailed})
			default:
				f.say(v, rapid.SampledFrom([]string{"text", "reasoning", "tool"}).Draw(t, "stream"), text)
			}
			f.wait(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
		}
		look := f.look()
		look.Width, look.Height = rapid.IntRange(1, 120).Draw(t, "width"), rapid.IntRange(1, 40).Draw(t, "height")
		look.Color, look.ASCII = rapid.Bool().Draw(t, "color"), rapid.Bool().Draw(t, "ascii")
		lines := tree.Draw(look)
		if most := max(1, look.Height-1); len(lines) > most {
			t.Fatalf("%d lines in a terminal of %d rows", len(lines), look.Height)
		}
		for _, l := range lines {
			if w := ansi.StringWidthWc(l); w > max(1, look.Width-1) {
				t.Fatalf("%q has %d columns, the terminal %d", l, w, look.Width)
			}
			if !look.Color && strings.ContainsRune(l, '\x1b') {
				t.Fatalf("%q has an escape sequence", l)
			}
		}
	})
}

func TestColorsAreThePalettes(t *testing.T) {
	t.Parallel()
	var tree live.Tree
	f := newFilm(&tree, "r1").begin("top").admit("a#1", "prompt").ok("a#1", "next")
	look := f.look()
	look.Color = true
	want := "\x1b[36m>\x1b[0m \x1b[1mtop\x1b[0m  \x1b[2mr1\x1b[0m\n  \x1b[32m+\x1b[0m \x1b[1ma\x1b[0m"
	if got := strings.Join(tree.Draw(look)[:2], "\n"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFinishedStepsFold(t *testing.T) {
	t.Parallel()
	var tree live.Tree
	f := newFilm(&tree, "r1").begin("loop")
	for i := range 500 {
		v := fmt.Sprintf("step#%d", i+1)
		f.admit(v, "shell").ok(v, "ok")
	}
	got := tree.Draw(f.admit("last#1", "shell").look())
	want := []string{"> loop  r1", "  : 488 done", "  + step#489  -> ok"}
	if strings.Join(got[:3], "\n") != strings.Join(want, "\n") || got[len(got)-2] != "  > last  shell" {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
}

func BenchmarkDraw(b *testing.B) {
	var tree live.Tree
	f := crowd(&tree, 100_000)
	for b.Loop() {
		tree.Draw(f.look())
	}
}

func BenchmarkFold(b *testing.B) {
	for b.Loop() {
		var tree live.Tree
		crowd(&tree, 1000)
	}
}
