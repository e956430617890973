package view

import (
	"bytes"
	"crypto/subtle"
	_ "embed" // the page is a template in a file of its own
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strconv"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed app.html
var appText string

// keyHeader carries the key of the page; no other site can send it.
const keyHeader = "X-Tenon-Key"

// appData is what the page knows from the start.
type appData struct {
	Nonce, Title, Warning string
	Setup                 setup
}

// setup is what the script of the page needs.
type setup struct {
	Key     string `json:"key"`
	Stage   string `json:"stage"`
	Version int64  `json:"version"`
}

// told is what the page hears about the artifact.
type told struct {
	Artifact artifact.Artifact `json:"artifact"`
	Canvas   bool              `json:"canvas"`
	Image    bool              `json:"image"`
	Runs     bool              `json:"runs"`
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// appHandler serves our page and what it asks for.
func (v *Viewer) appHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /open/{entry}", v.openPage)
	mux.HandleFunc("GET /api/artifact", v.withKey(v.tell))
	mux.HandleFunc("GET /api/live", v.withKey(v.live))
	mux.HandleFunc("PUT /api/content", v.withKey(v.save))
	return refuseRest(mux)
}

// openPage answers the address that works once.
func (v *Viewer) openPage(w http.ResponseWriter, r *http.Request) {
	nonce := secret()
	h := w.Header()
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; connect-src 'self'; frame-src http://%s; img-src http://%s; form-action 'none'; base-uri 'none'; frame-ancestors 'none'", nonce, nonce, v.stage, v.stage))
	if !equal(r.PathValue("entry"), v.entry) {
		http.Error(w, "there is nothing here", http.StatusNotFound)
		return
	}
	if !v.first() {
		http.Error(w, "this address was used already: open the artifact again", http.StatusGone)
		return
	}
	a, err := v.cfg.Store.Get(r.Context(), v.cfg.ID)
	if err != nil {
		http.Error(w, err.Error(), status(err))
		return
	}
	page, err := template.New("app").Parse(appText)
	var out bytes.Buffer
	if err == nil {
		err = page.Execute(&out, appData{
			Nonce: nonce, Title: a.Title, Warning: Warning,
			Setup: setup{Key: v.key, Stage: "http://" + v.stage + "/v/" + v.cap + "/", Version: v.cfg.Version},
		})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	w.Write(out.Bytes()) //nolint:errcheck // whoever asked is gone
}

// withKey lets only our page through.
func (v *Viewer) withKey(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", stillPolicy)
		origin := r.Header.Get("Origin")
		if !equal(r.Header.Get(keyHeader), v.key) || origin != "" && origin != "http://"+v.app {
			http.Error(w, "only the page of the viewer may ask this", http.StatusForbidden)
			return
		}
		f(w, r)
	}
}

// tell describes the artifact as it is now.
func (v *Viewer) tell(w http.ResponseWriter, r *http.Request) {
	a, err := v.cfg.Store.Get(r.Context(), v.cfg.ID)
	if err != nil {
		http.Error(w, err.Error(), status(err))
		return
	}
	answer(w, told{a, artifact.IsCanvas(a.Mime), shows[a.Kind].image, a.Kind.NeedsSandbox()})
}

func answer(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(what) //nolint:errcheck // whoever asked is gone
}

// live stays open as long as the page does.
func (v *Viewer) live(w http.ResponseWriter, r *http.Request) {
	defer v.enter()()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err != nil {
		return
	}
	select {
	case <-r.Context().Done():
	case <-v.life.Done():
	case <-v.done:
	}
}

// save keeps what the person made of a canvas. If-Match names the version that they
// saw.
func (v *Viewer) save(w http.ResponseWriter, r *http.Request) {
	base, err := strconv.ParseInt(r.Header.Get("If-Match"), 10, 64)
	if err != nil || base < 1 {
		http.Error(w, "a save says in If-Match which version it is made of", http.StatusPreconditionRequired)
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 256<<20))
	if err == nil {
		v.saving.RLock()
		defer v.saving.RUnlock()
		err = v.keep(w, r, base, string(raw))
	}
	if err != nil {
		http.Error(w, err.Error(), status(err))
	}
}

func (v *Viewer) keep(w http.ResponseWriter, r *http.Request, base int64, content string) error {
	a, err := v.cfg.Store.Get(r.Context(), v.cfg.ID)
	if err != nil {
		return err
	}
	if !artifact.IsCanvas(a.Mime) {
		return workflow.Errorf(workflow.CodeInvalidArtifact, "artifact %s is no canvas: it is not edited here", a.ID)
	}
	d, err := v.cfg.Store.Edit(r.Context(), artifact.Edit{Artifact: v.cfg.ID, Content: content, Base: base})
	if err != nil {
		return err
	}
	if v.cfg.Saved != nil {
		v.cfg.Saved(d)
	}
	answer(w, d)
	return nil
}
