//go:build unix

package app_test

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
)

// zipped returns an archive of executable files.
func zipped(t *testing.T, files map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "build.zip")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(file)
	for name, content := range files {
		h := &zip.FileHeader{Name: name}
		h.SetMode(0o755)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPreflight produces each failure with a small broken server, and checks its
// report.
func TestPreflight(t *testing.T) {
	t.Parallel()
	game, err := os.ReadFile(arena(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		files  map[string]string
		passes bool
		want   []string
	}{
		"works": {map[string]string{"server": string(game)}, true, []string{
			"the archive unpacks", "called InitSDK", "called ProcessReady", "ActivateGameSession", "exited cleanly",
		}},
		"missing":       {map[string]string{"bin/server": "#!/bin/sh\n"}, false, []string{"is not in the build", "FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND"}},
		"architecture":  {map[string]string{"server": "MZ for another system"}, false, []string{"for Windows", "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE"}},
		"install":       {map[string]string{"server": "#!/bin/sh\n", "install.sh": "echo no apt; exit 1"}, false, []string{"no apt", "FLEET_CREATION_FAILED_INSTALLER"}},
		"exits":         {map[string]string{"server": "#!/bin/sh\necho cannot read config >&2\nexit 4\n"}, false, []string{"exited with code 4", "cannot read config", "SERVER_PROCESS_CRASHED"}},
		"signal":        {map[string]string{"server": "#!/bin/sh\nkill -SEGV $$\n"}, false, []string{"SIGSEGV", "SERVER_PROCESS_CRASHED"}},
		"port":          {map[string]string{"server": "#!/bin/sh\necho 'listen udp :7777: bind: address already in use' >&2\nexit 1\n"}, false, []string{"a port that it wants is in use"}},
		"library":       {map[string]string{"server": "#!/bin/sh\necho './s: error while loading shared libraries: libgame.so: cannot open shared object file: No such file' >&2\nexit 127\n"}, false, []string{"libgame.so is missing"}},
		"never connect": {map[string]string{"server": "#!/bin/sh\nexec sleep 100\n"}, false, []string{"it had not connected", "SERVER_PROCESS_SDK_INITIALIZATION_TIMEOUT"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := newScreen()
			o := app.PreflightOptions{Build: zipped(t, tt.files), LaunchPath: "/local/game/server", Out: out}
			if tt.passes {
				o.Parameters = "server"
			} else {
				o.Connect = 3 * time.Second
			}
			err := app.Preflight(t.Context(), o)
			if tt.passes && err != nil || !tt.passes && !errors.Is(err, app.ErrPreflight) {
				t.Errorf("ended with %v:\n%s", err, out)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
		})
	}
}
