package line

import (
	"strings"

	"github.com/tenonrun/tenon/tool"
)

// tar reads the words of tar: its first word may be a bundle without a dash.
func (c *command) tar() {
	words := c.args
	if len(words) > 1 && words[1].shown() && !strings.HasPrefix(words[1].text, "-") {
		c.args = unbundled(words)
		defer func() { c.args = words }()
	}
	create := c.has("-c -r -u --create --append --update")
	extract := c.has("-x --extract --get")
	archive := tool.OpRead
	if create {
		archive = tool.OpWrite
	}
	at := *c // members are found from the directory of the last -C
	at.deep = true
	args := c.args[1:]
	o := options("-f:v --file:v -C:v --directory:v -X:r --exclude-from:r -T:! --files-from:! -I:! --use-compress-program:! --to-command:! --checkpoint-action:! --info-script:! -F:! --new-volume-script:! --rsh-command:! --rmt-command:! --exclude:v --transform:! --xform:! --strip-components:v -b:v -H:v --format:v --owner:v --group:v --mode:v --mtime:v -g:w --listed-incremental:w --index-file:w --one-top-level:w -P:! --absolute-names:!")
	for len(args) > 0 {
		a := args[0]
		if !a.flag() {
			if create {
				at.operand(a, tool.OpSearch, "member of tar")
			}
			args = args[1:]
			continue
		}
		used := c.option(o, args)
		name, value := valueOf(args[:used])
		switch {
		case strings.HasSuffix(name, "f") && !strings.HasPrefix(name, "--") || name == "--file":
			if value.text != "-" {
				c.operand(value, archive, "archive of tar")
			}
		case strings.HasSuffix(name, "C") && !strings.HasPrefix(name, "--") || name == "--directory":
			at.operand(value, tool.OpEnter, "directory of tar")
			if !value.shown() {
				at.in = unknown()
				break
			}
			at.in = at.in.enter(value.text)
		}
		args = args[used:]
	}
	if extract && !c.has("-O --to-stdout") {
		at.path(".", tool.OpWrite, "directory that tar extracts into")
	}
	c.operands, c.opaque = append(c.operands, at.operands...), append(c.opaque, at.opaque...)
}

// unbundled spells "tar czf a b" as "tar -c -z -f a b".
func unbundled(args []arg) []arg {
	letters, rest := args[1].text, args[2:]
	words := []arg{args[0]}
	for _, l := range letters {
		words = append(words, arg{text: "-" + string(l), source: args[1].source})
		if strings.ContainsRune("fCXTIbFHg", l) && len(rest) > 0 {
			words, rest = append(words, rest[0]), rest[1:]
		}
	}
	return append(words, rest...)
}

// valueOf splits an option with its value, as option consumed it. The name is cut
// after the letter that has the value.
func valueOf(words []arg) (name string, value arg) {
	first := words[0].text
	if len(words) > 1 {
		return first, words[1]
	}
	if strings.HasPrefix(first, "--") {
		name, v, _ := strings.Cut(first, "=")
		return name, arg{text: v, source: words[0].source}
	}
	if i := strings.IndexAny(first, "fC"); i > 0 && i+1 < len(first) {
		return first[:i+1], arg{text: first[i+1:], source: words[0].source}
	}
	return first, arg{}
}

func (c *command) curl() {
	c.remote(c.positional(options("-o:w --output:w -D:w --dump-header:w -c:w --cookie-jar:w --trace:w --trace-ascii:w --stderr:w --output-dir:w --etag-save:w --hsts:w --alt-svc:w --libcurl:w -T:r --upload-file:r -K:! --config:! -b:v --cookie:v -E:r --cert:r --key:r --cacert:r --capath:s --netrc-file:r --etag-compare:r -d:v --data:v --data-raw:v --data-binary:v --data-ascii:v --data-urlencode:v --json:v -F:v --form:v -H:v --header:v -X:v --request:v -A:v --user-agent:v -u:v --user:v -e:v --referer:v -m:v --max-time:v --connect-timeout:v --retry:v --retry-delay:v -w:v --write-out:v -x:v --proxy:v -r:v --range:v -C:v --continue-at:v --url:v --resolve:v --limit-rate:v -Y:v -y:v -z:v -Q:v -P:v --unix-socket:w --abstract-unix-socket:!")))
	c.uploads()
	if c.has("-O -J --remote-name --remote-header-name --remote-name-all") {
		c.path(".", tool.OpWrite, "directory that curl stores into")
	}
}

// uploads notes the files behind "@" in data and forms.
func (c *command) uploads() {
	previous := ""
	for _, a := range c.args[1:] {
		t := a.text
		if _, value, has := strings.Cut(t, "="); has && strings.HasPrefix(t, "--") {
			previous, t = "--data", value
		}
		switch previous {
		case "-b", "--cookie":
			if !strings.Contains(t, "=") {
				c.operand(arg{text: t, source: a.source}, tool.OpRead, "cookies of curl")
			}
		case "-d", "--data", "--data-binary", "--data-ascii", "--data-urlencode", "--json", "-F", "--form", "-H", "--header", "-w", "--write-out":
			c.uploaded(t, a)
		}
		for _, short := range []string{"-d@", "-F", "-d", "-H@", "-w@"} {
			if rest, ok := strings.CutPrefix(t, strings.TrimSuffix(short, "@")); ok && rest != "" {
				c.uploaded(rest, a)
			}
		}
		if previous = ""; a.flag() {
			previous = a.text
		}
	}
}

func (c *command) uploaded(t string, a arg) {
	if !a.shown() {
		c.hide("the data of curl is not literal: " + a.source)
		return
	}
	if i := strings.IndexAny(t, "@<"); i >= 0 && (i == 0 || t[i-1] == '=') {
		file, _, _ := strings.Cut(t[i+1:], ";")
		if file != "-" {
			c.operand(arg{text: file, source: a.source}, tool.OpRead, "file that curl sends")
		}
	}
}

// remote notes URLs of local files.
func (c *command) remote(urls []arg) {
	for _, u := range urls {
		switch t := strings.ToLower(u.text); {
		case !u.shown() && (strings.HasPrefix(t, tool.NotShown) || strings.HasPrefix(t, "f")):
			c.hide("the URL of " + c.name() + " is not literal: " + u.source)
		case strings.HasPrefix(t, "file:"):
			c.operand(arg{text: "/" + strings.TrimLeft(u.text[len("file:"):], "/"), source: u.source}, tool.OpRead, "URL of "+c.name())
		}
	}
}

func (c *command) wget() {
	c.remote(c.positional(options("-O:w --output-document:w -P:w --directory-prefix:w -o:w --output-file:w -a:w --append-output:w -i:! --input-file:! --post-file:r --body-file:r --post-data:v --header:v -U:v --user-agent:v -t:v --tries:v -T:v --timeout:v --load-cookies:r --save-cookies:w -e:! --execute:! --config:! --use-askpass:! -l:v -A:v -R:v -D:v --method:v --user:v --password:v -w:v --warc-file:w --ca-certificate:r --certificate:r --private-key:r --rejected-log:w")))
	if !c.has("-O -P --output-document --directory-prefix") {
		c.path(".", tool.OpWrite, "directory that wget stores into")
	}
}

func (c *command) unzip() {
	found := c.positional(options("-d:w -P:v -O:v -I:v"))
	if len(found) > 0 {
		c.operand(found[0], tool.OpRead, "archive of unzip")
	}
	if !c.has("-d -l -t -p -v -Z") {
		c.path(".", tool.OpWrite, "directory that unzip extracts into")
	}
}
