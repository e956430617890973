package providertest

func geminiUsage(t Tokens) js {
	out := js{
		"promptTokenCount": t.Input, "candidatesTokenCount": t.Output - t.Reasoning, "totalTokenCount": t.Input + t.Output,
	}
	if t.Cached > 0 { // the vendor does not send a 0
		out["cachedContentTokenCount"] = t.Cached
	}
	if t.Reasoning > 0 {
		out["thoughtsTokenCount"] = t.Reasoning
	}
	return out
}

func geminiParts(req Request, r Reply, chunks []string) []any {
	var parts []any
	if r.Reasoning != "" {
		parts = append(parts, js{"text": r.Reasoning, "thought": true})
	}
	if r.Text != "" {
		for _, c := range chunks {
			parts = append(parts, js{"text": c})
		}
	}
	for i, c := range r.Calls {
		call := js{"name": c.Name, "args": c.args()}
		if c.ID != "" {
			call["id"] = c.ID
		}
		p := js{"functionCall": call}
		if i == 0 && r.Signature != "" {
			p["thoughtSignature"] = r.Signature
		}
		parts = append(parts, p)
	}
	return parts
}

func geminiAnswer(req Request, r Reply, parts []any, last bool) js {
	cand := js{"index": 0, "content": js{"role": "model", "parts": parts}}
	if last {
		cand["finishReason"] = or(r.Stop, "STOP")
	}
	out := js{"candidates": []any{cand}, "modelVersion": r.model(req), "responseId": id("gem", req, 0)}
	if !r.NoUsage {
		usage := geminiUsage(r.tokens())
		if !last {
			delete(usage, "candidatesTokenCount")
			delete(usage, "thoughtsTokenCount")
		}
		out["usageMetadata"] = usage
	}
	return out
}

func geminiEvents(req Request, r Reply) []event {
	var out []event
	parts := geminiParts(req, r, r.chunks(r.Text))
	for _, p := range parts {
		out = append(out, event{"", encode(geminiAnswer(req, r, []any{p}, false))})
	}
	return append(out, event{"", encode(geminiAnswer(req, r, []any{}, true))})
}

func geminiWhole(req Request, r Reply) js {
	return geminiAnswer(req, r, geminiParts(req, r, []string{r.Text}), true)
}
