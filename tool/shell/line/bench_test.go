package line_test

import (
	"testing"

	"github.com/tenonrun/tenon/tool/shell/line"
)

func BenchmarkRead(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"simple", "git status"},
		{"compound", "cd src && grep -rn 'x y' . | sort -u > ../out.txt && (cd .. ; git add -A && git commit -m \"a message\") || echo failed"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := line.Read(c.text, options()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
