package deliverable

import "slices"

// IndexFile is the list of what is delivered, in the slot deliverables:
// {"deliverables": [{"path": "close.json", "kind": "report"}]}.
const IndexFile = "manifest.json"

// File is one file that was taken in. Paths are relative to the slot.
type File struct {
	Path   string `json:"path"`
	Kind   string `json:"kind,omitempty"` // as the index says
	Size   int64  `json:"sizeBytes"`
	Digest string `json:"sha256"` // of Data
	Data   []byte `json:"-"`
}

// Refusal is a file that is there and is not taken in.
type Refusal struct {
	Path   string `json:"path"`
	Reason Reason `json:"reason"`
	Detail string `json:"detail"` // what it is instead, such as "is a named pipe"
}

// Harvest is what a turn left behind.
type Harvest struct {
	Files     []File            `json:"files"` // by path
	Refused   []Refusal         `json:"refused,omitempty"`
	Indexed   bool              `json:"indexed"`             // there is an index
	Listed    []string          `json:"listed,omitempty"`    // what it lists, in its order
	Elsewhere map[string]string `json:"elsewhere,omitempty"` // a declared path that is not in the slot, to where a file of that name is
	Faults    []Fault           `json:"faults,omitempty"`    // of the harvest itself, and of the index
	Warnings  []string          `json:"warnings,omitempty"`
	// Text is the last message of the turn.
	Text string `json:"-"`
}

// file finds a file.
func (h *Harvest) file(path string) (File, bool) {
	i := slices.IndexFunc(h.Files, func(f File) bool { return f.Path == path })
	if i < 0 {
		return File{}, false
	}
	return h.Files[i], true
}

func (h *Harvest) refusal(path string) (Refusal, bool) {
	i := slices.IndexFunc(h.Refused, func(r Refusal) bool { return r.Path == path })
	if i < 0 {
		return Refusal{}, false
	}
	return h.Refused[i], true
}
