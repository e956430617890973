// Package wire is one HTTP exchange whose answer is a stream of server-sent
// events, as all model vendors speak it.
//
// A vendor's SDK builds and sends the request through [Client]; the answer is
// kept back from the SDK and read here, so that every protocol meets the same
// bounds and the same errors.
//
// Holds: [Exchange], the client that feeds it, the event reader, and the error
// types of an exchange.
//
// Guarantees: at most one request is sent in an exchange, redirects are not
// followed, an event up to [MaxEventBytes] is read whole, an event that is not
// JSON, an answer that is no stream, and an error told inside the stream are
// errors, and the end of the context ends the request.
//
// Does not: know vendors, classify, retry, or time out.
package wire
