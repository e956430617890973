package anthropic

import (
	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/tenonrun/tenon/provider"
)

// counts are the vendor's prompt counts, which leave cached tokens out of the
// input. Nil is what was not sent.
type counts struct{ input, read, written *int64 }

// into converts to the contract's rule. A later event repeats the counts and
// replaces them.
func (c counts) into(u *provider.Usage) {
	if c.read != nil {
		u.Cached = c.read
	}
	if c.written != nil {
		u.CacheWrite = c.written
	}
	if c.input == nil {
		return
	}
	sum := *c.input
	for _, part := range []*int64{u.Cached, u.CacheWrite} {
		if part != nil {
			sum += *part
		}
	}
	u.Input = &sum
}

func known(valid bool, n int64) *int64 {
	if !valid || n < 0 {
		return nil
	}
	return &n
}

// startUsage takes the prompt's counts. The output count of this event is a
// placeholder.
func startUsage(u *provider.Usage, s sdk.Usage) {
	counts{
		known(s.JSON.InputTokens.Valid(), s.InputTokens),
		known(s.JSON.CacheReadInputTokens.Valid(), s.CacheReadInputTokens),
		known(s.JSON.CacheCreationInputTokens.Valid(), s.CacheCreationInputTokens),
	}.into(u)
}

func deltaUsage(u *provider.Usage, s sdk.MessageDeltaUsage) {
	counts{
		known(s.JSON.InputTokens.Valid() && s.InputTokens > 0, s.InputTokens),
		known(s.JSON.CacheReadInputTokens.Valid(), s.CacheReadInputTokens),
		known(s.JSON.CacheCreationInputTokens.Valid(), s.CacheCreationInputTokens),
	}.into(u)
	if n := known(s.JSON.OutputTokens.Valid(), s.OutputTokens); n != nil {
		u.Output = n
	}
	if n := known(s.OutputTokensDetails.JSON.ThinkingTokens.Valid(), s.OutputTokensDetails.ThinkingTokens); n != nil {
		u.Reasoning = n
	}
}
