// Package plain tells what happens in lines of text.
//
// Holds: Lines, which is progress without a terminal and the text of a history,
// and the lines of receipts and counts that other output has, too.
//
// Guarantees: one line an event at most; the same history gives the same lines.
//
// Does not: draw, colour, or know where a line goes.
package plain
