package permission

import (
	"context"
	"errors"

	"github.com/tenonrun/tenon/internal/pathid"
)

// Reading is the one answer to which path a call is about.
type Reading struct {
	Spelling
	Lexical   string   // absolute and folded, links not followed
	Canonical string   // where opening the spelling lands; empty when there is no answer
	Hops      []string // what the links passed by the last name of the path name, in order
	Asked     bool     // an environment was asked
	Unread    bool     // it was asked and something did not answer
	Cause     error    // why, when Unread
	Exists    bool     // something is at Canonical
	Linked    bool     // the last name of the path is a link
	Dev, Ino  uint64   // of what is there; zero unless it was asked for
}

// Known reports whether every view of the path is in hand.
func (r *Reading) Known() bool {
	return r.Kind == pathid.AtPath && r.Canonical != "" && !r.Unread
}

// Query asks an environment about one path.
type Query struct {
	Base, Spelled string // unfolded; Base is empty when Spelled is absolute
	Lexical       string
	Family        pathid.Family
	Identity      bool // Dev and Ino are wanted
}

// Resolved is the answer to a Query.
type Resolved struct {
	Canonical  string
	Hops       []string // what each link names that the last name of the path passes; Canonical may be among them
	HopsUnread bool     // links were followed and what they passed could not be read
	Exists     bool
	Dev, Ino   uint64
}

// Lead says where a location leads.
type Lead struct {
	To    string
	Links []string // canonical locations of the links on the way
}

// Fold says which names a directory takes for one and the same.
type Fold struct {
	Case bool // names that differ in case only
	Norm bool // names that differ in Unicode form only
}

// Env answers for the machine on which tools run. It is safe for concurrent use.
type Env interface {
	// Resolve says where opening a spelling lands: in the order of the system, with
	// every link followed, whether or not the end exists. No answer is an error.
	Resolve(ctx context.Context, q Query) (Resolved, error)
	// Lead says where a location leads, a location that exists or not.
	Lead(ctx context.Context, location string) (Lead, error)
	// Folds tells about the directories that hold a path.
	Folds(ctx context.Context, path string) Fold
}

// Place locates a spelling without any environment.
func Place(s Spelling) Reading {
	if s.Kind != pathid.AtPath {
		return Reading{Spelling: s}
	}
	p := pathid.Place(s.Spelled, s.Base, s.Family)
	s.Kind, s.Family, s.Word, s.Reason = p.Kind, p.Family, p.Word, p.Reason
	return Reading{Spelling: s, Lexical: p.Path}
}

// resolve asks the environment for the views that a placed reading lacks.
func (r *Reading) resolve(ctx context.Context, env Env, identity bool) {
	if r.Kind != pathid.AtPath || env == nil || r.Asked {
		return
	}
	r.Asked = true
	q := Query{Base: r.Base, Spelled: r.Spelled, Lexical: r.Lexical, Family: r.Family, Identity: identity}
	if pathid.Qualified(q.Spelled, q.Family) {
		q.Base = ""
	}
	got, err := env.Resolve(ctx, q)
	if err == nil && got.Canonical == "" {
		err = errors.New("the environment gave no answer")
	}
	if err != nil {
		r.Unread, r.Cause = true, err
		return
	}
	r.Canonical, r.Exists, r.Dev, r.Ino = got.Canonical, got.Exists, got.Dev, got.Ino
	r.Linked = len(got.Hops) > 0
	for _, hop := range got.Hops {
		if hop != r.Lexical && hop != r.Canonical {
			r.Hops = append(r.Hops, hop)
		}
	}
	if got.HopsUnread {
		r.Unread, r.Cause = true, errors.New("the links on the way could not be read")
	}
}
