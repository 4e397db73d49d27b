package main

import release "github.com/musterhq/muster/internal/version"

// version returns the release of this program as one line.
func version() string { return release.Of().Line("muster") }
