package workflow

import "strings"

// RunID names one execution. It is unique in the project and is made by
// internal/ident.
type RunID string

// VisitID names one arrival at a node. It is structural: the path of bodies
// with their visit numbers, such as "work#1/fix#2", or "each#1[17]/do#1" in a
// map and "fan#1[left]/x#1" in a parallel branch. It is the same in every
// replay.
type VisitID string

// Digest is the lower-case hex SHA-256 of a content (64 characters).
type Digest string

// Path returns the path of node names: "each#1[3]/do#1" is
// "each/do", "fan#1[left]/x#2" is "fan/left/x". A branch whose name is a number
// cannot be told from an item of a map.
func (v VisitID) Path() string {
	var out strings.Builder
	for part := range strings.SplitSeq(string(v), "/") {
		name, rest, _ := strings.Cut(part, "#")
		if out.Len() > 0 {
			out.WriteByte('/')
		}
		out.WriteString(name)
		_, branch, _ := strings.Cut(rest, "[")
		if branch = strings.TrimSuffix(branch, "]"); strings.Trim(branch, "0123456789") != "" {
			out.WriteString("/" + branch)
		}
	}
	return out.String()
}

// Scope returns the id of the body invocation that the visit is in; "" is the
// root.
func (v VisitID) Scope() string {
	i := strings.LastIndexByte(string(v), '/')
	return string(v[:max(i, 0)])
}
