package tooltest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenonrun/tenon/tool"
)

// Fence is a tool.Fence around one directory. What lies outside is denied.
type Fence struct {
	Root     string   // canonical
	Deny     []string // slash-separated, below Root: these and what is below them; without a slash, names anywhere
	Ask      []string // the same, for calls that a person has to allow
	ReadOnly bool     // denies every write

	mu     sync.Mutex
	judged []string
}

var _ tool.Fence = (*Fence)(nil)

// New returns a fence around a new empty directory.
func New(t testing.TB) *Fence {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &Fence{Root: root}
}

// Path returns the absolute path of a slash-separated one below Root.
func (f *Fence) Path(rel string) string { return filepath.Join(f.Root, filepath.FromSlash(rel)) }

// Put writes a file below Root, with its directories.
func (f *Fence) Put(t testing.TB, rel, content string) {
	t.Helper()
	p := f.Path(rel)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Get reads a file below Root.
func (f *Fence) Get(t testing.TB, rel string) string {
	t.Helper()
	raw, err := os.ReadFile(f.Path(rel))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Judged lists what Judge and JudgeShell were asked, "tool op path" each.
func (f *Fence) Judged() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.judged)
}

func (f *Fence) note(words ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.judged = append(f.judged, strings.TrimSpace(strings.Join(words, " ")))
}

// Judge implements tool.Fence.
func (f *Fence) Judge(_ context.Context, r tool.Request) (tool.Place, error) {
	spelled, pattern, ok, err := choose(r)
	if err != nil {
		return tool.Place{}, err
	}
	f.note(r.Tool, string(r.Target.Op), spelled)
	if !ok {
		return tool.Place{}, nil
	}
	base := f.Root
	if r.Target.Base == tool.BaseCwd && r.Cwd != "" {
		base = r.Cwd
	}
	p, err := f.place(r.Tool, base, spelled, r.Target.Op)
	p.Pattern = pattern
	return p, err
}

// choose selects the path that a call names.
func choose(r tool.Request) (spelled, pattern string, ok bool, err error) {
	t := r.Target
	if t.Slot == "" {
		return "", "", false, nil
	}
	if v, there := r.Args.Values[t.Slot]; there {
		s, text := v.(string)
		return s, "", text, nil
	}
	if t.Absent != tool.AbsentBase {
		return "", "", false, nil
	}
	if s, _ := r.Args.Values[t.Pattern].(string); t.Pattern != "" && filepath.IsAbs(s) {
		cut := strings.IndexAny(s, "*?[{")
		if cut < 0 {
			cut = len(strings.TrimRight(s, "/"))
		}
		slash := strings.LastIndex(s[:cut], "/")
		return s[:max(slash, 1)], s[slash+1:], true, nil
	}
	return "", "", true, nil
}

// place judges one path: both what it says and where it leads.
func (f *Fence) place(name, base, spelled string, op tool.Op) (tool.Place, error) {
	p := tool.Place{Op: op, Spelled: spelled}
	p.Lexical = filepath.Clean(spelled)
	open := spelled
	if !filepath.IsAbs(spelled) {
		p.Lexical = filepath.Join(base, spelled)
		open = base + "/" + spelled
	}
	verdict := tool.Verdict{Tool: name, Op: op, Spelled: spelled}
	var err error
	if p.Canonical, err = canonical(open, 0); err != nil {
		verdict.Reason = "nobody can tell where it leads: " + err.Error()
		return p, &tool.Asked{Verdict: verdict}
	}
	verdict.Canonical = p.Canonical
	if info, err := os.Lstat(p.Canonical); err == nil {
		p.Exists, p.Identity = true, tell(p.Canonical, info).Identity
	}
	for view, path := range map[string]string{"lexical": p.Lexical, "canonical": p.Canonical} {
		verdict.View = view
		if err := f.rule(path, op, verdict); err != nil {
			return p, err
		}
	}
	return p, nil
}

