package implementation

// Phases of a step.
const (
	phaseArchitect = "architect"
	phaseDeveloper = "developer"
	phaseFixer     = "fixer"
	phaseVerify    = "verify"
	phaseReviewer  = "reviewer"
	phaseApproval  = "approval"
	phaseArchive   = "archive"
)

// done is what an archived work wants.
const done = "done"

// successors are the phases that come next when all is well.
var successors = map[string]string{
	phaseArchitect: phaseDeveloper, phaseDeveloper: phaseVerify, phaseFixer: phaseVerify, phaseVerify: phaseReviewer,
	phaseReviewer: phaseArchive, phaseApproval: phaseArchive, phaseArchive: done,
}

// words are the outcomes that name a phase which is not the successor.
var words = map[string]string{
	phaseArchitect: "replan", phaseDeveloper: "incomplete", phaseFixer: "rejected", phaseVerify: "reverify", phaseReviewer: "rereview",
}

// outcome names the phase that a step found to be needed; "" is none that could
// help.
func outcome(phase, wanted string) string {
	if wanted != "" && wanted == successors[phase] {
		return "next"
	}
	if word, ok := words[wanted]; ok {
		return word
	}
	return "failed"
}
