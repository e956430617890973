// Package files reads the agents, skills and compositions that stand in files, of
// all tiers.
//
// Holds: where they are looked for, and their reading into items of package
// composition: agents/**/*.md, skills/*/SKILL.md with their folders, and
// compositions/**/*.yaml or .json.
//
// Guarantees: equal files give equal items, whatever the order of a directory, the
// machine, the user, the locale or the time. What cannot be read is an item with
// the reason, so that a name never silently leads to something less specific. In
// all tiers but the person's own, a link is followed inside its tree only; a skill
// holds no link that leaves its folder in any tier.
//
// Does not: follow links to directories, resolve references, or write.
package files
