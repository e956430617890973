package script_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workflow"
)

func named(name, body string) sample {
	return sample{name: name, text: []byte("export const meta = {name: '" + name + "', description: 'x'};\n" + body), status: workflow.StatusSucceeded}
}

// played returns a run that has ended.
func played(b *testing.B, body string, tune ...func(*play)) *play {
	p := begin(b, named("bench", body), 1, tune...)
	p.finish()
	if p.ended.Status != workflow.StatusSucceeded {
		b.Fatalf("ended %s: %v", p.ended.Status, p.ended.Failures)
	}
	return p
}

// BenchmarkReplay replays 1,000 settled agents.
func BenchmarkReplay(b *testing.B) {
	for name, body := range map[string]string{
		"sequential": `for (let i = 0; i < 1000; i++) await agent("Do " + i + " => " + i); return "ok"`,
		"parallel":   `return (await parallel(Array.from({length: 1000}, (_, i) => () => agent("Do " + i + " => " + i)))).length`,
		"pipeline":   `return (await pipeline(Array.from({length: 500}, (_, i) => i), i => agent("Do " + i + " => " + i), v => agent("And " + v + " => " + v))).length`,
	} {
		b.Run(name, func(b *testing.B) {
			p := played(b, body)
			b.ResetTimer()
			for b.Loop() {
				prog, err := p.factory.New("r", p.start, p.values)
				if err != nil {
					b.Fatal(err)
				}
				var wishes []workflow.Command
				for _, e := range p.events {
					if err := prog.Apply(e); err != nil {
						b.Fatal(err)
					}
					if wishes, err = prog.Decide(wishes[:0]); err != nil {
						b.Fatal(err)
					}
				}
				if err := prog.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHeld holds 10,000 results of 1 KiB in a script and reports the memory
// that the process took for it.
func BenchmarkHeld(b *testing.B) {
	kib := strings.Repeat("x", 1024)
	for b.Loop() {
		p := begin(b, named("held", `const out = [];
for (let k = 0; k < 5; k++) out.push(...await parallel(Array.from({length: 2000}, (_, i) => () => agent("Do " + k + "." + i))));
return out.reduce((n, s) => n + s.length, 0)`), 1, func(p *play) {
			p.start.Options.Script.MaxAgents = 20_000
			p.answer = func(workflow.StartVisit) workflow.Settled {
				return workflow.Settled{Outcome: "next", Output: workflow.Text(kib)}
			}
		})
		p.record("", &p.start)
		for p.step() {
			p.events = p.events[:0] // the history is not the script's
		}
		b.ReportMetric(peak(b), "MB-peak")
	}
}

// peak is the most memory that the process had so far, in MB.
func peak(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("the memory of a process is only read on Linux")
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kib / 1024
		}
	}
	return 0
}

// BenchmarkParse reads a script of usual length.
func BenchmarkParse(b *testing.B) {
	s := samples(b)
	for b.Loop() {
		for _, x := range s[:10] {
			begin(b, x, 1)
		}
	}
}
