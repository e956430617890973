package git

import (
	"encoding/hex"
	"strings"

	"github.com/tenonrun/tenon/workspace"
)

// Content is a candidate and what it is made of.
type Content struct {
	Digest       string // as Candidate.Digest
	Repositories []RepositoryContent
}

// RepositoryContent is the part of one repository.
type RepositoryContent struct {
	ID     string
	Digest string // that of this repository alone
	Files  []File // sorted bytewise by path
}

// File is one path of a candidate. A repository in a repository is one path.
type File struct {
	Path string // slash-separated, relative to the repository; not always UTF-8
	// Fingerprint is "file:" or "executable:" and the SHA-256 of the bytes in hex;
	// "link:" or "out-link:", which leaves the repository, and the text; "deleted";
	// "sparse:" and the object id; "module:", the commit and, when dirty, a digest;
	// or "nested:" and a digest.
	Fingerprint string
}

// files returns what the digest covers.
func files(list []*entry) []File {
	found := make([]File, 0, len(list))
	for _, e := range list {
		content := e.content
		switch e.kind {
		case absent:
			continue
		case file, executable:
			content = hex.EncodeToString(e.sum[:])
		}
		found = append(found, File{e.path, strings.TrimSuffix(string(e.kind)+":"+content, ":")})
	}
	return found
}

// repository adds what was read of one repository.
func (e *encoder) repository(id string, list []*entry) {
	e.field(id)
	e.entries(list)
}

func (e *encoder) digest() string {
	sum := e.sum()
	return workspace.CandidateFormat + hex.EncodeToString(sum[:])
}
