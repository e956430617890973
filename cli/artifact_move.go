package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/export"
	"github.com/tenonrun/tenon/workflow"
)

func (a *app) artifactExportCmd(w *within) *cobra.Command {
	var o export.Options
	c := &cobra.Command{
		Use:   "export [RUN|COLLECTION|ARTIFACT] DIR",
		Short: "Write artifacts as files: the current versions, or all of them with the log that restores them",
		Args:  cobra.RangeArgs(1, 2),
	}
	f := c.Flags()
	f.BoolVar(&o.All, "all", false, "every version, and the log that tenon artifact import reads")
	f.BoolVar(&o.Replace, "replace", false, "overwrite files that have another content")
	f.StringArrayVar(&o.Only, "only", nil, "only the artifact of this id, repeatable")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if o.Dir, err = filepath.Abs(args[len(args)-1]); err != nil {
			return fmt.Errorf("exporting artifacts: %w", err)
		}
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			p, err := a.exported(cmd.Context(), t, w, args[:len(args)-1], &o)
			if err != nil {
				return err
			}
			files, err := export.Write(cmd.Context(), p, o)
			if err != nil {
				return err
			}
			if a.json || a.jsonl {
				a.document(map[string]any{"collection": p.name, "dir": o.Dir, "files": append([]export.Written{}, files...)})
				return nil
			}
			for _, file := range files {
				fmt.Fprintf(a.std.Out, "%s@%d  %s  %d bytes\n", file.Artifact, file.Version, file.File, file.Bytes)
			}
			return nil
		})
	}
	return c
}

// exported finds what is to be written: a collection, or one artifact of it.
func (a *app) exported(ctx context.Context, t *tenon.Tenon, w *within, args []string, o *export.Options) (place, error) {
	name := strings.Join(args, "")
	if name != "" && (w.given() || strings.Contains(name, "/")) {
		th, err := a.artifact(ctx, t, w, name)
		if err == nil {
			err = th.whole("export")
		}
		o.Only = append(o.Only, th.ID)
		return th.place, err
	}
	return a.collection(ctx, t, w, name)
}

func (a *app) artifactImportCmd(w *within) *cobra.Command {
	var in struct{ transcript, log, id, title, mime string }
	c := &cobra.Command{
		Use:   "import [FILE]",
		Short: "Take artifacts in: a file, the log of an export, or the transcript of an agent",
		Long: `FILE becomes a version of the artifact --id, written by a person. --log merges the
log.jsonl of an export with all versions. --transcript writes what an agent wrote
by artifact_write, into a collection that holds nothing. With --collection NAME the
collection is made when it is not there.`,
		Args: cobra.MaximumNArgs(1),
	}
	f := c.Flags()
	f.StringVar(&in.transcript, "transcript", "", "transcript of an agent: JSON, or JSON lines")
	f.StringVar(&in.log, "log", "", "log of an export")
	f.StringVar(&in.id, "id", "", "artifact that FILE becomes a version of (default: its name)")
	f.StringVar(&in.title, "title", "", "title (default: that of the current version, else the id)")
	f.StringVar(&in.mime, "mime", "", "mime type (default: that of the current version, else by the name of FILE)")
	c.MarkFlagsMutuallyExclusive("transcript", "log", "id")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if n := len(args); (in.transcript != "" || in.log != "") == (n > 0) {
			return usage(errors.New("give a FILE, --log or --transcript"))
		}
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			p, err := a.collection(cmd.Context(), t, w, "")
			if err != nil {
				return err
			}
			switch {
			case in.transcript != "":
				return a.importTranscript(cmd.Context(), p, in.transcript)
			case in.log != "":
				return a.importLog(cmd.Context(), p, in.log)
			}
			return a.importFile(cmd.Context(), t, p, args[0], artifact.Draft{ID: in.id, Title: in.title, Mime: in.mime, Author: artifact.Person})
		})
	}
	return c
}

