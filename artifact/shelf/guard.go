package shelf

import (
	"context"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/workflow"
)

// guarded takes secrets out of what is written, and notes where in the history of
// the run a person writes.
type guarded struct {
	artifact.Collection
	shelf *Shelf
	name  string
}

// Put keeps a draft without its secrets.
func (g guarded) Put(ctx context.Context, d artifact.Draft) (artifact.Receipt, error) {
	d.Title = g.shelf.cfg.Redactor.Redact(d.Title)
	if artifact.KindOf(d.Mime) != artifact.Image { // whose letters mean nothing
		d.Content = g.shelf.cfg.Redactor.Redact(d.Content)
	}
	if d.Author == artifact.Person {
		var err error
		if d.After, err = g.position(ctx); err != nil {
			return artifact.Receipt{}, err
		}
	}
	return g.Collection.Put(ctx, d)
}

// Edit keeps a text without its secrets.
func (g guarded) Edit(ctx context.Context, e artifact.Edit) (artifact.Descriptor, error) {
	now, err := g.Get(ctx, e.Artifact)
	if err != nil {
		return artifact.Descriptor{}, err
	}
	if now.Kind != artifact.Image {
		e.Content = g.shelf.cfg.Redactor.Redact(e.Content)
	}
	if e.After, err = g.position(ctx); err != nil {
		return artifact.Descriptor{}, err
	}
	return g.Collection.Edit(ctx, e)
}

// position is where the history of the run of the collection is now; 0 when it has
// none.
func (g guarded) position(ctx context.Context) (int64, error) {
	h, err := g.shelf.head(ctx, workflow.RunID(g.name))
	if workflow.CodeOf(err) == workflow.CodeRunNotFound {
		return 0, nil
	}
	return h.Last, err
}
