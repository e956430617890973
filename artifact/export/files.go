package export

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/tenonrun/tenon/artifact"
)

// Options say what Write writes.
type Options struct {
	// Dir is the directory. It is made, with its parents, when it is not there.
	Dir string
	// Only are the ids of the artifacts to write; empty is all.
	Only []string
	// All writes every version, as ID/vN.ext, with the log that restores them;
	// without it only the current ones are written, as ID.ext.
	All bool
	// Replace overwrites files that are there with another content.
	Replace bool
}

// Written is a file that Write made.
type Written struct {
	Artifact string `json:"artifact"`
	Version  int64  `json:"version"`
	File     string `json:"file"` // in the directory, with slashes
	Bytes    int64  `json:"bytes"`
}

// Names of the files of an export with all versions.
const (
	IndexFile = "index.json" // the descriptors
	LogFile   = "log.jsonl"  // the revisions, as artifact.Lines reads them
)

// Write makes files of the artifacts of a collection, and returns them in the order
// of the artifacts. A file that is there with another content stops it, with
// workflow.CodeArtifactConflict, unless it may be replaced; files that are equal
// are left alone. Other errors have the codes of the collection.
func Write(ctx context.Context, from artifact.Collection, o Options) ([]Written, error) {
	list, err := chosen(ctx, from, o.Only)
	if err != nil {
		return nil, err
	}
	p, err := openPlace(o.Dir, o.Replace)
	if err != nil {
		return nil, err
	}
	defer p.root.Close() //nolint:errcheck // a root is a place, nothing is written through its end
	e := exporter{place: p, from: from, names: shelf{IndexFile: true, LogFile: true}}
	if o.All {
		err = e.history(ctx, list, len(o.Only) == 0)
	} else {
		err = e.current(ctx, list)
	}
	if err != nil {
		return e.done, fmt.Errorf("exporting artifacts: %w", err)
	}
	return e.done, nil
}

// chosen returns the descriptors of the artifacts to write.
func chosen(ctx context.Context, from artifact.Store, only []string) ([]artifact.Descriptor, error) {
	list, err := from.List(ctx)
	if err != nil || len(only) == 0 {
		return list, err
	}
	list = slices.DeleteFunc(list, func(d artifact.Descriptor) bool { return !slices.Contains(only, d.ID) })
	for _, id := range only {
		if !slices.ContainsFunc(list, func(d artifact.Descriptor) bool { return d.ID == id }) {
			_, err := from.Get(ctx, id) // says what is wrong with the id
			return nil, fmt.Errorf("exporting artifact %q: %w", id, err)
		}
	}
	return list, nil
}

type exporter struct {
	place *place
	from  artifact.Collection
	names shelf
	done  []Written
}

// current writes the current versions.
func (e *exporter) current(ctx context.Context, list []artifact.Descriptor) error {
	for _, d := range list {
		r, content, err := e.from.Read(ctx, d.ID, artifact.Latest)
		if err != nil {
			return err
		}
		raw, ext := Body(r.Mime, content)
		if err := e.put(&r, e.names.name(safe(d.ID), ext), raw); err != nil {
			return err
		}
	}
	return nil
}

// history writes all versions, the descriptors and the log. whole tells that all
// artifacts are in the list; then the deletions are in the log too.
func (e *exporter) history(ctx context.Context, list []artifact.Descriptor, whole bool) error {
	raw, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if err := e.place.put(IndexFile, append(raw, '\n')); err != nil {
		return err
	}
	dirs, versions := map[string]string{}, map[string]shelf{}
	for _, d := range list {
		dirs[d.ID], versions[d.ID] = e.names.name(safe(d.ID), ""), shelf{}
	}
	return e.place.stream(LogFile, func(log io.Writer) error {
		for c, err := range e.from.Export(ctx) {
			if err != nil {
				return err
			}
			dir, ok := dirs[c.Artifact]
			if !ok && !(whole && c.Deleted) {
				continue
			}
			if err := e.revision(ctx, &c, log, func(ext string) string {
				return path.Join(dir, versions[c.Artifact].name(fmt.Sprint("v", c.Version), ext))
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// revision writes a revision into its file and into the log.
func (e *exporter) revision(ctx context.Context, c *artifact.Copy, to io.Writer, file func(ext string) string) error {
	l := artifact.Line{Revision: c.Revision}
	if !c.Deleted {
		var err error
		if l.Content, err = c.Content(ctx); err != nil {
			return err
		}
		raw, ext := Body(c.Mime, l.Content)
		if err := e.put(&c.Revision, file(ext), raw); err != nil {
			return err
		}
	}
	raw, err := l.Append(nil)
	if err != nil {
		return err
	}
	_, err = to.Write(raw)
	return err
}

func (e *exporter) put(r *artifact.Revision, name string, raw []byte) error {
	if err := e.place.put(name, raw); err != nil {
		return err
	}
	e.done = append(e.done, Written{Artifact: r.Artifact, Version: r.Version, File: name, Bytes: int64(len(raw))})
	return nil
}
