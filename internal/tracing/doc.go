// Package tracing makes spans of what a server does. Where there is no Tracer, neither in
// the context nor in a struct, it makes none, at the cost of a comparison or of looking
// for it in the context.
//
// Attributes say which resources and operations are concerned. They have no data of
// players, no keys, and no text of errors, which can contain either.
package tracing
