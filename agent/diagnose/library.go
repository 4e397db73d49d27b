package diagnose

import (
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Libraries returns the shared libraries that a program needs and that are neither next to
// it nor where the system keeps them; none for what is not a dynamic program. It searches
// as the loader does, without what only the loader knows (environment, cache), so its
// result is a warning, not a verdict.
func Libraries(path string) []string {
	e, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer e.Close()
	var folders []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		values, err := e.DynString(tag)
		if err != nil {
			return nil
		}
		for _, value := range values {
			for folder := range strings.SplitSeq(value, ":") {
				folder = strings.NewReplacer("$ORIGIN", filepath.Dir(path), "${ORIGIN}", filepath.Dir(path)).Replace(folder)
				folders = append(folders, folder)
			}
		}
	}
	needed, err := e.ImportedLibraries()
	if err != nil {
		return nil
	}
	folders = append(folders, systemFolders()...)
	return slices.DeleteFunc(needed, func(library string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool {
			_, err := os.Stat(filepath.Join(folder, library))
			return err == nil
		})
	})
}

// systemFolders returns the loader's default folders and those in its configuration.
func systemFolders() []string {
	folders := []string{"/lib", "/usr/lib", "/lib64", "/usr/lib64"}
	for _, pattern := range []string{"/lib/*-linux-*", "/usr/lib/*-linux-*"} {
		found, _ := filepath.Glob(pattern)
		folders = append(folders, found...)
	}
	files, _ := filepath.Glob("/etc/ld.so.conf.d/*.conf")
	for _, file := range append(files, "/etc/ld.so.conf") {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "/") {
				folders = append(folders, line)
			}
		}
	}
	return folders
}
