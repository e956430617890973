package workflow

// Types of events.
const (
	TypeRunStarted         EventType = "run_started"
	TypeAdmitted           EventType = "admitted"
	TypeRefused            EventType = "refused"
	TypeInvocationReserved EventType = "invocation_reserved"
	TypeInvocationSettled  EventType = "invocation_settled"
	TypeProgress           EventType = "progress"
	TypeStepIntended       EventType = "step_intended"
	TypeStepSettled        EventType = "step_settled"
	TypeAgentStarted       EventType = "agent_started"
	TypeAgentEnded         EventType = "agent_ended"
	TypeEvidenceKept       EventType = "evidence_kept"
	TypeRetrying           EventType = "retrying"
	TypeSettled            EventType = "settled"
	TypeLost               EventType = "lost"
	TypeRecovered          EventType = "recovered"
	TypeQuestionOpened     EventType = "question_opened"
	TypeQuestionAnswered   EventType = "question_answered"
	TypeTimerStarted       EventType = "timer_started"
	TypeTimerFired         EventType = "timer_fired"
	TypeChildStarted       EventType = "child_started"
	TypeChildEnded         EventType = "child_ended"
	TypeSignal             EventType = "signal"
	TypeSteered            EventType = "steered"
	TypeAgentSkipped       EventType = "agent_skipped"
	TypeSteerHeard         EventType = "steer_heard"
	TypeLimitRaised        EventType = "limit_raised"
	TypePaused             EventType = "paused"
	TypeResumed            EventType = "resumed"
	TypeCancelRequested    EventType = "cancel_requested"
	TypeBreakerOpened      EventType = "breaker_opened"
	TypeForked             EventType = "forked"
	TypeEnded              EventType = "ended"
)

var payloads = map[EventType]func() Payload{
	TypeRunStarted:         func() Payload { return new(RunStarted) },
	TypeAdmitted:           func() Payload { return new(Admitted) },
	TypeRefused:            func() Payload { return new(Refused) },
	TypeInvocationReserved: func() Payload { return new(InvocationReserved) },
	TypeInvocationSettled:  func() Payload { return new(InvocationSettled) },
	TypeProgress:           func() Payload { return new(Progress) },
	TypeStepIntended:       func() Payload { return new(StepIntended) },
	TypeStepSettled:        func() Payload { return new(StepSettled) },
	TypeAgentStarted:       func() Payload { return new(AgentStarted) },
	TypeAgentEnded:         func() Payload { return new(AgentEnded) },
	TypeEvidenceKept:       func() Payload { return new(EvidenceKept) },
	TypeRetrying:           func() Payload { return new(Retrying) },
	TypeSettled:            func() Payload { return new(Settled) },
	TypeLost:               func() Payload { return new(Lost) },
	TypeRecovered:          func() Payload { return new(Recovered) },
	TypeQuestionOpened:     func() Payload { return new(QuestionOpened) },
	TypeQuestionAnswered:   func() Payload { return new(QuestionAnswered) },
	TypeTimerStarted:       func() Payload { return new(TimerStarted) },
	TypeTimerFired:         func() Payload { return new(TimerFired) },
	TypeChildStarted:       func() Payload { return new(ChildStarted) },
	TypeChildEnded:         func() Payload { return new(ChildEnded) },
	TypeSignal:             func() Payload { return new(Signal) },
	TypeSteered:            func() Payload { return new(Steered) },
	TypeAgentSkipped:       func() Payload { return new(AgentSkipped) },
	TypeSteerHeard:         func() Payload { return new(SteerHeard) },
	TypeLimitRaised:        func() Payload { return new(LimitRaised) },
	TypePaused:             func() Payload { return new(Paused) },
	TypeResumed:            func() Payload { return new(Resumed) },
	TypeCancelRequested:    func() Payload { return new(CancelRequested) },
	TypeBreakerOpened:      func() Payload { return new(BreakerOpened) },
	TypeForked:             func() Payload { return new(Forked) },
	TypeEnded:              func() Payload { return new(Ended) },
}

// EventType is TypeRunStarted.
func (*RunStarted) EventType() EventType { return TypeRunStarted }

// EventType is TypeAdmitted.
func (*Admitted) EventType() EventType { return TypeAdmitted }

// EventType is TypeRefused.
func (*Refused) EventType() EventType { return TypeRefused }

// EventType is TypeInvocationReserved.
func (*InvocationReserved) EventType() EventType { return TypeInvocationReserved }

// EventType is TypeInvocationSettled.
func (*InvocationSettled) EventType() EventType { return TypeInvocationSettled }

// EventType is TypeProgress.
func (*Progress) EventType() EventType { return TypeProgress }

// EventType is TypeStepIntended.
func (*StepIntended) EventType() EventType { return TypeStepIntended }

// EventType is TypeAgentSkipped.
func (*AgentSkipped) EventType() EventType { return TypeAgentSkipped }

// EventType is TypeSteerHeard.
func (*SteerHeard) EventType() EventType { return TypeSteerHeard }

// EventType is TypeAgentStarted.
func (*AgentStarted) EventType() EventType { return TypeAgentStarted }

// EventType is TypeAgentEnded.
func (*AgentEnded) EventType() EventType { return TypeAgentEnded }

// EventType is TypeStepSettled.
func (*StepSettled) EventType() EventType { return TypeStepSettled }

// EventType is TypeEvidenceKept.
func (*EvidenceKept) EventType() EventType { return TypeEvidenceKept }

// EventType is TypeRetrying.
func (*Retrying) EventType() EventType { return TypeRetrying }

// EventType is TypeSettled.
func (*Settled) EventType() EventType { return TypeSettled }

// EventType is TypeLost.
func (*Lost) EventType() EventType { return TypeLost }

// EventType is TypeRecovered.
func (*Recovered) EventType() EventType { return TypeRecovered }

// EventType is TypeQuestionOpened.
func (*QuestionOpened) EventType() EventType { return TypeQuestionOpened }

// EventType is TypeQuestionAnswered.
func (*QuestionAnswered) EventType() EventType { return TypeQuestionAnswered }

// EventType is TypeTimerStarted.
func (*TimerStarted) EventType() EventType { return TypeTimerStarted }

// EventType is TypeTimerFired.
func (*TimerFired) EventType() EventType { return TypeTimerFired }

// EventType is TypeChildStarted.
func (*ChildStarted) EventType() EventType { return TypeChildStarted }

// EventType is TypeChildEnded.
func (*ChildEnded) EventType() EventType { return TypeChildEnded }

// EventType is TypeSignal.
func (*Signal) EventType() EventType { return TypeSignal }

// EventType is TypeSteered.
func (*Steered) EventType() EventType { return TypeSteered }

// EventType is TypeLimitRaised.
func (*LimitRaised) EventType() EventType { return TypeLimitRaised }

// EventType is TypePaused.
func (*Paused) EventType() EventType { return TypePaused }

// EventType is TypeResumed.
func (*Resumed) EventType() EventType { return TypeResumed }

// EventType is TypeCancelRequested.
func (*CancelRequested) EventType() EventType { return TypeCancelRequested }

// EventType is TypeBreakerOpened.
func (*BreakerOpened) EventType() EventType { return TypeBreakerOpened }

// EventType is TypeForked.
func (*Forked) EventType() EventType { return TypeForked }

// EventType is TypeEnded.
func (*Ended) EventType() EventType { return TypeEnded }
