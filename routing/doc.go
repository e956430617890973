// Package routing says which model runs, and why.
//
// Holds: the reader of models.yaml, the Matrix of models, classes and rules that
// it makes, the decision for one start of an agent with its reason and its
// fallbacks, the explanation of a decision, what --model changes for one run, and
// what models cost.
//
// Guarantees: pure; the same file, providers and request give the same decision,
// whatever the order of the rules. A name that leads nowhere is an error with
// near names and never another model. A fallback exists only where a class names
// it. The time of a decision does not grow with the number of rules.
//
// Does not: call models, read files, count tokens, or know the date.
package routing
