package permission

import "strings"

// ToolKey is the form in which names of tools are compared: "TodoWrite",
// "todo_write" and "todowrite" are one tool.
func ToolKey(name string) string {
	plain := true
	for i := range len(name) {
		c := name[i]
		if c < 'a' || c > 'z' {
			plain = false
			break
		}
	}
	if plain {
		return name
	}
	if strings.HasPrefix(name, "mcp__") {
		return name
	}
	return strings.ToLower(strings.ReplaceAll(name, "_", ""))
}

// Families of tools: a rule for the first tool is a rule for all of them.
var (
	readers = []string{"read", "grep", "glob", "ls"}
	editors = []string{"edit", "write", "multiedit", "notebookedit"}
)

// pathTools take a path in the parentheses of a rule, commandTools a command,
// plainTools nothing that is judged.
var (
	pathTools    = append(append([]string{"cd"}, readers...), editors...)
	commandTools = []string{"bash"}
	plainTools   = []string{"task", "todowrite", "memory", "ask", "submit", "artifactwrite", "artifactread", "workflow", "webfetch", "websearch", "agent", "skill"}
)

// reaches reports whether a rule for one tool is a rule for another.
func reaches(rule, tool string) bool {
	return rule == tool || rule == "read" && has(readers, tool) || rule == "edit" && has(editors, tool)
}

func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// RunsCommands reports whether a tool takes command lines, which JudgeCommands
// judges.
func RunsCommands(name string) bool { return has(commandTools, ToolKey(name)) }
