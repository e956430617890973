package script

import _ "embed"

//go:embed dialect.js
var dialect string

//go:embed workflow.d.ts
var types string

// Types returns the type declarations of the dialect, for editors.
func Types() string { return types }
