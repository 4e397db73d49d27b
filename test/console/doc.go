// Package console tests the web console in Chromium against the built binary.
//
// The checks are the .mjs files, which drive a browser with Playwright and look at pages with
// axe. The Go tests run the servers and what goes on in them. A check compares what it sees
// with the API at the same moment, until they agree: the servers do not stand still.
//
// A developer sees all pages with
//
//	make build && MUSTER_BIN=$PWD/bin/muster ARENA_BIN=$PWD/bin/arena \
//		go test ./test/console -run Walk -pictures FOLDER
//
// which walks in both themes and three widths, and leaves a picture of each page.
package console
