package workspace

import "context"

// CandidateFormat starts every digest of the format in use. It changes when the
// same content would get another digest.
const CandidateFormat = "c1:"

// Candidate tells the content of the work trees of a run.
type Candidate interface {
	// Digest returns CandidateFormat and 64 lower-case hex digits for the trees
	// as they are now. An unreadable file is an error that names it.
	Digest(ctx context.Context) (string, error)
}

// Repository is one work tree of a project.
type Repository struct {
	ID    string   // name in definitions and digests, unique in the project
	Path  string   // absolute directory of the work tree
	Scope []string // slash-separated directories below Path that may change; none means all
}
