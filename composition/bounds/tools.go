package bounds

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/permission"
)

// FloorTools are the tools that every agent has. To have a tool is not to be
// allowed to use it.
func FloorTools() []string {
	return []string{"bash", "read", "write", "edit", "grep", "glob", "ls", "task", "todo_write", "memory"}
}

// IsFloorTool reports whether every agent has a tool, however it is spelled.
func IsFloorTool(name string) bool { return Known(name, FloorTools()) }

// BuiltinTools are the floor tools and those that a turn may have beside them.
func BuiltinTools() []string {
	return append(FloorTools(), "ask", "artifact_read", "artifact_write", "submit", "workflow")
}

// foreignTools are tools of Claude Code that are not here. A definition that was
// written for it may name them; they select nothing.
var foreignTools = []string{
	"Agent", "AskUserQuestion", "BashOutput", "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "KillBash", "KillShell", "LSP",
	"ListMcpResourcesTool", "Monitor", "MultiEdit", "NotebookEdit", "NotebookRead", "ReadMcpResourceTool", "SendMessage", "Skill", "SlashCommand",
	"TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "ToolSearch", "WebFetch", "WebSearch",
}

// byClass are the tools of each class, as manifests and capabilities name them. memory is a tool that
// every agent has, whatever server it comes from: it is in no class.
var byClass = map[string][]string{
	"read": {"read", "grep", "glob", "ls"}, "write": {"write", "edit", "todo_write"}, "exec": {"bash"},
	"delegate": {"task"}, "web": {"webfetch", "websearch"}, "mcp": {},
}

// Classes lists the classes of tools.
func Classes() []string { return []string{"delegate", "exec", "mcp", "read", "web", "write"} }

// ForeignTool reports whether a tool is one of Claude Code that is not here.
func ForeignTool(name string) bool { return Known(name, foreignTools) }

// InClass reports whether a tool belongs to a class.
func InClass(tool, class string) bool {
	return Known(tool, byClass[class]) || class == "mcp" && strings.HasPrefix(tool, "mcp__")
}

// IsClass reports whether a name can only be that of a class of tools.
func IsClass(name string) bool {
	_, ok := byClass[name]
	return ok && !Known(name, BuiltinTools())
}

// Has reports whether there is a tool of a class.
func (t Toolbox) Has(class string) bool {
	if class == "mcp" {
		return len(t.Resources) > 0
	}
	return slices.ContainsFunc(byClass[class], func(tool string) bool { return Known(tool, t.Names()) })
}

// Known reports whether a name is one of names, however it is spelled.
func Known(name string, names []string) bool {
	key := permission.ToolKey(name)
	return slices.ContainsFunc(names, func(n string) bool { return permission.ToolKey(n) == key })
}

// Kinds of selections, and of providers of tools.
const (
	SelectProvider = "provider" // all tools of one
	SelectTool     = "tool"
	Builtin        = "builtin" // the provider of the tools that are part of the program
)

var providerKinds = []string{Builtin, "mcp_server", "catalog", "biome_workflow_tools", "biome_code_tools"}

// Selection selects a tool, or all tools of a provider of tools.
type Selection struct {
	Kind         string `json:"kind"`
	ProviderKind string `json:"providerKind"`
	ResourceID   string `json:"resourceId,omitempty"` // at most 256 bytes; empty for Builtin
	ToolName     string `json:"toolName,omitempty"`   // at most 256 bytes

	claude bool // written as Claude Code does
}

// Foreign reports whether a selection in the definition of an agent is of Claude
// Code: where it selects nothing, the definition can be used all the same.
func (s Selection) Foreign() bool {
	return s.claude || s.ProviderKind == Builtin && ForeignTool(s.ToolName)
}

// ParseSelection reads the name of a built-in tool, mcp__SERVER[__TOOL], or
// mcp-tool:SERVER.TOOL[@MAJOR].
func ParseSelection(s string) Selection {
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(s, "mcp__"); ok {
		server, name, tool := strings.Cut(rest, "__")
		s := mcp(server, name, tool && name != "*")
		s.claude = true
		return s
	}
	if rest, ok := strings.CutPrefix(s, "mcp-tool:"); ok {
		rest, _, _ = strings.Cut(rest, "@")
		server, name, tool := strings.Cut(rest, ".")
		return mcp(server, name, tool)
	}
	return Selection{Kind: SelectTool, ProviderKind: Builtin, ToolName: s}
}

