package tooltest_test

import (
	"testing"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/tooltest"
)

func TestFence(t *testing.T) {
	t.Parallel()
	tooltest.TestFence(t, func(_ testing.TB, r tooltest.Rules) tool.Fence {
		return &tooltest.Fence{Root: r.Root, Deny: r.Deny, Ask: r.Ask}
	})
}
