// Package entry is the rows of the log: what a column of events looks like.
//
// Holds: Row, with the columns of a row as they were read; Pack, which makes the
// data of one from the records of an Append, and Fits, which says how many of
// them go into one.
//
// Guarantees: what Pack wrote, Records reads back. Data that was changed, cut or
// put under other columns is an error and never a panic, and what stands before
// the damage is still read. Events yields nothing that the chain of sums does
// not verify.
//
// Does not: know the database, the spans or the writer; it neither seals records
// nor decides which rows belong to a history.
package entry
