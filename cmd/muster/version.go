package main

import "github.com/musterhq/muster/internal/release"

// version returns what this program says of itself.
func version() string { return release.Text("muster") }
