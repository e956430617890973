package providertest

func anthropicUsage(t Tokens) (start, end js) {
	start = js{
		"input_tokens": t.Input - t.Cached - t.CacheWrite, "output_tokens": 1,
		"cache_read_input_tokens": t.Cached, "cache_creation_input_tokens": t.CacheWrite,
	}
	end = js{"output_tokens": t.Output}
	if t.Reasoning > 0 {
		end["output_tokens_details"] = js{"thinking_tokens": t.Reasoning}
	}
	return start, end
}

func anthropicStop(r Reply) string {
	if r.Stop == "" && len(r.Calls) > 0 {
		return "tool_use"
	}
	return or(r.Stop, "end_turn")
}

func anthropicEvents(req Request, r Reply) []event {
	var out []event
	add := func(kind string, v js) {
		v["type"] = kind
		out = append(out, event{kind, encode(v)})
	}
	start, end := anthropicUsage(r.tokens())
	message := js{
		"id": id("msg", req, 0), "type": "message", "role": "assistant", "model": r.model(req),
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": start,
	}
	final := js{"delta": js{"stop_reason": anthropicStop(r), "stop_sequence": nil}, "usage": end}
	if r.NoUsage {
		delete(message, "usage")
		delete(final, "usage")
	}
	add("message_start", js{"message": message})
	index := 0
	block := func(start js, deltas ...js) {
		add("content_block_start", js{"index": index, "content_block": start})
		for _, d := range deltas {
			add("content_block_delta", js{"index": index, "delta": d})
		}
		add("content_block_stop", js{"index": index})
		index++
	}
	if r.Reasoning != "" {
		block(js{"type": "thinking", "thinking": "", "signature": ""},
			js{"type": "thinking_delta", "thinking": r.Reasoning},
			js{"type": "signature_delta", "signature": r.Signature})
	}
	if r.Text != "" {
		var deltas []js
		for _, c := range r.chunks(r.Text) {
			deltas = append(deltas, js{"type": "text_delta", "text": c})
		}
		block(js{"type": "text", "text": ""}, deltas...)
	}
	for i, c := range r.Calls {
		var deltas []js
		for _, s := range r.chunks(c.Args) {
			deltas = append(deltas, js{"type": "input_json_delta", "partial_json": s})
		}
		block(js{"type": "tool_use", "id": c.id("toolu", req, i), "name": c.Name, "input": js{}}, deltas...)
	}
	add("ping", js{})
	add("message_delta", final)
	add("message_stop", js{})
	return out
}

func anthropicWhole(req Request, r Reply) js {
	var content []any
	if r.Text != "" {
		content = append(content, js{"type": "text", "text": r.Text})
	}
	for i, c := range r.Calls {
		content = append(content, js{"type": "tool_use", "id": c.id("toolu", req, i), "name": c.Name, "input": c.args()})
	}
	usage, end := anthropicUsage(r.tokens())
	for k, v := range end {
		usage[k] = v
	}
	out := js{
		"id": id("msg", req, 0), "type": "message", "role": "assistant", "model": r.model(req),
		"content": content, "stop_reason": anthropicStop(r), "stop_sequence": nil,
	}
	if !r.NoUsage {
		out["usage"] = usage
	}
	return out
}
