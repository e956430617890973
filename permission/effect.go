package permission

// Effect is what a rule or a judge says about a call.
type Effect uint8

// Effects. None says that nothing speaks about a call.
const (
	None Effect = iota
	Allow
	Ask
	Deny
)

func (e Effect) String() string {
	switch e {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	case Deny:
		return "deny"
	}
	return "none"
}

// strictness orders effects by what they keep from happening: what is not allowed
// is stricter than what is.
func (e Effect) strictness() int {
	switch e {
	case Allow:
		return 0
	case None:
		return 1
	case Ask:
		return 2
	}
	return 3
}

// Op is what a call wants to do with a path.
type Op string

// Operations. Enter is a change of the working directory.
const (
	OpNone   Op = ""
	OpRead   Op = "read"
	OpWrite  Op = "write"
	OpSearch Op = "search"
	OpEnter  Op = "enter"
)
