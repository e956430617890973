package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v4"

	"github.com/tenonrun/tenon/provider/providertest"
)

// model is a model server that answers from a file of a page.
type model struct {
	server *providertest.Server

	mu      sync.Mutex
	replies []*reply
	told    []exchange
	gate    chan struct{} // closed when held replies may go
}

// exchange is a request with what it was told, and when it came.
type exchange struct {
	at     time.Time
	prompt string
	reply  providertest.Reply
}

// reply is one entry of the file: the first that fits a request answers it.
type reply struct {
	Match string `yaml:"match"` // in the prompt; "" is every prompt
	Said  string `yaml:"said"`  // anywhere in the request
	Model string `yaml:"model"`
	Turn  int    `yaml:"turn"`
	Times int    `yaml:"times"` // answers that often, then no longer; 0 is always

	Calls   []call            `yaml:"calls"` // of tools
	Text    string            `yaml:"text"`
	Pad     int               `yaml:"pad"` // so many x after the text
	In      int64             `yaml:"in"`
	Out     int64             `yaml:"out"`
	NoUsage bool              `yaml:"noUsage"`
	Delay   time.Duration     `yaml:"delay"`
	Hold    bool              `yaml:"hold"` // until modelrelease
	Status  int               `yaml:"status"`
	Header  map[string]string `yaml:"header"`
	Kind    string            `yaml:"kind"`
	Message string            `yaml:"message"`
	Body    string            `yaml:"body"`
	Raw     string            `yaml:"raw"`
	Tell    string            `yaml:"tell"`
	Fault   string            `yaml:"fault"` // hang, empty, html, cut, stall, end, broken, nul
}

// call is a use of a tool.
type call struct {
	Name string         `yaml:"name"`
	Args map[string]any `yaml:"args"`
}

func theModel(ts *testscript.TestScript) *model {
	m := of(ts).model
	if m == nil {
		ts.Fatalf("no model server was started")
	}
	return m
}

// modelServer starts a server and configures it for the user, as a provider of
// each protocol: fake and fixture (anthropic), chat, responses and gemini.
func modelServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: modelserver FILE")
	}
	m := &model{gate: make(chan struct{})}
	m.read(ts, args[0])
	server, err := providertest.Listen("127.0.0.1:0", m.respond)
	ts.Check(err)
	m.server = server
	of(ts).model = m
	ts.Setenv("MODEL_URL", server.URL)
	var b strings.Builder
	b.WriteString("version: 1\nproviders:\n")
	for _, p := range providertest.Protocols() {
		names := []string{string(p)}
		if p == providertest.Anthropic {
			names = []string{"fake", "fixture"}
		}
		for _, name := range names {
			fmt.Fprintf(&b, "  %s: {type: %s, model: fake-1, keyEnv: FAKE_API_KEY, baseURL: %q}\n", name, p, server.Base(p))
		}
	}
	b.WriteString("roles: {loop-decider: {access: read, provider: fake}}\n")
	file := filepath.Join(ts.Getenv("XDG_CONFIG_HOME"), "tenon", "config.yaml")
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	ts.Check(os.WriteFile(file, []byte(b.String()), 0o644))
}

func modelReply(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: modelreply FILE")
	}
	theModel(ts).read(ts, args[0])
}

// read loads replies. SECRET in a text becomes a secret of the environment, and
// NOW+3600 the time an hour from now.
func (m *model) read(ts *testscript.TestScript, file string) {
	raw := strings.ReplaceAll(ts.ReadFile(file), "SECRET", secrets["MY_API_KEY"])
	raw = later.ReplaceAllStringFunc(raw, func(s string) string {
		n, _ := strconv.Atoi(s[len("NOW+"):])
		return strconv.FormatInt(time.Now().Add(time.Duration(n)*time.Second).Unix(), 10)
	})
	var replies []*reply
	ts.Check(yaml.Unmarshal([]byte(raw), &replies))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replies = replies
}

var later = regexp.MustCompile(`NOW\+[0-9]+`)

// respond answers a request, and holds the answer back where the page says so.
func (m *model) respond(req providertest.Request) providertest.Reply {
	answer, hold := m.choose(req)
	if hold {
		<-m.gate
	}
	return answer
}

// release lets held answers go, also those to come.
func (m *model) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.gate:
	default:
		close(m.gate)
	}
}

func modelRelease(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: modelrelease")
	}
	theModel(ts).release()
}

