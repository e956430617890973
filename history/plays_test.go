package history_test

import (
	"fmt"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/workflow"
)

// plays are the runs behind the golden files, by the names of the files. A play
// may be changed freely: what it wrote stays.
var plays = map[string]func(*actor){
	"chain": func(a *actor) {
		res := a.start(launch(a.t, def("init", `"init":{"kind":"assign","params":{"set":{"n":1,"who":"world"}},"ends":{"next":"look","failed":"bad"}},`+
			reads("look", "draft")+prompt("draft", "Write to {{vars.who}}. LONG", "check")+
			`"check":{"kind":"condition","params":{"expr":"length($outputs.draft.text) > 5000"},"ends":{"true":"save","false":"bad"}},`+
			writes("save", "count")+
			`"count":{"kind":"assign","params":{"increment":{"n":1}},"ends":{"next":"loop","failed":"bad"}},`+
			`"loop":{"kind":"condition","params":{"expr":"$vars.n < 4"},"ends":{"true":"count","false":"done"}},`)))
		a.want(res, workflow.StatusSucceeded)
	},
	"map": func(a *actor) {
		res := a.start(launch(a.t, def("each", `"each":{"kind":"map","params":{"over":{"items":["a","b","c"]},"concurrency":2,"body":"one"},"ends":{"next":"all"}},`+
			`"all":{"kind":"join","params":{"reduce":"all-ok"},"ends":{"next":"sides","fail":"bad"}},`+
			`"sides":{"kind":"parallel","params":{"branches":{"left":"three","right":"two"}},"ends":{"next":"done","fail":"bad"}},`,
			`"components":{"one":{"entry":"ask","nodes":{`+body("ask", "prompt", `{"access":"read","engine":{"provider":"p"},"text":"Item {{item.value}}"}`, "run")+
				`"run":{"kind":"shell","params":{"commandLine":"make one"},"ends":{"ok":null,"fail":null,"failed":null}}}},`+
				`"three":{"entry":"ask","nodes":{"ask":{"kind":"prompt","params":{"access":"read","engine":{"provider":"p"},"text":"The left side"},"ends":{"next":null,"failed":null}}}},`+
				`"two":{"entry":"run","nodes":{"run":{"kind":"shell","params":{"commandLine":"make two","effect":"read"},"ends":{"ok":null,"fail":null,"failed":null}}}}}`)))
		a.want(res, workflow.StatusSucceeded)
	},
	"question": func(a *actor) {
		res := a.start(launch(a.t, def("tone", `"tone":{"kind":"question","params":{"text":"Which tone?","options":["formal","casual"]},"ends":{"next":"draft"}},`+
			prompt("draft", "In a {{answers.tone}} tone", "publish")+
			`"publish":{"kind":"approval","params":{"text":"Publish?"},"ends":{"approved":"save","denied":"bad"}},`+writes("save", "done"))))
		a.answer(res.Questions[0], "casual")
		a.want(a.drive(res.Run), workflow.StatusWaiting)
	},
	"component-retry": func(a *actor) {
		res := a.start(launch(a.t, def("work", `"work":{"kind":"component","params":{"ref":"c","inputs":{"who":"you"}},"ends":{"next":"bad","failed":"bad","custom":"done"}},`,
			`"components":{"c":{"entry":"s","inputs":["who"],"outputs":["next","failed","custom"],"nodes":{`+
				`"s":{"kind":"prompt","params":{"access":"read","engine":{"provider":"p"},"text":"FLAKY for {{vars.who}}"},"retry":{"maxAttempts":3,"backoffMs":1},"ends":{"next":"out","failed":null}},`+
				`"out":{"kind":"end","params":{"outcome":"success","exit":"custom"},"ends":{}}}}}`)))
		a.want(res, workflow.StatusSucceeded)
	},
	"budget-refused": func(a *actor) { a.want(a.budget(), workflow.StatusExhausted) },
	"budget-raised": func(a *actor) {
		res := a.budget()
		a.send(res.Run, engine.Control{Raise: &workflow.LimitRaised{Tokens: 100_000}})
		a.want(a.drive(res.Run), workflow.StatusSucceeded)
	},
	"fork": func(a *actor) {
		res := a.start(launch(a.t, def("init", `"init":{"kind":"assign","params":{"set":{"extra":"nothing more"}},"ends":{"next":"draft","failed":"bad"}},`+prompt("draft", "Draft", "ask")+
			`"ask":{"kind":"question","params":{"text":"Good?"},"ends":{"next":"final"}},`+prompt("final", "Final {{answers.ask}} {{vars.extra}}", "done"))))
		a.answer(res.Questions[0], "yes")
		a.want(a.drive(res.Run), workflow.StatusSucceeded)
		fork, err := a.e.Fork(a.t.Context(), engine.ForkRequest{
			Run: res.Run, ID: "r-fork", Node: "ask", Patch: workflow.Patch{Vars: map[string]workflow.Value{"extra": workflow.Text("more")}},
		})
		if err != nil {
			a.t.Fatal(err)
		}
		again := a.drive(fork)
		a.answer(again.Questions[0], "no")
		a.want(a.drive(fork), workflow.StatusSucceeded)
	},
	"child": func(a *actor) {
		child := def("ask", `"ask":{"kind":"question","params":{"text":"{{inputs.what}}?"},"ends":{"next":"say"}},`+prompt("say", "Say {{answers.ask}}", "done"))
		l := launch(a.t, def("sub", `"sub":{"kind":"workflow","params":{"name":"child","inputs":{"what":"Which"}},"ends":{"next":"use","failed":"bad"}},`+
			prompt("use", "Use {{outputs.sub.outputs.say.text}}", "done")))
		l.Blobs = [][]byte{[]byte(child)}
		l.Started.Children = map[string]workflow.Ref{"child": launch(a.t, child).Started.Workflow}
		res := a.start(l)
		a.answer(res.Questions[0], "that")
		a.want(a.drive(res.Run), workflow.StatusSucceeded)
	},
	"wait": func(a *actor) {
		res := a.start(launch(a.t, def("sig", `"sig":{"kind":"wait","params":{"signal":"go"},"ends":{"next":"use"}},`+prompt("use", "Use {{outputs.sig.value}}", "nap")+
			`"nap":{"kind":"wait","params":{"until":"2200-01-01T00:00:00Z"},"ends":{"next":"done"}},`)))
		a.send(res.Run, engine.Control{Signal: &workflow.Signal{Name: "go", Value: workflow.Text("now")}})
		a.send(res.Run, engine.Control{Steer: "be brief"})
		a.want(a.drive(res.Run), workflow.StatusWaiting)
	},
	"killed-write": func(a *actor) {
		a.hang = "make save"
		a.killed(launch(a.t, def("look", reads("look", "save")+writes("save", "done"))))
		a.want(a.drive("r-golden"), workflow.StatusWaiting)
	},
	"killed-call": func(a *actor) {
		a.hang = "asked Second"
		a.killed(launch(a.t, def("first", prompt("first", "First", "second")+prompt("second", "Second", "done"))))
	},
	"cancelled": func(a *actor) {
		res := a.start(launch(a.t, def("look", reads("look", "ask")+`"ask":{"kind":"question","params":{"text":"Go on?"},"ends":{"next":"done"}},`)))
		a.send(res.Run, engine.Control{Cancel: &workflow.CancelRequested{Reason: "enough"}})
		a.want(a.drive(res.Run), workflow.StatusCancelled)
	},
}

