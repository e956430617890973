package artifact

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// ArtboardAttr is the attribute that makes a top-level section of a canvas an
// artboard; its value is the name.
const ArtboardAttr = "data-artboard"

// Artboards returns the names of the artboards of a canvas, in their order: the
// sections that are children of the body and have ArtboardAttr. The HTML is read as
// a browser reads it.
func Artboards(content string) ([]string, error) {
	doc, err := html.Parse(strings.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("reading a canvas: %w", err)
	}
	var names []string
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data != "body" {
			continue
		}
		for child := range n.ChildNodes() {
			if child.Type != html.ElementNode || child.Data != "section" {
				continue
			}
			if i := slices.IndexFunc(child.Attr, func(a html.Attribute) bool { return a.Key == ArtboardAttr }); i >= 0 {
				names = append(names, child.Attr[i].Val)
			}
		}
		break
	}
	return names, nil
}
