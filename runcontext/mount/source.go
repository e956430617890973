package mount

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/runcontext"
	"github.com/tenonrun/tenon/workflow"
)

// Limits bound what is mounted. The zero value stands for the defaults.
type Limits struct {
	MaxFiles int   // default 100,000
	MaxBytes int64 // of all files; default 8 GiB
}

func (l Limits) orDefault() Limits {
	if l.MaxFiles == 0 {
		l.MaxFiles = 100_000
	}
	if l.MaxBytes == 0 {
		l.MaxBytes = 8 << 30
	}
	return l
}

// Survey expands directories into their files and digests everything, without
// writing. An entry that comes with a digest must have it. All sources that cannot
// be used are in the error.
func Survey(ctx context.Context, entries []runcontext.Entry, limits Limits) (runcontext.Plan, error) {
	s, err := expand(ctx, entries, limits.orDefault())
	if err != nil {
		return runcontext.Plan{}, err
	}
	defer s.close()
	if err := s.digest(ctx, ""); err != nil {
		return runcontext.Plan{}, err
	}
	return s.plan, nil
}

// sources are the entries of a plan and how their files are opened.
type sources struct {
	plan   runcontext.Plan
	opened map[string]origin // by path of the entry
	roots  map[string]*os.Root
	limits Limits
	files  int
	found  []error
}

// origin is a file below an open directory.
type origin struct {
	root *os.Root
	name string
}

func (s *sources) close() {
	for _, root := range s.roots {
		_ = root.Close()
	}
}

func (s *sources) refuse(e runcontext.Entry, hint, format string, args ...any) {
	s.found = append(s.found, workflow.Errorf(workflow.CodeMountFailed, "mount %s from %s: %s", e.Path, e.Origin, fmt.Sprintf(format, args...)).WithHint("%s", hint))
}

