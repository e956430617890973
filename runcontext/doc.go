// Package runcontext is what an agent finds when its turn begins: its
// instructions, its mounts, its tools, and two digests that say which.
//
// Holds: workspace manifests (the authored form, inheritance, interpolation and
// binding), slots and the mount plan, overlays of deliverable specs, and the
// renderer of AGENTS.md, context.json, mount plan and tool allowlist.
//
// Guarantees: pure; equal inputs give equal bytes and digests, in whatever order
// unordered inputs come, on every machine. Nothing that is rendered or hashed
// holds a run id, an attempt, a time or the value of a credential, and
// context.json holds no absolute path. A document is refused with all of its
// defects, each with its place.
//
// Does not: read or write files (package runcontext/mount does), resolve agents
// or models, fetch credentials, or judge paths.
package runcontext
