package routing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

// names is what names of models can mean.
type names struct {
	models    map[string]Model
	classes   map[string][]Model
	providers []Provider // by name
}

// provider finds a provider.
func (n *names) provider(name string) (Provider, bool) {
	for _, p := range n.providers {
		if p.Name == name {
			return p, true
		}
	}
	return Provider{}, false
}

// only finds the provider that a bare name goes to.
func (n *names) only() (Provider, bool) {
	var found []Provider
	for _, p := range n.providers {
		if !p.BuiltIn {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		found = n.providers
	}
	if len(found) != 1 {
		return Provider{}, false
	}
	return found[0], true
}

// At returns the model that a provider names model, with what models.yaml says of
// it. Of several entries for it the first by name counts.
func (n *names) At(provider, model string) Model {
	found := Model{Provider: provider, Model: model}
	for key, m := range n.models {
		if m.Provider == provider && m.Model == model && (found.Key == "" || key < found.Key) {
			found = m
		}
	}
	return found
}

// Resolve finds what a name stands for: a key of models, a class, PROVIDER/MODEL,
// or a model of the provider that is given or, with "", of the only configured
// one. The error is a *workflow.Error that names near names.
func (n *names) Resolve(name, provider string) (Choice, error) {
	if name == "" {
		return Choice{}, workflow.Errorf(workflow.CodeModelUnknown, "a model has an empty name").WithHint("leave it out, or write one of: %s", n.listed())
	}
	if m, ok := n.models[name]; ok {
		return fitting(Choice{Kind: Concrete, Name: name, Models: []Model{m}}, provider)
	}
	if models, ok := n.classes[name]; ok {
		return fitting(Choice{Kind: Strategy, Name: name, Models: models}, provider)
	}
	if before, model, ok := strings.Cut(name, "/"); ok && model != "" {
		if _, known := n.provider(before); known {
			return fitting(Choice{Kind: Concrete, Name: name, Models: []Model{n.At(before, model)}}, provider)
		}
	}
	near := n.near(name)
	if provider == "" && near == "" {
		if p, ok := n.only(); ok {
			provider = p.Name
		}
	}
	if provider != "" {
		if _, ok := n.provider(provider); !ok {
			return Choice{}, n.noProvider(provider)
		}
		return Choice{Kind: Concrete, Name: name, Models: []Model{n.At(provider, name)}}, nil
	}
	return Choice{}, n.unknown(name, near)
}

// fitting refuses a choice that has no model of the provider that is asked for.
func fitting(c Choice, provider string) (Choice, error) {
	got, ok := c.of(provider)
	if !ok {
		return Choice{}, workflow.Errorf(workflow.CodeModelUnknown, "the model %q is %s, but provider %q is asked for", c.Name, c.Models[0], provider).
			WithHint("leave the provider out, or name a model of it")
	}
	return got, nil
}

// near finds the name that name was most likely meant to be. It is asked before a
// bare name goes to the only provider: a slip must not become another model.
func (n *names) near(name string) string {
	if near := text.Nearest(name, n.known()); near != "" {
		return near
	}
	before, model, ok := strings.Cut(name, "/")
	if !ok {
		return ""
	}
	var providers []string
	for _, p := range n.providers {
		providers = append(providers, p.Name)
	}
	if near := text.Nearest(before, providers); near != "" {
		return near + "/" + model
	}
	return ""
}

// known are the names of models.yaml, sorted.
func (n *names) known() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for key := range n.models {
			if !yield(key) {
				return
			}
		}
		for key := range n.classes {
			if !yield(key) {
				return
			}
		}
	})
}

// listed names what can be written, within a bound.
func (n *names) listed() string {
	const most = 12
	all := n.known()
	for _, p := range n.providers {
		all = append(all, p.Name+"/MODEL")
	}
	if len(all) > most {
		all = append(all[:most:most], fmt.Sprintf("%d more", len(all)-most))
	}
	return strings.Join(all, ", ")
}

func (n *names) unknown(name, near string) *workflow.Error {
	err := workflow.Errorf(workflow.CodeModelUnknown, "no model or class is named %q", name)
	switch {
	case near != "" && !strings.Contains(name, "/"):
		return err.WithHint("did you mean %q? a model of a provider that models.yaml does not name is written PROVIDER/%s", near, name)
	case near != "":
		return err.WithHint("did you mean %q?", near)
	}
	return err.WithHint("write one of: %s", n.listed())
}

func (n *names) noProvider(name string) *workflow.Error {
	var all []string
	for _, p := range n.providers {
		all = append(all, p.Name)
	}
	err := workflow.Errorf(workflow.CodeProviderNotFound, "no provider is named %q", name)
	if near := text.Nearest(name, all); near != "" {
		return err.WithHint("did you mean %q?", near)
	}
	return err.WithHint("configured are: %s", strings.Join(all, ", "))
}
