// Package browser tests `muster local` with a real browser: only pages that it serves
// itself may read anything from it.
package browser
