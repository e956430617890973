package tool

import (
	"context"
	"io"
	"io/fs"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// Fence judges paths and opens exactly what it judged. It is safe for concurrent
// use. A verdict against a call is an error of type *Denied or *Asked; a place
// that is no longer what was judged is a *Failed.
type Fence interface {
	// Judge decides about the path that a call names, by the declaration of its
	// tool and before anything is opened. A call that names no path is judged by the
	// name of its tool only, and its Place is zero.
	Judge(ctx context.Context, r Request) (Place, error)
	// Within judges the path rel, slash-separated and below dir, for op.
	Within(ctx context.Context, dir Place, rel string, op Op) (Place, error)
	// Stat tells what is at a place, links not followed beyond what was judged. An
	// absent place gives an error that is fs.ErrNotExist.
	Stat(ctx context.Context, p Place) (Info, error)
	// Open opens a judged place for reading. Only regular files: everything else is a
	// *Failed, at once and without waiting for another process.
	Open(ctx context.Context, p Place) (File, error)
	// Write replaces or makes the file at a place judged for OpWrite, whole or not
	// at all, see Draft. The file keeps its mode. Links are not written through.
	Write(ctx context.Context, p Place, d Draft) (Change, error)
	// Walk visits what is below a directory, each entry judged for the operation of
	// dir; those that are denied or would have to be asked about are not visited, and
	// counted. Links are visited and not followed, the directory itself is not
	// visited. Entries of a directory come in order of their names when there are at
	// most SortUpTo, else as the disk has them. visit may return fs.SkipDir for a
	// directory and fs.SkipAll; other errors stop the walk.
	Walk(ctx context.Context, dir Place, o WalkOptions, visit func(Entry) error) (Left, error)
	// Digest gives the lower hex SHA-256 of the regular file at a canonical path, or
	// NoFile. It is for evidence after a crash: the host asks, nothing is judged.
	Digest(ctx context.Context, canonical string) (string, error)
	// JudgeShell decides about a parsed command line: every simple command and every
	// operand of it.
	JudgeShell(ctx context.Context, r ShellRequest) error
}

// SortUpTo is the size of a directory, in entries, up to which Walk sorts it.
const SortUpTo = 20_000

// NoFile stands for the digest of a file that does not exist.
const NoFile = "absent"

// Request asks about one call.
type Request struct {
	Tool   string
	Effect workflow.Effect
	Target Target
	Args   *Args  // as the tool reads them; a deny that Args.From reaches holds too
	Cwd    string // absolute; may be empty
}

// Place is a path that was judged. It is a value to hand back to the Fence that
// gave it, which opens that and nothing else.
type Place struct {
	Tool      string // that it was judged for
	Op        Op
	Spelled   string // as the call spelled it
	Lexical   string // absolute, folded, links not followed
	Canonical string // where opening it lands
	Exists    bool
	Identity  Identity // of what was there when it was judged; zero when nothing was
	Pattern   string   // rest of the absolute glob pattern that named this directory, relative to it
}

// Identity is what one file is on one machine.
type Identity struct{ Dev, Ino uint64 }

// Kind is the kind of a directory entry.
type Kind string

// Kinds of entries.
const (
	KindFile   Kind = "file"
	KindDir    Kind = "dir"
	KindLink   Kind = "link"
	KindFIFO   Kind = "fifo"
	KindSocket Kind = "socket"
	KindDevice Kind = "device"
	KindOther  Kind = "other"
)

// Info tells about a file.
type Info struct {
	Kind     Kind
	Size     int64 // in bytes, as the file says
	Disk     int64 // in bytes, as stored; less than Size when the file has holes
	Mode     fs.FileMode
	ModTime  time.Time
	Links    uint64 // hard links
	Target   string // of a link, as stored
	Identity Identity
}

// File is an open regular file.
type File interface {
	io.ReadCloser
	io.ReaderAt
	Info() Info // at the time of opening
}

// Draft is what Write does.
type Draft struct {
	Content []byte
	// Expect is the digest that the file must have, or NoFile; empty for any. A file
	// that differs gives a *Changed and stays as it is.
	Expect string
	// MakeParents makes missing directories on the way.
	MakeParents bool
	// Announce is told the change after the new content is safe on disk under
	// another name and before it is published; an error gives the write up. May be nil.
	Announce func(context.Context, Change) error
}

// WalkOptions bound a walk.
type WalkOptions struct {
	Depth int  // levels below the directory; 0 for all, 1 for its entries only
	Info  bool // fill Entry.Info in full, with a system call an entry; else only Kind
}

// Entry is one entry that a walk visits.
type Entry struct {
	Rel   string // below the directory of the walk, slash-separated, bytes as on disk
	Info  Info
	Place Place // for Open, Within and Walk
}

// Left counts what a walk did not show.
type Left struct {
	Denied     int `json:"denied,omitempty"`
	Asked      int `json:"asked,omitempty"`      // a person would have to be asked
	Unreadable int `json:"unreadable,omitempty"` // directories that could not be read
	Deep       int `json:"deep,omitempty"`       // directories that lie deeper than a walk goes
}

// ShellRequest is a command line as far as its text shows what it does. A rule or
// an operand that is denied denies it; what is opaque needs a person, unless the
// operating system confines the command or a rule allows it.
type ShellRequest struct {
	Tool     string
	Text     string // as the model wrote it
	Cwd      string // absolute, where it starts
	Commands []ShellCommand
	Opaque   []string // all that the text does not show, in words for people: "the target of > is not literal"
	Confined Confinement
}

// Confinement is what the operating system holds a command to, whatever its text.
type Confinement string

// Confinements.
const (
	ConfinedNot    Confinement = ""       // to nothing
	ConfinedWrites Confinement = "writes" // it writes below the roots only
	ConfinedReads  Confinement = "reads"  // it writes nothing
)

// NotShown stands in a word for a part that the text does not show: a variable,
// the output of a command. No real word can hold it.
const NotShown = "\x00"

// ShellCommand is one simple command.
type ShellCommand struct {
	// Words are the name and the arguments, without the wrappers that were looked
	// through (timeout, nice); each may hold NotShown. No words: only a redirection,
	// which no rule about commands is asked about.
	Words []string
	// Outer are the same words with one wrapper more each. A rule that denies or asks
	// reaches Words and all of Outer; one that allows needs only Words.
	Outer    [][]string
	Text     string // as written
	Cwd      string // absolute directory it runs in; empty when the text does not show it
	Operands []Operand
	Opaque   []string // which of the request's Opaque is about this command: a rule that allows it covers that
}

// Operand is a path that a command reads, writes, searches or enters.
type Operand struct {
	Spelled string
	Op      Op
	Base    string // absolute directory that a relative path starts from; empty when unknown
	Why     string // how the command names it: "operand of cat", "> redirection"
	Deep    bool   // the content of everything below it is read
}
