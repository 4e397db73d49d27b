// Command release writes the modules of a tag of this repository as a module proxy in
// a folder, from which the go command installs them offline:
//
//	release -tag v0.1.0 -repository . FOLDER
//	GOPROXY=file://FOLDER GONOSUMDB=* go install github.com/musterhq/muster/cmd/muster@v0.1.0
//
// All modules have the version of the tag; for each but the root the repository needs
// a tag with the module's folder before the version, too (sdk/session/v0.1.0).
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"
)

const root = "github.com/musterhq/muster"

// folders of the modules that others may require.
var folders = []string{"", "sdk/session", "sdk/gameserver", "kubernetes"}

func main() {
	tag := flag.String("tag", "", "the `version` to write (required)")
	repository := flag.String("repository", ".", "the repository's `folder`")
	flag.Parse()
	if flag.NArg() != 1 || *tag == "" {
		fmt.Fprintln(os.Stderr, "usage: release -tag VERSION [-repository FOLDER] FOLDER")
		os.Exit(2)
	}
	if err := release(*repository, *tag, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release writes all modules.
func release(repository, version, proxy string) error {
	if semver.Canonical(version) != version {
		return fmt.Errorf("%q is not a version such as v0.1.0", version)
	}
	for _, folder := range folders {
		if err := write(repository, folder, version, proxy); err != nil {
			return fmt.Errorf("module %s: %w", path.Join(root, folder), err)
		}
	}
	return nil
}

// write writes the four files that the go command reads from a proxy for one version.
func write(repository, folder, version, proxy string) error {
	tag := path.Join(folder, version)
	commit, err := git(repository, "log", "-1", "--format=%cI", "refs/tags/"+tag)
	if err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(commit))
	if err != nil {
		return fmt.Errorf("time of tag %s: %w", tag, err)
	}
	mod, err := git(repository, "show", "refs/tags/"+tag+":"+path.Join(folder, "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": at.UTC()})
	if err != nil {
		return err
	}
	m := module.Version{Path: path.Join(root, folder), Version: version}
	dir := filepath.Join(proxy, filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{version + ".info": string(info), version + ".mod": mod, "list": version + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	file, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := zip.CreateFromVCS(file, m, repository, "refs/tags/"+tag, folder); err != nil {
		return err
	}
	return file.Close()
}

func git(repository string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = repository
	out, err := cmd.Output()
	if failed, ok := err.(*exec.ExitError); ok {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(failed.Stderr)))
	}
	return string(out), err
}
