package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
)

type js = map[string]any

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte(`{"error":{"message":"the reply cannot be encoded"}}`)
	}
	return bytes.TrimSpace(b.Bytes())
}

// events is the stream of a reply.
func events(req Request, reply Reply) []event {
	switch req.Protocol {
	case Anthropic:
		return anthropicEvents(req, reply)
	case Chat:
		return chatEvents(req, reply)
	case Responses:
		return responsesEvents(req, reply)
	}
	return geminiEvents(req, reply)
}

// whole is the answer to a request that does not stream.
func whole(req Request, reply Reply) js {
	switch req.Protocol {
	case Anthropic:
		return anthropicWhole(req, reply)
	case Chat:
		return chatWhole(req, reply)
	case Responses:
		return responsesWhole(req, reply, "completed")
	}
	return geminiWhole(req, reply)
}

// id makes the same ids for the same request and place.
func id(prefix string, req Request, n int) string {
	return fmt.Sprintf("%s_%d_%d", prefix, req.Turn, n)
}

func (c Call) id(prefix string, req Request, n int) string {
	if c.ID != "" {
		return c.ID
	}
	return id(prefix, req, n+1)
}

// args is the input as a value, for protocols that carry no text.
func (c Call) args() any {
	if json.Valid([]byte(c.Args)) {
		return json.RawMessage(c.Args)
	}
	if c.Args == "" {
		return js{}
	}
	return c.Args
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// errorBody is the vendor's way to say an error.
func (r Reply) errorBody(p Protocol) string {
	if r.Body != "" {
		return r.Body
	}
	msg := or(r.Message, "made to fail")
	switch p {
	case Anthropic:
		return string(encode(js{"type": "error", "error": js{"type": or(r.Kind, anthropicKind(r.Status)), "message": msg}, "request_id": "req_test"}))
	case Gemini:
		code := r.Status
		if code == 0 {
			code = 503
		}
		e := js{"code": code, "message": msg, "status": or(r.Kind, geminiKind(code))}
		if r.Details != "" {
			e["details"] = json.RawMessage(r.Details)
		}
		return string(encode(js{"error": e}))
	case Responses:
		if r.Status == 0 { // told in a stream
			return string(encode(js{"type": "error", "code": r.Kind, "message": msg, "param": nil, "sequence_number": 9}))
		}
	}
	return string(encode(js{"error": js{"message": msg, "type": or(r.Kind, openaiKind(r.Status)), "code": r.Kind, "param": nil}}))
}

func anthropicKind(status int) string {
	return or(map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
		404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
	}[status], "api_error")
}

func openaiKind(status int) string {
	return or(map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "invalid_request_error", 429: "requests",
	}[status], "server_error")
}

func geminiKind(status int) string {
	return or(map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE",
	}[status], "INTERNAL")
}
