package workflow

// RunID names one execution. It is unique in the project and is made by
// internal/ident.
type RunID string

// VisitID names one arrival at a node. It is structural: the path of bodies
// with their visit numbers, such as "work#1/fix#2", or "each#1[17]/do#1" in a
// map and "fan#1[left]/x#1" in a parallel branch. It is the same in every
// replay.
type VisitID string

// Digest is the lower-case hex SHA-256 of a content (64 characters).
type Digest string