func (m *model) choose(req providertest.Request) (answer providertest.Reply, hold bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.replies {
		if !strings.Contains(req.Prompt, r.Match) || !strings.Contains(string(req.Body), r.Said) || r.Model != "" && r.Model != req.Model || r.Turn != 0 && r.Turn != req.Turn || r.Times < 0 {
			continue
		}
		if r.Times > 0 {
			if r.Times--; r.Times == 0 {
				r.Times = -1
			}
		}
		answer := r.reply()
		m.told = append(m.told, exchange{time.Now(), req.Prompt, answer})
		return answer, r.Hold
	}
	return providertest.Reply{Status: 418, Message: "the page has no reply for " + req.Prompt}, false
}

func (r *reply) reply() providertest.Reply {
	out := providertest.Reply{
		Text: r.Text + strings.Repeat("x", r.Pad), NoUsage: r.NoUsage, Delay: r.Delay, Status: r.Status, Header: r.Header,
		Kind: r.Kind, Message: r.Message, Body: r.Body, Raw: r.Raw, Tell: r.Tell,
	}
	for i, c := range r.Calls {
		args, err := json.Marshal(c.Args)
		if err != nil {
			panic(err) // a page of YAML always is JSON
		}
		out.Calls = append(out.Calls, providertest.Call{ID: fmt.Sprintf("call-%d", i+1), Name: c.Name, Args: string(args)})
	}
	if r.Pad > 0 {
		out.Chunk = -1
	}
	if r.In+r.Out > 0 {
		out.Tokens = &providertest.Tokens{Input: r.In, Output: r.Out}
	}
	for fault, flag := range map[string]*bool{
		"hang": &out.Hang, "empty": &out.Empty, "html": &out.HTML, "cut": &out.Cut, "stall": &out.Stall,
		"end": &out.End, "broken": &out.Broken, "nul": &out.NUL,
	} {
		*flag = fault == r.Fault
	}
	return out
}

func (m *model) calls(re *regexp.Regexp) (n int) {
	for _, req := range m.server.Requests() {
		if re.MatchString(req.Prompt) {
			n++
		}
	}
	return n
}

func (m *model) mentions(re *regexp.Regexp) (n int) {
	for _, req := range m.server.Requests() {
		if re.Match(req.Body) {
			n++
		}
	}
	return n
}

func modelCalls(ts *testscript.TestScript, neg bool, args []string) {
	count := theModel(ts).calls
	if len(args) == 3 && args[0] == "-said" {
		count, args = theModel(ts).mentions, args[1:]
	}
	if neg || len(args) != 2 {
		ts.Fatalf("usage: modelcalls [-said] PATTERN N|<=N")
	}
	number, most := strings.CutPrefix(args[1], "<=")
	want, err := strconv.Atoi(number)
	ts.Check(err)
	if got := count(pattern(ts, args[0])); got != want && (!most || got > want) {
		ts.Fatalf("%d requests match %s, want %s", got, args[0], args[1])
	}
}

func modelSaid(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: modelsaid PATTERN")
	}
	if n := theModel(ts).mentions(pattern(ts, args[0])); neg != (n == 0) {
		ts.Fatalf("%d requests said %s", n, args[0])
	}
}

// modelAnswered counts the requests that were answered and not refused.
func modelAnswered(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: modelanswered PATTERN N")
	}
	re, n := pattern(ts, args[0]), 0
	m := theModel(ts)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.told {
		if x.reply.Status == 0 && re.MatchString(x.prompt) {
			n++
		}
	}
	if strconv.Itoa(n) != args[1] {
		ts.Fatalf("%d requests were answered, want %s", n, args[1])
	}
}

// modelGap demands that no refused prompt comes again too soon.
func modelGap(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: modelgap STATUS DURATION")
	}
	least, err := time.ParseDuration(args[1])
	ts.Check(err)
	m := theModel(ts)
	m.mu.Lock()
	defer m.mu.Unlock()
	refused := map[string]time.Time{}
	seen := 0
	for _, x := range m.told {
		if at, ok := refused[x.prompt]; ok {
			seen++
			if gap := x.at.Sub(at); gap < least {
				ts.Fatalf("%s came again after %s", x.prompt, gap)
			}
		}
		delete(refused, x.prompt)
		if strconv.Itoa(x.reply.Status) == args[0] {
			refused[x.prompt] = x.at
		}
	}
	if seen == 0 || len(refused) > 0 {
		ts.Fatalf("%d refused prompts came again, %d did not", seen, len(refused))
	}
}