// budget starts a run that may ask for about two of its four items.
func (a *actor) budget() history.Result {
	a.t.Helper()
	return a.start(launch(a.t, def("each", `"each":{"kind":"map","params":{"over":{"items":[1,2,3,4]},"concurrency":1,"body":"one"},"ends":{"next":"all"}},`+
		`"all":{"kind":"join","params":{"reduce":"all-ok"},"ends":{"next":"done","fail":"bad"}},`,
		`"components":{"one":{"entry":"ask","nodes":{"ask":{"kind":"prompt","params":{"access":"read","engine":{"provider":"p"},"text":"Item {{item.value}}"},"ends":{"next":null,"failed":null}}}}}`,
		`"budget":{"maxTokens":1000}`)))
}

// def wraps nodes into a definition of format 2 with two ends.
func def(entry, nodes string, more ...string) string {
	doc := fmt.Sprintf(`{"schemaVersion":2,"id":"golden","entry":%q,"nodes":{%s`+
		`"done":{"kind":"end","params":{"outcome":"success"},"ends":{}},"bad":{"kind":"end","params":{"outcome":"failure","reason":"went_bad"},"ends":{}}}`, entry, nodes)
	for _, m := range more {
		doc += "," + m
	}
	return doc + "}"
}

func prompt(name, text, next string) string {
	return fmt.Sprintf(`%q:{"kind":"prompt","params":{"access":"read","engine":{"provider":"p"},"text":%q},"ends":{"next":%q,"failed":"bad"}},`, name, text, next)
}

func body(name, kind, params, next string) string {
	return fmt.Sprintf(`%q:{"kind":%q,"params":%s,"ends":{"next":%q,"failed":null}},`, name, kind, params, next)
}

func reads(name, next string) string {
	return fmt.Sprintf(`%q:{"kind":"shell","params":{"commandLine":"cat %s","effect":"read"},"ends":{"ok":%q,"fail":"bad","failed":"bad"}},`, name, name, next)
}

func writes(name, next string) string {
	return fmt.Sprintf(`%q:{"kind":"shell","params":{"commandLine":"make %s"},"ends":{"ok":%q,"fail":"bad","failed":"bad"}},`, name, name, next)
}
