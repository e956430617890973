// Package providertest holds what tests of model providers need: a server that
// speaks the four vendor protocols on loopback, and the suite that every
// adapter passes.
//
// Holds: [Server] with its scripted [Reply]s and recorded [Request]s, and
// [Suite].
//
// Guarantees: the server answers from what it was given and from the request
// alone, records every request without its key, and is stopped by Close.
//
// Does not: reach beyond the address it listens on.
package providertest
