// Package flood has clients without credentials try to exhaust a server, over real
// connections to the built binary.
package flood
