package openspec

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
)

// archive moves a change into the archive and its requirements into the specs.
func archive(ctx context.Context, v *visit) (workflow.Settled, error) {
	desk, err := v.desk()
	if err != nil {
		return workflow.Settled{}, err
	}
	m, err := v.decided(desk)
	if err != nil {
		return workflow.Settled{}, err
	}
	if m == nil {
		var s *workflow.Settled
		if m, s, err = v.decide(ctx, desk); err != nil {
			return workflow.Settled{}, err
		} else if s != nil {
			return *s, nil
		}
	}
	left, err := v.publish(m, desk)
	if err != nil {
		return workflow.Settled{}, err
	}
	return v.settle(ctx, m, left), nil
}

func (v *visit) desk() (string, error) {
	d, ok := v.c.(piece.Desk)
	if !ok {
		return "", v.errorf(workflow.CodeInternal, "an archive needs a directory of its own, and this engine gives none")
	}
	return d.Dir()
}

// decide checks the gates, prepares the archive and writes its manifest, or
// returns the result of a visit that archives nothing. Up to the manifest it
// changes nothing outside of the desk, and begins anew when it is repeated.
func (v *visit) decide(ctx context.Context, desk string) (*manifest, *workflow.Settled, error) {
	active, err := v.active()
	if err != nil {
		return nil, nil, err
	}
	if !active {
		s, err := v.skip("next")
		return nil, &s, err
	}
	now, err := v.candidate(ctx)
	if err != nil {
		return nil, nil, err
	}
	if s, err := v.gate(ctx, now); s != nil || err != nil {
		return nil, s, err
	}
	before, err := v.copy(desk)
	if err != nil {
		return nil, nil, err
	}
	m, s, err := v.prepare(ctx, desk, before)
	if s != nil || err != nil {
		return nil, s, err
	}
	if err := v.unmoved(ctx, before, now); err != nil {
		return nil, nil, err
	}
	m.Candidate = now
	if err := m.save(desk, v.Probe); err != nil {
		return nil, nil, fmt.Errorf("%s: keeping what was prepared in %s: %w", v.f.Node, desk, err)
	}
	return m, nil, nil
}

func (v *visit) candidate(ctx context.Context) (string, error) {
	h, ok := v.c.(piece.Candidater)
	if !ok {
		return "", v.errorf(workflow.CodeInternal, "an archive needs the digest of the work tree, and this engine gives none")
	}
	now, err := h.Candidate(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: hashing the work tree: %w", v.f.Node, err)
	}
	return now, nil
}

// gate returns the result of a visit whose conditions do not hold for the work
// tree as it is.
func (v *visit) gate(ctx context.Context, now string) (*workflow.Settled, error) {
	if v.p.RequiresVerified {
		p, ok := v.c.(piece.Prover)
		if !ok {
			return nil, v.errorf(workflow.CodeInternal, "the archive requires verified work, and this engine keeps no receipts")
		}
		switch proof, err := p.Proof(ctx); {
		case err != nil:
			return nil, fmt.Errorf("%s: looking for a receipt: %w", v.f.Node, err)
		case proof == nil:
			return v.refuse(now, workflow.CodeUnverified, "no full verification has passed in this run"), nil
		case proof.Candidate != now:
			return v.refuse(now, workflow.CodeUnverified, "the files are not those that receipt "+proof.Receipt+" verified"), nil
		}
	}
	switch reviewed, approved := v.p.ReviewedCandidate, v.p.ApprovedCandidate; {
	case reviewed != nil && *reviewed != now:
		return v.refuse(now, workflow.CodeCandidateChanged, "the files are not those that were reviewed"), nil
	case approved != nil && *approved != now:
		return v.refuse(now, workflow.CodeCandidateChanged, "the files are not those that were approved"), nil
	}
	return nil, nil
}

func (v *visit) refuse(now string, reason workflow.Code, why string) *workflow.Settled {
	message := fmt.Sprintf("OpenSpec change %s is not archived: %s", v.change, why)
	s := result.Failed("failed", reason, v.f.Node+": "+message)
	s.History = message
	s.Output = result.Value(map[string]any{
		"change": v.change, "repositoryId": v.repo.ID, "archived": nil, "reasons": []workflow.Code{reason}, "candidateHash": now,
	})
	return &s
}

// copy makes a fresh copy of the OpenSpec folder on the desk.
func (v *visit) copy(desk string) (tree, error) {
	if err := v.Probe("copying"); err != nil {
		return nil, err
	}
	target := filepath.Join(desk, preparedName)
	if err := wipe(target); err != nil {
		return nil, fmt.Errorf("%s: clearing the desk of an earlier attempt: %w", v.f.Node, err)
	}
	if err := os.MkdirAll(filepath.Join(target, folder), 0o700); err != nil {
		return nil, fmt.Errorf("%s: making a place for the archive: %w", v.f.Node, err)
	}
	from, err := os.OpenRoot(v.path(folder))
	if err != nil {
		return nil, fmt.Errorf("%s: opening %s: %w", v.f.Node, v.path(folder), err)
	}
	defer from.Close()
	to, err := os.OpenRoot(filepath.Join(target, folder))
	if err != nil {
		return nil, fmt.Errorf("%s: opening the desk: %w", v.f.Node, err)
	}
	defer to.Close()
	return v.read(from, to)
}

// wipe removes a directory, with what it may not write.
func wipe(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.RemoveAll(dir)
}

