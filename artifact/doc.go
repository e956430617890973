// Package artifact is what agents and people make together: texts, pictures and
// pages that have an identity, revisions and readers, and no natural home on disk.
//
// Holds: the names and kinds of artifacts; Revision, Draft, Receipt and the other
// shapes; Log, the fold of the revisions of one collection; the lines in which
// revisions travel; the contracts Store, Replica and Collections, with a twin in
// memory; the replay of a transcript; the artboards of a canvas.
//
// Guarantees: a revision never changes and a number is never given to another
// text. What is refused is not stored, not numbered and not told to anybody, and
// nothing is cut to fit. Two logs merge to the same bytes in any order, any number
// of times. A person's revision that an agent replaces is named in the receipt.
//
// Does not: touch a disk, a clock or a network, draw anything, or keep the time:
// who stores says when, under which name and on which device. It does not look
// for secrets in contents; whoever takes them from a model does.
package artifact
