// Package clients plays the stories of clients/stories with every client library: on the
// built server, through a driver program in the library's language.
package clients
