package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)(?: "[^"]*")?\)`)
	source  = regexp.MustCompile(`(?:src|srcset|href)="([^"]+)"`)
	heading = regexp.MustCompile(`^#{1,6} +(.+?) *$`)
	unfit   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// checkLinks finds relative links that lead nowhere, and anchors that no
// heading has.
func checkLinks(root string, p page, found *findings) {
	code := false
	for i, line := range strings.Split(p.text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if code {
			continue
		}
		for _, m := range append(link.FindAllStringSubmatch(line, -1), source.FindAllStringSubmatch(line, -1)...) {
			checkLink(root, p, i+1, m[1], found)
		}
	}
}

func checkLink(root string, p page, line int, to string, found *findings) {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return
	}
	file, anchor, _ := strings.Cut(to, "#")
	text := p.text
	if file != "" {
		name := path.Join(path.Dir(p.name), file)
		at := filepath.Join(root, filepath.FromSlash(name))
		info, err := os.Stat(at)
		if err != nil || strings.HasPrefix(name, "..") {
			found.add(p.name, line, "link to %s: there is no such file", to)
			return
		}
		if anchor == "" || info.IsDir() {
			return
		}
		raw, err := os.ReadFile(at)
		if err != nil {
			found.add(p.name, line, "link to %s: %v", to, err)
			return
		}
		text = string(raw)
	}
	if anchor != "" && !anchors(text)[anchor] {
		found.add(p.name, line, "link to %s: no heading of that name", to)
	}
}

// anchors are the names under which the headings of a page can be reached.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	code := false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if m := heading.FindStringSubmatch(line); m != nil && !code {
			name := unfit.ReplaceAllString(strings.ToLower(m[1]), "")
			all[strings.ReplaceAll(name, " ", "-")] = true
		}
	}
	return all
}