// prepare archives the change in the copy and returns what that comes to, or the
// result when the command line refuses.
func (v *visit) prepare(ctx context.Context, desk string, before tree) (*manifest, *workflow.Settled, error) {
	if err := v.Probe("archiving the copy"); err != nil {
		return nil, nil, err
	}
	root := filepath.Join(desk, preparedName)
	args := []string{"archive", v.change, "--json"}
	code, r, err := v.call(ctx, root, args...)
	if err == nil && code != 0 && len(r.Status) == 1 && r.Status[0].Code == "archive_confirmation_required" {
		// --yes would let open tasks pass too, so it is only given once they did.
		args = append(args, "--yes")
		code, r, err = v.call(ctx, root, args...)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case code != 0:
		return nil, v.refused(code, r.Status), nil
	case r.Archive == nil || r.Archive.Change != v.change || r.Archive.ArchivedAs != filepath.Base(r.Archive.ArchivedAs):
		return nil, nil, v.errorf(workflow.CodeOpenSpecOutput, "openspec archive %s ended well and named no archive of it: %s", v.change, v.told(r.Status))
	}
	prepared, err := os.OpenRoot(filepath.Join(root, folder))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: opening what was prepared: %w", v.f.Node, err)
	}
	defer prepared.Close()
	after, err := v.read(prepared, nil)
	if err != nil {
		return nil, nil, err
	}
	m := &manifest{Format: manifestFormat, Change: v.change, Repository: v.repo.ID, Archive: *r.Archive}
	m.plan(before, after)
	stray, moved := m.stray(), after[m.place()].State == stateDir && before[m.place()].State == stateAbsent
	if _, stays := after["changes/"+v.change]; stays || !moved || stray != "" {
		return nil, nil, v.errorf(workflow.CodeOpenSpecOutput, "openspec archive %s said it made %s, and did something else (%s); nothing was published",
			v.change, m.place(), stray).WithHint("look at %s; this was tested with version %s", root, Version)
	}
	return m, nil, nil
}

// maxStatus bounds the messages of a refusal in an output.
const maxStatus = 10

// refused is the result when the command line does not archive.
func (v *visit) refused(code int, all []status) *workflow.Settled {
	said := v.told(all)
	s := result.Failed("failed", workflow.CodeOpenSpecFailed,
		fmt.Sprintf("%s: openspec archive %s ended with exit code %d: %s", v.f.Node, v.change, code, said))
	s.History = result.Text(fmt.Sprintf("OpenSpec change %s is not archived: %s", v.change, said))
	kept := make([]status, 0, len(all))
	for _, st := range all[:min(len(all), maxStatus)] {
		kept = append(kept, status{Severity: v.clean(st.Severity), Code: v.clean(st.Code), Message: v.clean(st.Message), Fix: v.clean(st.Fix)})
	}
	s.Output = result.Value(map[string]any{
		"change": v.change, "repositoryId": v.repo.ID, "archived": nil, "reasons": []workflow.Code{workflow.CodeOpenSpecFailed},
		"exitCode": code, "status": kept,
	})
	return &s
}

// unmoved checks, last thing before the decision, that nobody changed the files
// since they were read.
func (v *visit) unmoved(ctx context.Context, before tree, candidate string) error {
	const next = "let the change be reviewed and verified again, then archive it"
	root, err := os.OpenRoot(v.path(folder))
	if err != nil {
		return fmt.Errorf("%s: opening %s: %w", v.f.Node, v.path(folder), err)
	}
	defer root.Close()
	is, err := v.read(root, nil)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(union(is, before))) {
		if is[name].State != before[name].State {
			return v.errorf(workflow.CodeCandidateChanged, "%s was changed while the archive was prepared; nothing was published", v.path(folder+"/"+name)).WithHint(next)
		}
	}
	now, err := v.candidate(ctx)
	if err != nil {
		return err
	}
	if now != candidate {
		return v.errorf(workflow.CodeCandidateChanged, "the files changed while the archive was prepared (candidate %s is now %s); nothing was published", candidate, now).WithHint(next)
	}
	return nil
}

func union(a, b tree) tree {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// settle is the result of a published archive.
func (v *visit) settle(ctx context.Context, m *manifest, left []string) workflow.Settled {
	s := workflow.Settled{Outcome: "next", Warnings: v.untested(ctx)}
	for _, w := range m.Archive.Warnings {
		s.Warnings = append(s.Warnings, v.f.Node+": "+v.clean(w))
	}
	for _, dir := range left {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%s: %s stays: there are files in it that came while the change was archived", v.f.Node, v.path(folder+"/"+dir)))
	}
	output := map[string]any{
		"change": v.change, "repositoryId": v.repo.ID, "archived": m.Archive.ArchivedAs, "path": folder + "/" + m.place(),
		"specsUpdated": m.Archive.SpecsUpdated, "candidateHash": m.Candidate, "exitCode": 0,
	}
	var totals []string
	if m.Archive.Totals != nil {
		output["totals"] = m.Archive.Totals
		for _, k := range slices.Sorted(maps.Keys(m.Archive.Totals)) {
			totals = append(totals, fmt.Sprintf("%d %s", m.Archive.Totals[k], k))
		}
	}
	s.Output = result.Value(output)
	s.History = fmt.Sprintf("OpenSpec change %s is archived as %s.", v.change, m.Archive.ArchivedAs)
	if len(totals) > 0 {
		s.History += " Requirements: " + strings.Join(totals, ", ") + "."
	}
	return s
}
