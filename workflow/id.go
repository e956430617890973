package workflow

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
// "each/do", "fan#1[left]/x#2" is "fan/left/x".
func (v VisitID) Path() string {
	visit := string(v)
	out := make([]byte, 0, len(visit))
	skip := false
	for i := 0; i < len(visit); i++ {
		switch c := visit[i]; {
		case c == '#':
			skip = true
		case c == '[':
			skip = visit[i+1] >= '0' && visit[i+1] <= '9'
			if !skip {
				out = append(out, '/')
			}
		case c == ']':
			skip = true
		case c == '/':
			skip = false
			out = append(out, '/')
		case !skip:
			out = append(out, c)
		}
	}
	return string(out)
}

// Scope returns the id of the body invocation that the visit is in; "" is the
// root.
func (v VisitID) Scope() string {
	for i := len(v) - 1; i >= 0; i-- {
		if v[i] == '/' {
			return string(v[:i])
		}
	}
	return ""
}
