// Package charttest tests the Helm chart with Helm's own library, and on a real API server.
package charttest
