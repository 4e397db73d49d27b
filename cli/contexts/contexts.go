// Package contexts keeps the servers that a user has logged in to, each under a name: its
// address, the key, and whom to trust.
package contexts

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/musterhq/muster/internal/atomicfile"
	"github.com/musterhq/muster/internal/nearest"
	"github.com/musterhq/muster/internal/yamlfile"
)

// Context is a server and how it is used.
type Context struct {
	Endpoint    string `yaml:"endpoint"`
	Region      string `yaml:"region,omitempty"`
	AccessKeyID string `yaml:"access_key_id,omitempty"`
	Secret      string `yaml:"secret_access_key,omitempty"`
	CA          string `yaml:"ca,omitempty"` // PEM certificates to trust besides the system's
}

// File is the file with a user's contexts.
type File struct {
	Current  string             `yaml:"current,omitempty"` // name of the context that is used if none is named; "" for none
	Contexts map[string]Context `yaml:"contexts,omitempty"`

	path string
}

// Variable names the file, where it is not in the user's configuration folder.
const Variable = "MUSTER_CONTEXTS"

// Read reads the user's file; one that does not exist is empty.
func Read() (*File, error) {
	f := &File{path: os.Getenv(Variable)}
	if f.path == "" {
		folder, err := os.UserConfigDir()
		if err != nil {
			return f, nil // a service without a home has no contexts
		}
		f.path = filepath.Join(folder, "muster", "contexts.yaml")
	}
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read contexts: %w", err)
	}
	if err := yamlfile.ReadTagged(f.path, text, f); err != nil {
		return nil, fmt.Errorf("read contexts: %w", err)
	}
	return f, nil
}

// Path returns where the file is, or would be.
func (f *File) Path() string { return f.path }

// Names returns the names of all contexts, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.Contexts)) }

// Named returns the context with a name.
func (f *File) Named(name string) (Context, error) {
	c, ok := f.Contexts[name]
	switch {
	case ok:
		return c, nil
	case len(f.Contexts) == 0:
		return c, fmt.Errorf("there is no context %q, nor any other: 'muster login URL' makes one", name)
	}
	return c, fmt.Errorf("there is no context %q%s; there are: %s", name, nearest.DidYouMean(name, f.Names()), strings.Join(f.Names(), ", "))
}

// Put keeps a context under a name, and makes it the current one.
func (f *File) Put(name string, c Context) error {
	if f.Contexts == nil {
		f.Contexts = map[string]Context{}
	}
	f.Contexts[name], f.Current = c, name
	return f.write()
}

// Use makes a context the current one.
func (f *File) Use(name string) error {
	if _, err := f.Named(name); err != nil {
		return err
	}
	f.Current = name
	return f.write()
}

// Remove forgets a context and its key.
func (f *File) Remove(name string) error {
	if _, err := f.Named(name); err != nil {
		return err
	}
	delete(f.Contexts, name)
	if f.Current == name {
		f.Current = ""
	}
	return f.write()
}

// write writes the file so that only its owner can read it.
func (f *File) write() error {
	if f.path == "" {
		return errors.New("write contexts: there is no configuration folder; name a file by " + Variable)
	}
	text, err := yaml.Marshal(f)
	if err != nil {
		return fmt.Errorf("write contexts: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fmt.Errorf("write contexts: %w", err)
	}
	if err := atomicfile.Write(f.path, text, 0o600); err != nil {
		return fmt.Errorf("write contexts: %w", err)
	}
	return nil
}
