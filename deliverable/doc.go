// Package deliverable says what a turn has to deliver, and whether it did.
//
// Holds: the Spec of a deliverable and its reader, what a Harvest brings in, the
// Verdict on it with a closed list of reasons, the text that asks a model to mend
// what it delivered, the Step that follows a verdict, the Report of a review, and
// the overlays that tighten a spec.
//
// Guarantees: pure; the same spec and harvest give the same verdict, message and
// step. A model is asked at most once to mend, and never because of a fault of the
// harvest. What is not accepted is unproven, whatever the policy is. A spec that
// nothing can meet is refused when it is read, as far as that can be seen.
//
// Does not: read a workspace, which is package deliverable/harvest, call models,
// or wait.
package deliverable
