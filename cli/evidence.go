package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/cli/plain"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/git"
)

func (a *app) receiptsCmd() *cobra.Command {
	var last bool
	c := &cobra.Command{
		Use:   "receipts [RUN]",
		Short: "Show the receipts of a run: which commands ran, over which files, with what result",
		Args:  cobra.MaximumNArgs(1),
	}
	lastFlag(c, &last)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			id, err := a.find(cmd.Context(), t, args, last)
			if err != nil {
				return err
			}
			all, err := t.Receipts(cmd.Context(), id)
			if err != nil {
				return err
			}
			switch {
			case a.json:
				a.document(all)
			case a.jsonl:
				for _, r := range all {
					a.line(r)
				}
			case len(all) == 0:
				fmt.Fprintf(a.std.Err, "run %s has kept no receipts\n", id)
			default:
				for _, r := range all {
					receipt(a.std.Out, r)
				}
			}
			return nil
		})
	}
	return c
}

func (a *app) verifyCmd() *cobra.Command {
	var lines []string
	c := &cobra.Command{
		Use:   "verify",
		Short: "Run the configured verification plan now and print its receipt",
		Long: `Ends with 0 when every check passed over files that stayed the same, with 1 when
not, and with 7 when a repository has no check. The receipt belongs to no run: a
run proves its work with receipts of its own.`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringArrayVar(&lines, "verify", nil, "command in place of the configured plan; repeatable")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			r, err := t.Verify(cmd.Context(), func(line string) { fmt.Fprintln(a.std.Err, line) })
			if err != nil {
				return err
			}
			if a.json || a.jsonl {
				a.document(r)
			} else {
				receipt(a.std.Out, r)
			}
			switch {
			case r.State != workflow.ReceiptValid:
				return statusError{workflow.StatusFailed}
			case !r.Certifies():
				return statusError{workflow.StatusUnproven}
			}
			return nil
		}, inMemory, func(c *tenon.Config) { c.Checks = checks(lines) })
	}
	return c
}

func (a *app) candidateCmd() *cobra.Command {
	var change string
	var files bool
	c := &cobra.Command{
		Use:   "candidate",
		Short: "Print the digest of the work trees as they are now",
		Args:  cobra.NoArgs,
	}
	c.Flags().StringVar(&change, "change", "", "leave out the folders of this OpenSpec change, as in a run of it")
	c.Flags().BoolVar(&files, "files", false, "also each file with its fingerprint")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			content, err := t.Candidate(cmd.Context(), change)
			if err != nil {
				return err
			}
			a.content(content, files)
			return nil
		}, inMemory)
	}
	return c
}

// content prints what a candidate is made of.
func (a *app) content(content git.Content, files bool) {
	type file struct {
		Path        string `json:"path"`
		Fingerprint string `json:"fingerprint"`
	}
	type repository struct {
		ID        string `json:"id"`
		Candidate string `json:"candidate"`
		Files     int    `json:"files"`
		List      []file `json:"list,omitempty"`
	}
	doc := struct {
		Candidate    string       `json:"candidate"`
		Repositories []repository `json:"repositories"`
	}{Candidate: content.Digest}
	for _, r := range content.Repositories {
		entry := repository{ID: r.ID, Candidate: r.Digest, Files: len(r.Files)}
		for _, f := range r.Files {
			if files {
				entry.List = append(entry.List, file{strings.ToValidUTF8(f.Path, "\uFFFD"), f.Fingerprint})
			}
		}
		doc.Repositories = append(doc.Repositories, entry)
	}
	if a.json || a.jsonl {
		a.document(doc)
		return
	}
	fmt.Fprintln(a.std.Out, doc.Candidate)
	for _, r := range doc.Repositories {
		if len(doc.Repositories) > 1 || files {
			fmt.Fprintf(a.std.Out, "  %s  %s  %d files\n", r.ID, r.Candidate, r.Files)
		}
		for _, f := range r.List {
			fmt.Fprintf(a.std.Out, "    %s  %q\n", f.Fingerprint, f.Path)
		}
	}
}

// receipt prints a receipt for people.
func receipt(w io.Writer, r verification.Receipt) {
	fmt.Fprintf(w, "receipt %s  %s, %s", r.ID, r.State, r.Scope)
	if r.Node != "" {
		fmt.Fprintf(w, "  of %s, attempt %d", first(r.Visit, r.Node), r.Attempt)
	}
	fmt.Fprintln(w)
	if r.Reason != "" {
		fmt.Fprintln(w, "  because", plain.Indent(r.Reason))
	}
	fmt.Fprintln(w, "  candidate", r.Candidate)
	if r.After != "" && r.After != r.Candidate {
		fmt.Fprintln(w, "  after    ", r.After)
	}
	if len(r.Unverified) > 0 {
		fmt.Fprintln(w, "  no check for", strings.Join(r.Unverified, ", "))
	}
	for _, part := range [][]verification.Evidence{r.Setup, r.Commands} {
		for _, e := range part {
			check(w, e)
		}
	}
}

// check prints the evidence of one check, with the end of a failure's output.
func check(w io.Writer, e verification.Evidence) {
	fmt.Fprintf(w, "  %-7s %s", e.State, first(e.Check.Label, e.Check.Name()))
	switch {
	case e.Reused:
		fmt.Fprint(w, "  (result of an earlier run over the same inputs)")
	case e.State != verification.StateNotRun:
		fmt.Fprintf(w, "  (exit %d, %d ms, %d bytes of output)", e.ExitCode, e.DurationMs, e.StdoutBytes+e.StderrBytes)
	}
	fmt.Fprintln(w)
	if e.Reason != "" && e.Reason != fmt.Sprintf("exit code %d", e.ExitCode) {
		fmt.Fprintln(w, "          "+plain.Indent(e.Reason))
	}
	if !e.Failed() || strings.TrimSpace(e.Output) == "" {
		return
	}
	lines := strings.Split(strings.TrimRight(e.Output, "\n"), "\n")
	for _, l := range lines[max(0, len(lines)-shownLines):] {
		fmt.Fprintln(w, "          | "+l)
	}
}

// shownLines is how much of a failing output is shown; --json has what is kept.
const shownLines = 20
