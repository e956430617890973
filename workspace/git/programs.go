package git

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// plain are settings that name no program and lead to no other file. What is not
// among them is taken to do so: aliases, filters, hooks, includes, helpers.
var plain = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`branch\..+\.(?:remote|merge|rebase|description|pushremote)`,
	`remote\..+\.(?:url|pushurl|fetch|push|tagopt|prune|mirror|skipfetchall)`,
	`submodule\..+\.(?:url|active|branch|ignore)`,
	`core\.(?:bare|filemode|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|logallrefupdates|repositoryformatversion|sparsecheckout|sparsecheckoutcone|longpaths|quotepath)`,
	`(?:user|author|committer)\.(?:name|email)`,
	`(?:advice|color|column|gc|pack|pull|fetch|init|extensions|index|feature|rerere|rebase|maintenance|versionsort)\.[a-z0-9.-]+`,
	`push\.(?:default|autosetupremote|followtags)`,
	`merge\.(?:conflictstyle|ff|renames)`,
	`diff\.(?:renames|algorithm|context|mnemonicprefix|colormoved)`,
}, "|") + `)$`)

// SamePrograms reports whether two contents of a configuration file make git run
// the same programs: whatever differs is a setting that names none. Contents that
// git cannot read are never the same.
func SamePrograms(before, after []byte) bool {
	was, ok := settings(before)
	if !ok {
		return false
	}
	is, ok := settings(after)
	if !ok {
		return false
	}
	return covers(was, is) && covers(is, was)
}

// covers reports whether every setting of b that is not plain stands in a, as often.
func covers(a, b []setting) bool {
	count := map[setting]int{}
	for _, s := range a {
		count[s]++
	}
	for _, s := range b {
		if count[s]--; count[s] < 0 && !s.plain() {
			return false
		}
	}
	return true
}

type setting struct{ name, value string }

// plain reports whether a setting names no program. An address may: "ext::…".
func (s setting) plain() bool {
	return plain.MatchString(s.name) && !strings.Contains(s.value, "::") && !strings.HasPrefix(s.value, "-")
}

// settings has git read a configuration, outside of any repository and without
// following includes.
func settings(content []byte) ([]setting, bool) {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, "git", "config", "--file", "-", "--no-includes", "--null", "--list")
	cmd.Dir, cmd.Env, cmd.Stdin = os.TempDir(), append(environment(), "GIT_CEILING_DIRECTORIES="+os.TempDir()), bytes.NewReader(content)
	out, err := cmd.Output()
	if err != nil {
		return nil, false
	}
	var list []setting
	for record := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		name, value, _ := strings.Cut(record, "\n")
		if name != "" {
			list = append(list, setting{name, value})
		}
	}
	return list, true
}
