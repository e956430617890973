package deliverable

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

// Kinds of specs.
const (
	KindJSON       = "json-schema"     // JSON that meets a schema
	KindStructured = "structured-json" // any JSON
	KindDocument   = "document"        // pages of text
	KindResponse   = "response-only"   // the last message of the turn
	KindCustom     = "custom"          // files, whatever is in them
)

// spellings are the names of kinds that are understood.
var spellings = map[string]string{
	KindJSON: KindJSON, KindStructured: KindStructured, KindDocument: KindDocument, KindResponse: KindResponse, KindCustom: KindCustom,
	"document-template": KindDocument, "markdown-document": KindDocument,
}

// Modes of delivery.
const (
	ModeFiles    = "workspace-files"
	ModeResponse = "response-only"
)

// Slots that files are delivered in.
const (
	SlotDeliverables = "deliverables"
	SlotRepos        = "repos"
)

// Contents of files.
const (
	ContentJSON     = "json"
	ContentText     = "text"
	ContentMarkdown = "markdown"
)

// What follows when the contract is not met.
const (
	PolicyCorrect  = "correct" // the model is asked once to mend it; then as PolicyFail
	PolicyFail     = "fail"
	PolicyContinue = "continue" // the work goes on, unproven
)

// Spec is the contract of a deliverable.
type Spec struct {
	Slug     string   `json:"slug"`
	Version  string   `json:"version,omitempty"` // "" when the file names none
	Title    string   `json:"title,omitempty"`
	Kind     string   `json:"kind"` // one of the Kind constants
	Contract Contract `json:"outputContract"`
	// Schema is what JSON has to meet; empty for other kinds.
	Schema json.RawMessage `json:"contentSchema,omitempty"`
	Rules  Rules           `json:"rules,omitzero"`
	Policy string          `json:"onContractViolation,omitempty"` // "" is PolicyCorrect
	// Further are schemas of overlays, that the same JSON has to meet as well.
	Further []json.RawMessage `json:"-"`
	// Digest is of the canonical form of the file, or of what Tighten made of it.
	Digest string `json:"-"`

	compiled *schema.Schema
	further  []*schema.Schema
}

// Contract says where and in which form the result is delivered.
type Contract struct {
	Title string     `json:"title,omitempty"`
	Mode  string     `json:"mode"`
	Slot  Slot       `json:"targetSlot,omitzero"`
	Files []FileSpec `json:"files,omitempty"`
	Pages *PageSpec  `json:"multiPage,omitempty"`
	Notes string     `json:"notes,omitempty"`
}

// Slot is the part of a workspace that files are delivered in.
type Slot struct {
	Kind string `json:"kind"`
	Repo string `json:"repoSlug,omitempty"` // of SlotRepos
}

// String gives the directory of the slot, relative to the workspace.
func (s Slot) String() string {
	if s.Kind == SlotRepos {
		return SlotRepos + "/" + s.Repo
	}
	return SlotDeliverables
}

// FileSpec is one file of a contract. Paths are relative to the slot.
type FileSpec struct {
	Path      string   `json:"canonicalPath"`
	Fallbacks []string `json:"fallbackPaths,omitempty"` // read, in this order, where Path is not there or wrong
	Required  bool     `json:"required"`
	Purpose   string   `json:"purpose,omitempty"`
	Content   string   `json:"contentKind"`
}

// Paths are all places where the file may be, the right one first.
func (f FileSpec) Paths() []string { return append([]string{f.Path}, f.Fallbacks...) }

// PageSpec is a document of several pages.
type PageSpec struct {
	Manifest string `json:"manifestPath"`
	Template string `json:"pagePathTemplate"` // with <slug>
	Pages    []Page `json:"pages"`
}

// Page is a page of a document.
type Page struct {
	Slug  string `json:"slug"`
	Title string `json:"title,omitempty"`
}

// Path is where a page is, relative to the slot.
func (p PageSpec) Path(slug string) string { return strings.ReplaceAll(p.Template, "<slug>", slug) }

// Rules bound how many files are delivered.
type Rules struct {
	Min     *int `json:"minArtifactCount,omitempty"` // nil is 1
	Max     *int `json:"maxArtifactCount,omitempty"` // nil is any number
	Enforce bool `json:"enforceViaInference,omitempty"`
}

// Declared are the paths that the contract names, each once, in its order.
func (s *Spec) Declared() []string {
	var out []string
	add := func(p string) {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for _, f := range s.Contract.Files {
		for _, p := range f.Paths() {
			add(p)
		}
	}
	if pages := s.Contract.Pages; pages != nil {
		if pages.Manifest != "" {
			add(pages.Manifest)
		}
		for _, page := range pages.Pages {
			add(pages.Path(page.Slug))
		}
	}
	return out
}

// JSON reports whether the result is JSON.
func (s *Spec) JSON() bool { return s.Kind == KindJSON || s.Kind == KindStructured }

// policy is what holds.
func (s *Spec) policy() string {
	if s.Policy == "" {
		return PolicyCorrect
	}
	return s.Policy
}

// Ref names a spec, and perhaps its version.
type Ref struct{ Slug, Version string }

// String gives SLUG or SLUG@VERSION.
func (r Ref) String() string {
	if r.Version == "" {
		return r.Slug
	}
	return r.Slug + "@" + r.Version
}

var (
	slugPattern    = text.MustPattern(`^[a-z][a-z0-9_-]{0,127}$`)
	versionPattern = text.MustPattern(`^[0-9A-Za-z][0-9A-Za-z.+-]{0,127}$`)
)

// ParseRef reads SLUG or SLUG@VERSION; "latest" is no version.
func ParseRef(written string) (Ref, error) {
	slug, version, has := strings.Cut(written, "@")
	if !matches(slugPattern, slug) || has && !matches(versionPattern, version) {
		return Ref{}, workflow.Errorf(workflow.CodeInvalidArguments, "%q does not name a deliverable spec", written).
			WithHint("write SLUG or SLUG@VERSION, such as close-report@1.2.0")
	}
	if version == "latest" {
		version = ""
	}
	return Ref{slug, version}, nil
}

func matches(pattern func() *regexp.Regexp, s string) bool { return pattern().MatchString(s) }

// CleanPath reports whether p is a plain relative path that stays where it is
// looked for: slashes, no empty part, no "." or "..", nothing of another system.
func CleanPath(p string) bool {
	return p != "" && len(p) <= 1024 && p != "." && !strings.HasPrefix(p, "/") && path.Clean(p) == p && p != ".." &&
		!strings.HasPrefix(p, "../") && !strings.ContainsAny(p, "\\\x00:") && text.Repair(p) == p
}
