package terraform

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"
)

// archive returns the path of a build's archive with a game server that uses no SDK.
func archive(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	head := &zip.FileHeader{Name: "server.sh"}
	head.SetMode(0o755)
	f, err := z.CreateHeader(head)
	if err == nil {
		_, err = io.WriteString(f, "#!/bin/sh\n")
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
