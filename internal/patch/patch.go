// Package patch applies requests that change some members of a row.
package patch

// Set assigns *v to *to unless v is nil.
func Set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}