func mcp(server, name string, tool bool) Selection {
	if tool {
		return Selection{Kind: SelectTool, ProviderKind: "mcp_server", ResourceID: server, ToolName: name}
	}
	return Selection{Kind: SelectProvider, ProviderKind: "mcp_server", ResourceID: server}
}

// UnmarshalJSON reads an entry or the short form of ParseSelection.
func (s *Selection) UnmarshalJSON(raw []byte) error {
	if strings.HasPrefix(string(raw), `"`) {
		var short string
		if err := json.Unmarshal(raw, &short); err != nil {
			return err
		}
		*s = ParseSelection(short)
		return nil
	}
	type plain Selection
	return json.Unmarshal(raw, (*plain)(s))
}

// String gives the selection for people.
func (s Selection) String() string {
	switch {
	case s.ProviderKind == Builtin:
		return s.ToolName
	case s.Kind == SelectTool:
		return s.ProviderKind + " " + s.ResourceID + "." + s.ToolName
	}
	return s.ProviderKind + " " + s.ResourceID
}

// Check says what is wrong with a selection, or "".
func (s Selection) Check() string {
	switch {
	case len(s.ResourceID) > 256 || len(s.ToolName) > 256:
		return "a name in it is longer than 256 bytes"
	case !slices.Contains(providerKinds, s.ProviderKind):
		return fmt.Sprintf("%q is not a kind of provider: write one of %s", s.ProviderKind, strings.Join(providerKinds, ", "))
	case s.Kind == SelectTool && s.ToolName == "":
		return "it names no tool: write toolName, or kind: provider for all tools"
	case s.Kind == SelectProvider && s.ToolName != "":
		return "it names a tool and all tools: write kind: tool, or leave toolName out"
	case s.Kind != SelectTool && s.Kind != SelectProvider:
		return fmt.Sprintf("%q is not a kind of selection: write provider or tool", s.Kind)
	case s.ProviderKind != Builtin && s.ResourceID == "":
		return "it names no resource: write resourceId"
	}
	return ""
}

// Name is the tool as a model sees it, or "" for all tools of a provider.
func (s Selection) Name() string {
	switch {
	case s.Kind != SelectTool:
		return ""
	case s.ProviderKind == Builtin:
		return s.ToolName
	}
	return "mcp__" + s.ResourceID + "__" + s.ToolName
}

// Toolbox says which tools exist where a composition is resolved.
type Toolbox struct {
	Builtin []string // nil: BuiltinTools
	// Resources are the tools of each provider, by "PROVIDERKIND/RESOURCE"; nil for
	// one whose tools are not known yet.
	Resources map[string][]string
}

// Names are the built-in tools.
func (t Toolbox) Names() []string {
	if t.Builtin == nil {
		return BuiltinTools()
	}
	return t.Builtin
}

// Find says whether a selection selects something; names are those it could have
// meant.
func (t Toolbox) Find(s Selection) (ok bool, name string, names []string) {
	if s.ProviderKind == Builtin {
		return s.Kind == SelectProvider || Known(s.ToolName, t.Names()), s.ToolName, t.Names()
	}
	tools, ok := t.Resources[s.ProviderKind+"/"+s.ResourceID]
	if !ok {
		for key := range t.Resources {
			if kind, id, _ := strings.Cut(key, "/"); kind == s.ProviderKind {
				names = append(names, id)
			}
		}
		slices.Sort(names)
		return false, s.ResourceID, names
	}
	if s.Kind == SelectProvider || tools == nil {
		return true, "", nil
	}
	return slices.Contains(tools, s.ToolName), s.ToolName, tools
}

// Only are the names of the tools that a list of selections leaves; nil, which is
// all, for an empty one. The problems have the places of entries for fields.
func (t Toolbox) Only(list []json.RawMessage) (names []string, wrong []Problem) {
	for i, raw := range list {
		var s Selection
		err := json.Unmarshal(raw, &s)
		why := s.Check()
		ok, name, known := t.Find(s)
		switch {
		case err != nil || why != "":
			why = "the selection cannot be used: " + cmp.Or(why, "it is no entry and no name")
		case !ok:
			why = fmt.Sprintf("the tool %s is not there", s)
			if near := text.Nearest(name, known); near != "" {
				why += fmt.Sprintf("; did you mean %q?", near)
			}
		case s.Kind == SelectTool:
			names = append(names, s.Name())
		case s.ProviderKind == Builtin:
			names = append(names, t.Names()...)
		default:
			names = append(names, "mcp__"+s.ResourceID)
		}
		if why != "" {
			wrong = append(wrong, Problem{strconv.Itoa(i), why})
		}
	}
	return names, wrong
}
