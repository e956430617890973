// Package live shows a driven run on a terminal while it runs.
//
// Holds: the Tree, a pure fold of notices that can be drawn at any size, and the
// View, which draws it below the cursor, again whenever something changed.
//
// Guarantees: a frame is never wider or taller than the terminal; what is
// running, waits or failed is shown before what is finished, of which there may
// be any number; text of models and commands cannot control the terminal; no
// mode of the terminal is changed, so nothing has to be restored, however the
// process ends. The last tree stays on the screen as plain text.
//
// Does not: read the keyboard, ask the terminal anything, or decide whether
// there is a terminal.
package live