// rule decides about one absolute path.
func (f *Fence) rule(path string, op tool.Op, v tool.Verdict) error {
	rel, err := filepath.Rel(f.Root, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		v.Reason = "it is outside the work tree"
		return &tool.Denied{Verdict: v}
	}
	if op == tool.OpWrite && f.ReadOnly {
		v.Reason = "this agent may only read"
		return &tool.Denied{Verdict: v}
	}
	if pattern := reach(f.Deny, rel); pattern != "" {
		v.Rule, v.Reason = pattern, "a rule denies it"
		return &tool.Denied{Verdict: v}
	}
	if pattern := reach(f.Ask, rel); pattern != "" {
		v.Rule, v.Reason = pattern, "a rule asks for it"
		return &tool.Asked{Verdict: v}
	}
	return nil
}

func reach(patterns []string, rel string) string {
	for _, p := range patterns {
		if rel == p || strings.HasPrefix(rel, p+"/") || !strings.Contains(p, "/") && slices.Contains(strings.Split(rel, "/"), p) {
			return p
		}
	}
	return ""
}

// canonical follows links, and appends what does not exist.
func canonical(path string, depth int) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if depth > 40 {
		return "", fmt.Errorf("too many links")
	}
	path = strings.TrimRight(path, "/")
	dir, name := path[:strings.LastIndex(path, "/")+1], path[strings.LastIndex(path, "/")+1:]
	up, err := canonical(dir, depth+1)
	if err != nil {
		return "", err
	}
	if target, err := os.Readlink(filepath.Join(up, name)); err == nil {
		if !filepath.IsAbs(target) {
			target = up + "/" + target
		}
		return canonical(target, depth+1)
	}
	return filepath.Join(up, name), nil
}

// Within implements tool.Fence.
func (f *Fence) Within(_ context.Context, dir tool.Place, rel string, op tool.Op) (tool.Place, error) {
	if !filepath.IsLocal(rel) {
		return tool.Place{}, &tool.Failed{What: tool.Quote(rel) + " is not below " + tool.Quote(dir.Spelled)}
	}
	return f.place("", dir.Canonical, rel, op)
}

// Stat implements tool.Fence.
func (f *Fence) Stat(_ context.Context, p tool.Place) (tool.Info, error) {
	info, err := os.Lstat(p.Canonical)
	if err != nil {
		return tool.Info{}, failed("looking at", p, err)
	}
	return tell(p.Canonical, info), nil
}

// Open implements tool.Fence.
func (f *Fence) Open(_ context.Context, p tool.Place) (tool.File, error) {
	before, err := os.Lstat(p.Canonical)
	if err != nil {
		return nil, failed("opening", p, err)
	}
	if kind := tell(p.Canonical, before).Kind; kind != tool.KindFile {
		return nil, &tool.Failed{What: fmt.Sprintf("%s is no regular file but a %s", tool.Quote(p.Spelled), kind)}
	}
	h, err := os.Open(p.Canonical)
	if err != nil {
		return nil, failed("opening", p, err)
	}
	after, err := h.Stat()
	if err != nil || !os.SameFile(before, after) || tell(p.Canonical, after).Identity != p.Identity && p.Exists {
		return nil, errors.Join(h.Close(), &tool.Failed{What: tool.Quote(p.Spelled) + " changed since it was judged", Next: "try again"})
	}
	return file{h, tell(p.Canonical, after)}, nil
}

type file struct {
	*os.File
	info tool.Info
}

// Info implements tool.File.
func (f file) Info() tool.Info { return f.info }

func failed(doing string, p tool.Place, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return &tool.Failed{What: doing + " " + tool.Quote(p.Spelled), Err: err}
}

// Digest implements tool.Fence.
func (f *Fence) Digest(_ context.Context, path string) (string, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return tool.NoFile, nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", &tool.Failed{What: tool.Quote(path) + " is no regular file"}
	}
	h, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer h.Close() //nolint:errcheck // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, h); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// JudgeShell implements tool.Fence.
func (f *Fence) JudgeShell(_ context.Context, r tool.ShellRequest) error {
	f.note(r.Tool, r.Text)
	for _, c := range r.Commands {
		for _, o := range c.Operands {
			base := o.Base
			if base == "" {
				base = f.Root
			}
			if _, err := f.place(r.Tool, base, o.Spelled, o.Op); err != nil {
				return err
			}
		}
	}
	return nil
}