func (a *app) importTranscript(ctx context.Context, p place, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return usage(fmt.Errorf("reading the transcript: %w", err))
	}
	defer func() { _ = f.Close() }() // it was only read
	messages, err := export.Transcript(f)
	if err != nil {
		return err
	}
	list, err := p.List(ctx)
	if err != nil {
		return err
	}
	if len(list) > 0 {
		return workflow.Errorf(workflow.CodeArtifactConflict, "the collection %s holds artifacts: a transcript would double them", p.name).
			WithHint("import it into a new one: --collection NAME")
	}
	n, err := artifact.Rehydrate(ctx, p, messages)
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintln(a.std.Err, "it holds no call of artifact_write that was answered and did not fail")
	}
	a.imported(p, map[string]any{"written": n}, fmt.Sprintf("%d versions written", n))
	return nil
}

// maxWarnings bounds how many lines are named that cannot be read.
const maxWarnings = 10

func (a *app) importLog(ctx context.Context, p place, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return usage(fmt.Errorf("reading the log: %w", err))
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return usage(fmt.Errorf("%s is a directory: give the file %s in it", file, filepath.Join(file, "log.jsonl")))
	}
	skipped := 0
	m, err := p.Merge(ctx, artifact.Copies(artifact.Lines(f, 0), func(b *artifact.BadLine) {
		if skipped++; skipped <= maxWarnings {
			fmt.Fprintln(a.std.Err, "warning:", printable(b.Error()))
		}
	}))
	if err != nil {
		return err
	}
	if more := skipped - maxWarnings; more > 0 {
		fmt.Fprintf(a.std.Err, "warning: and %d more lines\n", more)
	}
	if refused := len(m.Refused) + len(m.Clashes); skipped > 0 && m.Added+m.Known+refused == 0 {
		return usage(fmt.Errorf("%s is no log of artifacts: none of its %d lines can be read; tenon artifact export --all writes one", file, skipped))
	}
	for _, r := range m.Refused {
		fmt.Fprintln(a.std.Err, "warning:", printable(r))
	}
	a.imported(p, map[string]any{"merged": m, "skipped": skipped}, fmt.Sprintf("%d revisions taken, %d were there, %d refused, %d lines skipped", m.Added, m.Known, len(m.Refused)+len(m.Clashes), skipped))
	return nil
}

func (a *app) imported(p place, doc map[string]any, line string) {
	if a.json || a.jsonl {
		doc["collection"] = p.name
		a.document(doc)
		return
	}
	fmt.Fprintf(a.std.Out, "%s: %s\n", p.name, line)
}

// longest is the most bytes that a content may have.
func longest(t *tenon.Tenon) int64 {
	return cmp.Or(t.Artifacts().Limits().MaxBytes, artifact.DefaultMaxBytes)
}

func (a *app) importFile(ctx context.Context, t *tenon.Tenon, p place, file string, d artifact.Draft) error {
	raw, name, err := a.slurpTo(file, longest(t))
	if err != nil {
		return err
	}
	base, title := filepath.Base(name), d.ID
	if d.ID == "" {
		title = strings.TrimSuffix(base, filepath.Ext(base))
		d.ID = idOf(title)
	}
	was, err := p.Get(ctx, d.ID)
	if err != nil && workflow.CodeOf(err) != workflow.CodeNotFound && workflow.CodeOf(err) != workflow.CodeInvalidArtifactID {
		return err
	}
	d.Title = first(d.Title, first(was.Title, title))
	d.Mime = first(d.Mime, first(was.Mime, first(typeOf(base), "text/plain")))
	d.Content = artifact.FileContent(d.Mime, raw)
	r, err := p.Put(ctx, d)
	if err != nil {
		return err
	}
	a.kept(thing{place: p, Address: artifact.Address{Collection: p.name, ID: d.ID}}, &r.Descriptor)
	return nil
}

