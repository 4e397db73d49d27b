// Package browser shows a real browser to `muster local`: no page that it did not
// give itself may get anything from it.
package browser
