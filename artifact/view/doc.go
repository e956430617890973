// Package view shows one artifact in the browser of this machine.
//
// Holds: Viewer, which serves an artifact on loopback from two origins. A page of
// ours on "localhost" shows versions and saves edits; what the artifact holds comes
// from "127.0.0.1", another site, in a frame without an origin.
//
// Guarantees: what an artifact runs cannot read our page, its address, its cookies
// (there are none), the collection or another artifact, and sends no HTTP,
// WebSocket, beacon, form or navigation request to another server. A drawing is an
// image: its scripts do not run. The address that opens the page works once. Only
// requests with the right Host and the key of the page are answered. An edit is
// saved only when a person presses the button in our page, and under the version
// that they saw. The servers end with the page.
//
// Does not: stop a page from burning time or sending WebRTC and preconnect packets,
// which no browser can be told to refuse; Warning says so. It does not listen
// anywhere but on loopback.
package view
