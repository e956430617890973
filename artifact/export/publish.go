package export

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"time"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/workflow"
)

// PublishOptions say what Publish does.
type PublishOptions struct {
	Dir     string // an absolute directory; it is made when it is not there
	Version int64  // artifact.Latest is the current one
	// Single makes one HTML file instead of a folder with a page, the content as a
	// file of its type, and a record.
	Single bool
	// BaseURL is where the directory is served, such as "https://x.example/pub";
	// "" makes file: URLs.
	BaseURL string
	// Visibility and TeamID are kept in the record.
	Visibility artifact.Visibility
	TeamID     string
	// Live is the version that the caller saw published; another one that is out
	// meanwhile is told with workflow.CodeArtifactConflict. 0 does not ask.
	Live int64
	Now  time.Time
}

// Published is what became of an artifact.
type Published struct {
	Descriptor artifact.Descriptor `json:"descriptor"`
	Path       string              `json:"path"` // of the folder or the file
	URL        string              `json:"url"`
	Files      []string            `json:"files"` // in Dir, with slashes
}

// RecordFile is the record in a published folder.
const RecordFile = "publication.json"

// Publish makes a folder, or one file, that shows a version of an artifact and can
// be put on any host, and notes it in the collection. Its name has the id, the day
// in UTC and the version, so that a link goes on showing what it showed. Publishing
// the same version again on the same day makes the same files. Errors have
// workflow.CodeNotFound, CodeArtifactConflict, or are those of the collection.
func Publish(ctx context.Context, s artifact.Store, id string, o PublishOptions) (Published, error) {
	told := func(err error) error { return fmt.Errorf("publishing artifact %s: %w", id, err) }
	if !filepath.IsAbs(o.Dir) {
		return Published{}, told(workflow.Errorf(workflow.CodeInvalidArguments, "the directory %q is not absolute", o.Dir))
	}
	a, err := s.Get(ctx, id)
	if err != nil {
		return Published{}, told(err)
	}
	if p := a.Publication; o.Live != 0 && p != nil && p.Version != o.Live {
		return Published{}, told(workflow.Errorf(workflow.CodeArtifactConflict, "version %d is published meanwhile, not version %d", p.Version, o.Live).
			WithHint("look at version %d, and publish over it on purpose", p.Version))
	}
	r, content, err := s.Read(ctx, id, o.Version)
	if err != nil {
		return Published{}, told(err)
	}
	date := o.Now.UTC().Format(time.DateOnly)
	files, at, err := render(&r, content, date, o.Single)
	if err != nil {
		return Published{}, told(err)
	}
	out := Published{Path: filepath.Join(o.Dir, filepath.FromSlash(at))}
	if out.URL, err = link(o, at); err != nil {
		return Published{}, told(err)
	}
	p, err := openPlace(o.Dir, true)
	if err != nil {
		return Published{}, told(err)
	}
	defer p.root.Close() //nolint:errcheck // a root is a place, nothing is written through its end
	for _, f := range files {
		if err := p.put(f.name, f.raw); err != nil {
			return Published{}, told(err)
		}
		out.Files = append(out.Files, f.name)
	}
	out.Descriptor, err = s.Publish(ctx, id, &artifact.Publication{
		URL: out.URL, Visibility: o.Visibility, TeamID: o.TeamID, Version: r.Version, At: o.Now.UnixMilli(),
	})
	if err != nil {
		return out, told(err)
	}
	return out, nil
}

// file is a file that is to be written.
type file struct {
	name string
	raw  []byte
}

// record tells what a published folder shows.
type record struct {
	Artifact string `json:"artifact"`
	Title    string `json:"title"`
	Mime     string `json:"mime"`
	Version  int64  `json:"version"`
	Digest   string `json:"sha256"`
	Date     string `json:"date"`
	File     string `json:"file"`
}

// render returns the files of a publication, and the one, or the folder, that the
// link leads to.
func render(r *artifact.Revision, content, date string, single bool) (files []file, at string, err error) {
	page, err := Page(r, content, date)
	if err != nil {
		return nil, "", err
	}
	at = fmt.Sprintf("%s-%s-v%d", safe(r.Artifact), date, r.Version)
	if single {
		return []file{{at + ".html", page}}, at + ".html", nil
	}
	raw, ext := Body(r.Mime, content)
	name := "content" + ext
	if ext == ".html" || ext == ".svg" {
		name += ".txt" // a host would run it, outside of the frame
	}
	rec, err := json.MarshalIndent(record{
		Artifact: r.Artifact, Title: r.Title, Mime: r.Mime, Version: r.Version, Digest: r.Digest, Date: date, File: name,
	}, "", "  ")
	return []file{
		{path.Join(at, name), raw},
		{path.Join(at, RecordFile), append(rec, '\n')},
		{path.Join(at, "index.html"), page},
	}, at, err
}

// link returns the URL of what was published.
func link(o PublishOptions, at string) (string, error) {
	if o.BaseURL == "" {
		whole := filepath.ToSlash(filepath.Join(o.Dir, filepath.FromSlash(at)))
		if !o.Single {
			whole = path.Join(whole, "index.html")
		}
		if whole[0] != '/' {
			whole = "/" + whole // C:/…
		}
		return (&url.URL{Scheme: "file", Path: whole}).String(), nil
	}
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Scheme != "https" && base.Scheme != "http" || base.Host == "" || base.RawQuery != "" || base.ForceQuery || base.Fragment != "" {
		return "", workflow.Errorf(workflow.CodeInvalidArguments, "the base URL %q is none", o.BaseURL).WithHint("give one such as https://example.com/pub")
	}
	u := base.JoinPath(at)
	if !o.Single {
		u.Path += "/"
	}
	return u.String(), nil
}
