package export

import (
	"bytes"
	_ "embed" // the page is a template in a file of its own
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/tenonrun/tenon/artifact"
)

//go:embed page.html
var pageText string

// pageData is what the page shows.
type pageData struct {
	Title   string
	Policy  string
	Meta    string // artifact, version, date
	Body    template.HTML
	Text    string
	Sandbox string       // a whole document that runs in a frame
	Picture template.URL // a data: URL that the page shows as an image
}

// The policies of a published page. The frame of a page inherits the policy of the
// document around it.
const (
	quietPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
	framePolicy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; connect-src 'none'; frame-src 'none'; form-action 'none'; base-uri 'none'"
)

// Page returns a document that shows an artifact and needs nothing else. What the
// artifact runs, it runs in a frame without an origin; a drawing is an image, in
// which nothing runs; the HTML in a Markdown text is left out.
func Page(r *artifact.Revision, content, date string) ([]byte, error) {
	page, err := template.New("page").Parse(pageText)
	if err != nil {
		return nil, err
	}
	data := pageData{Title: r.Title, Policy: quietPolicy, Meta: strings.TrimSpace(fmt.Sprintf("%s · version %d · %s", r.Artifact, r.Version, date))}
	if data.Title == "" {
		data.Title = r.Artifact
	}
	switch kind := artifact.KindOf(r.Mime); {
	case kind == artifact.Page:
		data.Policy, data.Sandbox = framePolicy, content
	case kind == artifact.Vector:
		data.Picture = dataURL("image/svg+xml", []byte(content))
	case kind == artifact.Image:
		if raw, ok := Picture(content); ok {
			data.Picture = dataURL(http.DetectContentType(raw), raw)
		} else {
			data.Text = content
		}
	case kind == artifact.Markdown:
		data.Body, err = markdown(content)
	default:
		data.Text = content
	}
	var out bytes.Buffer
	if err == nil {
		err = page.Execute(&out, data)
	}
	if err != nil {
		return nil, fmt.Errorf("making a page of artifact %s: %w", r.Artifact, err)
	}
	return out.Bytes(), nil
}

func dataURL(mime string, raw []byte) template.URL {
	return template.URL("data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(raw)) //nolint:gosec // the type is one of ours
}

// markdown renders a text. HTML in it and links that run something are left out.
func markdown(content string) (template.HTML, error) {
	var out bytes.Buffer
	err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert([]byte(content), &out)
	return template.HTML(out.String()), err //nolint:gosec // the renderer escapes
}