func (a *app) artifactPublishCmd(w *within) *cobra.Command {
	var o export.PublishOptions
	var sees string
	c := &cobra.Command{
		Use:   "publish ARTIFACT DIR",
		Short: "Write a page that needs nothing else, for any static host",
		Long: `Writes a dated folder, or with --single one HTML file, that shows a version and loads
nothing from elsewhere. A link goes on showing what it showed: another version gets
another name. The collection remembers what is out, and lists tell when it is stale.`,
		Args: cobra.ExactArgs(2),
	}
	f := c.Flags()
	f.BoolVar(&o.Single, "single", false, "one HTML file instead of a folder")
	f.StringVar(&o.BaseURL, "base-url", "", "where DIR is served, for the link (default: a file: link)")
	f.Int64Var(&o.Live, "live", 0, "the version that you saw published: another one that is out meanwhile refuses it")
	f.StringVar(&sees, "visibility", "", "kept in the record for a server: unlisted or team")
	f.StringVar(&o.TeamID, "team", "", "kept in the record for a server")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if o.Visibility, err = visibility(sees); err != nil {
			return err
		}
		if o.Dir, err = filepath.Abs(args[1]); err != nil {
			return fmt.Errorf("publishing: %w", err)
		}
		o.Now = time.Now()
		return a.onArtifact(cmd.Context(), w, args[0], func(_ *tenon.Tenon, th thing) error {
			o.Version = th.Version
			p, err := export.Publish(cmd.Context(), th, th.ID, o)
			if err != nil {
				return err
			}
			if a.json || a.jsonl {
				a.document(p)
				return nil
			}
			fmt.Fprintln(a.std.Out, p.URL)
			a.warnStale(&p.Descriptor, th.name+"/"+th.ID)
			return nil
		})
	}
	return c
}

func (a *app) artifactSyncCmd(w *within) *cobra.Command {
	var as string
	c := &cobra.Command{
		Use:   "sync DIR",
		Short: "Exchange the versions of a collection with other devices, through a shared directory",
		Args:  cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&as, "as", "", "name of the collection in DIR (default: its own)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		dir, err := filepath.Abs(args[0])
		if err != nil {
			return fmt.Errorf("syncing: %w", err)
		}
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			p, err := a.collection(cmd.Context(), t, w, "")
			if err != nil {
				return err
			}
			device, err := t.Artifacts().Device()
			if err != nil {
				return err
			}
			done, err := export.Sync(cmd.Context(), p, export.SyncOptions{Dir: dir, Collection: first(as, p.name), Device: device, Limits: t.Artifacts().Limits()})
			if err != nil {
				return err
			}
			a.synced(p, done)
			return nil
		})
	}
	return c
}

func (a *app) synced(p place, s export.Synced) {
	if a.json || a.jsonl {
		a.document(s)
		return
	}
	fmt.Fprintf(a.std.Out, "%s: %d pulled, %d pushed\n", p.name, s.Pulled.Added, s.Pushed)
	for _, n := range []struct {
		count int
		what  string
	}{
		{s.Waiting, "versions wait for contents that have not arrived"}, {s.Skipped, "lines cannot be read"},
		{s.Lost, "versions here have lost their content: tenon doctor"}, {len(s.Pulled.Clashes), "versions have the id of another one"},
	} {
		if n.count > 0 {
			fmt.Fprintf(a.std.Err, "warning: %d %s\n", n.count, n.what)
		}
	}
	for _, r := range s.Pulled.Refused {
		fmt.Fprintln(a.std.Err, "warning: refused:", printable(r))
	}
}

// idOf makes an id of the name of a file: what no id may have becomes a dash.
func idOf(name string) string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return artifact.CheckID("x"+string(r)) != nil })
	id := strings.TrimLeft(strings.Join(parts, "-"), "._-")
	return id[:min(len(id), artifact.MaxID)]
}

// typeOf guesses the type of a file by its name; "" when nobody knows.
func typeOf(name string) string {
	if t := artifact.TypeOf(name); t != "" {
		return t
	}
	t, _, err := mime.ParseMediaType(mime.TypeByExtension(strings.ToLower(filepath.Ext(name))))
	if err != nil {
		return ""
	}
	return t
}
