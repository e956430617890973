package providertest

func chatUsage(t Tokens) js {
	return js{
		"prompt_tokens": t.Input, "completion_tokens": t.Output, "total_tokens": t.Input + t.Output,
		"prompt_tokens_details":     js{"cached_tokens": t.Cached},
		"completion_tokens_details": js{"reasoning_tokens": t.Reasoning},
	}
}

func chatStop(r Reply) string {
	if r.Stop == "" && len(r.Calls) > 0 {
		return "tool_calls"
	}
	return or(r.Stop, "stop")
}

func chatEvents(req Request, r Reply) []event {
	var out []event
	head := func() js {
		return js{"id": id("chatcmpl", req, 0), "object": "chat.completion.chunk", "created": 1, "model": r.model(req)}
	}
	add := func(delta js, finish any) {
		v := head()
		v["choices"] = []any{js{"index": 0, "delta": delta, "finish_reason": finish}}
		out = append(out, event{"", encode(v)})
	}
	add(js{"role": "assistant", "content": ""}, nil)
	if r.Reasoning != "" {
		add(js{"reasoning_content": r.Reasoning}, nil)
	}
	if r.Text != "" {
		for _, c := range r.chunks(r.Text) {
			add(js{"content": c}, nil)
		}
	}
	for i, c := range r.Calls {
		call := js{"index": i, "id": c.id("call", req, i), "type": "function", "function": js{"name": c.Name, "arguments": ""}}
		add(js{"tool_calls": []any{call}}, nil)
		for _, s := range r.chunks(c.Args) {
			add(js{"tool_calls": []any{js{"index": i, "function": js{"arguments": s}}}}, nil)
		}
	}
	add(js{}, chatStop(r))
	if !r.NoUsage {
		v := head()
		v["choices"], v["usage"] = []any{}, chatUsage(r.tokens())
		out = append(out, event{"", encode(v)})
	}
	return append(out, event{"", []byte("[DONE]")})
}

func chatWhole(req Request, r Reply) js {
	var calls []any
	for i, c := range r.Calls {
		calls = append(calls, js{"id": c.id("call", req, i), "type": "function", "function": js{"name": c.Name, "arguments": c.Args}})
	}
	message := js{"role": "assistant", "content": r.Text}
	if calls != nil {
		message["tool_calls"] = calls
	}
	out := js{
		"id": id("chatcmpl", req, 0), "object": "chat.completion", "created": 1, "model": r.model(req),
		"choices": []any{js{"index": 0, "message": message, "finish_reason": chatStop(r)}},
	}
	if !r.NoUsage {
		out["usage"] = chatUsage(r.tokens())
	}
	return out
}

func responsesUsage(t Tokens) js {
	return js{
		"input_tokens": t.Input, "input_tokens_details": js{"cached_tokens": t.Cached},
		"output_tokens": t.Output, "output_tokens_details": js{"reasoning_tokens": t.Reasoning},
		"total_tokens": t.Input + t.Output,
	}
}

func responsesItems(req Request, r Reply) []js {
	var items []js
	if r.Reasoning != "" {
		items = append(items, js{
			"type": "reasoning", "id": id("rs", req, 0), "encrypted_content": r.Signature,
			"summary": []any{js{"type": "summary_text", "text": r.Reasoning}},
		})
	}
	if r.Text != "" {
		items = append(items, js{
			"type": "message", "id": id("msg", req, 0), "role": "assistant", "status": "completed",
			"content": []any{js{"type": "output_text", "text": r.Text, "annotations": []any{}}},
		})
	}
	for i, c := range r.Calls {
		items = append(items, js{
			"type": "function_call", "id": id("fc", req, i+1), "call_id": c.id("call", req, i),
			"name": c.Name, "arguments": c.Args, "status": "completed",
		})
	}
	return items
}

// responsesWhole is the response object. Stop is the reason of an incomplete
// one.
func responsesWhole(req Request, r Reply, status string) js {
	out := js{
		"id": id("resp", req, 0), "object": "response", "created_at": 1, "model": r.model(req),
		"status": status, "output": []any{}, "usage": nil, "error": nil, "incomplete_details": nil,
	}
	if status == "in_progress" {
		return out
	}
	out["output"] = responsesItems(req, r)
	if r.Stop != "" {
		out["status"], out["incomplete_details"] = "incomplete", js{"reason": r.Stop}
	}
	if !r.NoUsage {
		out["usage"] = responsesUsage(r.tokens())
	}
	return out
}

func responsesEvents(req Request, r Reply) []event {
	var out []event
	add := func(kind string, v js) {
		v["type"], v["sequence_number"] = kind, len(out)
		out = append(out, event{kind, encode(v)})
	}
	add("response.created", js{"response": responsesWhole(req, r, "in_progress")})
	add("response.in_progress", js{"response": responsesWhole(req, r, "in_progress")})
	for i, item := range responsesItems(req, r) {
		begin := js{"id": item["id"], "type": item["type"], "status": "in_progress"}
		at := func(v js) js {
			v["output_index"], v["item_id"] = i, item["id"]
			return v
		}
		switch item["type"] {
		case "message":
			begin["role"], begin["content"] = "assistant", []any{}
			add("response.output_item.added", at(js{"item": begin}))
			add("response.content_part.added", at(js{"content_index": 0, "part": js{"type": "output_text", "text": ""}}))
			for _, c := range r.chunks(r.Text) {
				add("response.output_text.delta", at(js{"content_index": 0, "delta": c}))
			}
			add("response.output_text.done", at(js{"content_index": 0, "text": r.Text}))
			add("response.content_part.done", at(js{"content_index": 0, "part": js{"type": "output_text", "text": r.Text}}))
		case "function_call":
			begin["call_id"], begin["name"], begin["arguments"] = item["call_id"], item["name"], ""
			add("response.output_item.added", at(js{"item": begin}))
			args, _ := item["arguments"].(string)
			for _, c := range r.chunks(args) {
				add("response.function_call_arguments.delta", at(js{"delta": c}))
			}
			add("response.function_call_arguments.done", at(js{"arguments": args}))
		case "reasoning":
			begin["summary"] = []any{}
			add("response.output_item.added", at(js{"item": begin}))
			add("response.reasoning_summary_text.delta", at(js{"summary_index": 0, "delta": r.Reasoning}))
		}
		add("response.output_item.done", at(js{"item": item}))
	}
	kind := "response.completed"
	if r.Stop != "" {
		kind = "response.incomplete"
	}
	add(kind, js{"response": responsesWhole(req, r, "completed")})
	return out
}