func (s *sources) err() error {
	if len(s.found) == 0 {
		return nil
	}
	slices.SortFunc(s.found, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	err := errors.Join(s.found...)
	return &workflow.Error{Code: workflow.CodeMountFailed, Msg: err.Error(), Err: err}
}

// expand finds the files of all entries and checks their paths, before anything is
// read.
func expand(ctx context.Context, entries []runcontext.Entry, limits Limits) (*sources, error) {
	s := &sources{opened: map[string]origin{}, roots: map[string]*os.Root{}, limits: limits}
	var all []runcontext.Entry
	for _, e := range entries {
		all = append(all, s.entry(ctx, e)...)
	}
	err := s.err()
	if err == nil {
		s.plan, err = runcontext.NewPlan(all)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// entry returns the entry, or for a directory one for each of its files.
func (s *sources) entry(ctx context.Context, e runcontext.Entry) []runcontext.Entry {
	if e.Origin == "" {
		s.count(e)
		return []runcontext.Entry{e}
	}
	info, err := os.Lstat(e.Origin)
	if e.IsLink() {
		info, err = os.Stat(e.Origin)
	}
	switch {
	case err != nil:
		s.refuse(e, "check where it should be", "%v", cause(err))
	case e.IsLink() && !info.IsDir():
		s.refuse(e, "name the directory of the work tree", "it is no directory")
	case e.IsLink():
		return []runcontext.Entry{e}
	case info.Mode()&fs.ModeSymlink != 0:
		s.refuse(e, "name what the link leads to", "it is a link")
	case info.IsDir():
		return s.directory(ctx, e)
	default:
		if root := s.root(e, filepath.Dir(e.Origin)); root != nil {
			return s.file(e, origin{root, filepath.Base(e.Origin)}, info)
		}
	}
	return nil
}

func (s *sources) root(e runcontext.Entry, dir string) *os.Root {
	if root := s.roots[dir]; root != nil {
		return root
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		s.refuse(e, "check that it can be read", "%v", cause(err))
		return nil
	}
	s.roots[dir] = root
	return root
}

// cause leaves out the operation and path that the message names already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// count reports whether one more file is within the limit.
func (s *sources) count(e runcontext.Entry) bool {
	s.files++
	if s.files == s.limits.MaxFiles+1 {
		s.refuse(e, "mount less, or raise the limit", "there are more than %d files to mount", s.limits.MaxFiles)
	}
	return s.files <= s.limits.MaxFiles
}

func (s *sources) file(e runcontext.Entry, o origin, info fs.FileInfo) []runcontext.Entry {
	if !s.count(e) {
		return nil
	}
	if !info.Mode().IsRegular() {
		s.refuse(e, "leave it out of the source", "%s is no regular file (%s)", o.name, info.Mode().Type())
		return nil
	}
	e.Size = info.Size()
	s.opened[e.Path] = o
	return []runcontext.Entry{e}
}

func (s *sources) directory(ctx context.Context, e runcontext.Entry) []runcontext.Entry {
	root := s.root(e, e.Origin)
	if root == nil {
		return nil
	}
	if e.SHA256 != "" {
		s.refuse(e, "pin the files of the directory one by one", "a directory has no digest")
		return nil
	}
	w := walk{sources: s, e: e, root: root}
	w.dir(ctx, ".", nil)
	return w.out
}

// walk follows one directory.
type walk struct {
	*sources
	e    runcontext.Entry
	root *os.Root
	out  []runcontext.Entry
}

// dir walks a directory whose ancestors are above, to see a link that leads back.
func (w *walk) dir(ctx context.Context, name string, above []fs.FileInfo) {
	if ctx.Err() != nil || w.files > w.limits.MaxFiles {
		return
	}
	f, err := w.root.Open(name)
	if err != nil {
		w.refuse(w.e, "check that it can be read", "%s: %v", name, cause(err))
		return
	}
	self, err := f.Stat()
	entries, readErr := f.ReadDir(-1)
	_ = f.Close()
	if err = errors.Join(err, readErr); err != nil {
		w.refuse(w.e, "check that it can be read", "%s: %v", name, cause(err))
		return
	}
	for _, a := range above {
		if os.SameFile(a, self) {
			w.refuse(w.e, "leave the link out of the source", "%s is a link to a directory that it is in", name)
			return
		}
	}
	above = append(above[:len(above):len(above)], self)
	for _, entry := range entries {
		w.child(ctx, path.Join(name, entry.Name()), entry, above)
	}
}

func (w *walk) child(ctx context.Context, name string, entry fs.DirEntry, above []fs.FileInfo) {
	info, err := entry.Info()
	if err == nil && entry.Type()&fs.ModeSymlink != 0 {
		info, err = w.root.Stat(name) // does not follow a link out of the root
		if err != nil {
			w.refuse(w.e, "replace the link by what it leads to", "%s is a link that leads out of the source, or nowhere", name)
			return
		}
	}
	switch {
	case err != nil:
		w.refuse(w.e, "check that it can be read", "%s: %v", name, cause(err))
	case info.IsDir():
		w.dir(ctx, name, above)
	default:
		e := w.e
		e.Path += "/" + name
		e.Origin = filepath.Join(w.e.Origin, filepath.FromSlash(name))
		w.out = append(w.out, w.file(e, origin{w.root, name}, info)...)
	}
}

// workers read files at the same time; more would wait for the same disk.
const workers = 4

// digest reads every source once and fills in digest and size; with a directory it
// writes the files there too.
func (s *sources) digest(ctx context.Context, dir string) error {
	next := make(chan int)
	var group sync.WaitGroup
	var mu sync.Mutex // guards s.found and total
	var total int64
	for range min(workers, max(1, len(s.plan.Entries)/8)) {
		group.Go(func() {
			c := copier{dir: dir, hash: sha256.New(), buffer: make([]byte, 128<<10), limit: s.limits.MaxBytes}
			for i := range next {
				e := &s.plan.Entries[i]
				err := c.entry(e, s.opened[e.Path])
				mu.Lock()
				if err != nil {
					s.refuse(*e, "check the source, and that the state area has room", "%v", err)
				}
				if total += e.Size; total > s.limits.MaxBytes && total-e.Size <= s.limits.MaxBytes {
					s.refuse(*e, "mount less, or raise the limit", "the mounts are larger than %d bytes together", s.limits.MaxBytes)
				}
				mu.Unlock()
			}
		})
	}
	for i := range s.plan.Entries {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	group.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.err()
}

// directories are the directories of a plan, parents first.
func directories(p runcontext.Plan) []string {
	seen := map[string]bool{".": true}
	var out []string
	add := func(dir string) {
		var fresh []string
		for ; !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			fresh = append([]string{dir}, fresh...)
		}
		out = append(out, fresh...)
	}
	for _, e := range p.Entries {
		if e.IsDir() {
			add(e.Path)
		} else {
			add(path.Dir(e.Path))
		}
	}
	return out
}

// writable reports whether a directory of the plan stays open for tools: the
// root of a writable slot, and what is below.
func writable(p runcontext.Plan, dir string) bool {
	for {
		if e, ok := p.Find(dir); ok && e.IsDir() {
			return e.Mode == runcontext.ReadWrite
		}
		i := strings.LastIndexByte(dir, '/')
		if i < 0 {
			return false
		}
		dir = dir[:i]
	}
}
