package view

import (
	_ "embed" // the editor is a script in a file of its own
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/export"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed editor.js
var editor string

// The policies of what an artifact holds, by how it is shown.
const (
	runPolicy   = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; connect-src 'none'; form-action 'none'; base-uri 'none'; frame-src 'none'; sandbox allow-scripts"
	stillPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; sandbox"
)

// guard sets the headers that every answer has.
func guard(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), clipboard-read=(), clipboard-write=()")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-store")
}

// show is how a kind is served.
type show struct {
	mime   string // never the one that the artifact claims
	policy string
	// image is set for what our page shows as an image of another origin.
	image bool
}

// shows has a row for every kind.
var shows = map[artifact.Kind]show{
	artifact.Text:     {"text/html; charset=utf-8", stillPolicy, false},
	artifact.Markdown: {"text/html; charset=utf-8", stillPolicy, false},
	artifact.Code:     {"text/html; charset=utf-8", stillPolicy, false},
	artifact.Image:    {"text/html; charset=utf-8", stillPolicy, false},
	artifact.Vector:   {"image/svg+xml", stillPolicy, true},
	artifact.Page:     {"text/html; charset=utf-8", runPolicy, false},
}

// stageHandler serves what the artifact holds, to who knows the capability.
func (v *Viewer) stageHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v/{cap}/{version}", func(w http.ResponseWriter, r *http.Request) {
		guard(w.Header())
		w.Header().Set("Content-Security-Policy", stillPolicy)
		version, err := strconv.ParseInt(r.PathValue("version"), 10, 64)
		if !equal(r.PathValue("cap"), v.cap) || err != nil {
			http.Error(w, "there is nothing here", http.StatusNotFound)
			return
		}
		rev, content, err := v.cfg.Store.Read(r.Context(), v.cfg.ID, version)
		if err != nil {
			http.Error(w, err.Error(), status(err))
			return
		}
		v.stageBody(w, &rev, content)
	})
	return refuseRest(mux)
}

func (v *Viewer) stageBody(w http.ResponseWriter, r *artifact.Revision, content string) {
	kind := artifact.KindOf(r.Mime)
	s := shows[kind]
	h := w.Header()
	h.Set("Content-Type", s.mime)
	h.Set("Content-Security-Policy", s.policy+"; frame-ancestors http://"+v.app)
	if s.image {
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	}
	switch {
	case artifact.IsCanvas(r.Mime):
		content = withEditor(content)
	case kind != artifact.Page && !s.image:
		raw, err := export.Page(r, content, "")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		content = string(raw)
	}
	w.Write([]byte(content)) //nolint:errcheck // whoever asked is gone
}

var doctype = regexp.MustCompile(`(?i)^\s*<!doctype[^>]*>`)

// withEditor puts the editor in front of a canvas, where no markup of it can
// swallow the script.
func withEditor(content string) string {
	at := len(doctype.FindString(content))
	return content[:at] + "<script data-tenon-editor>" + editor + "</script>" + content[at:]
}

func status(err error) int {
	switch workflow.CodeOf(err) {
	case workflow.CodeNotFound:
		return http.StatusNotFound
	case workflow.CodeArtifactConflict:
		return http.StatusConflict
	case workflow.CodeArtifactTooLarge:
		return http.StatusRequestEntityTooLarge
	case workflow.CodeInvalidArtifact, workflow.CodeInvalidArguments:
		return http.StatusBadRequest
	}
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusInternalServerError
}

// refuseRest answers what no route knows, with the headers that all answers have.
func refuseRest(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guard(w.Header())
		if _, pattern := mux.Handler(r); pattern == "" || strings.Contains(r.URL.Path, "//") {
			w.Header().Set("Content-Security-Policy", stillPolicy)
			http.Error(w, "there is nothing here", http.StatusNotFound)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
