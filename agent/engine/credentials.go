package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/moby/moby/api/pkg/authconfig"
	registrytypes "github.com/moby/moby/api/types/registry"
)

// loginFile is what matters of Docker's config.json, and of Podman's auth.json.
type loginFile struct {
	Auths   map[string]loginEntry `json:"auths"`
	Store   string                `json:"credsStore"`  // suffix of a program with all logins
	Helpers map[string]string     `json:"credHelpers"` // the same by registry
}

type loginEntry struct {
	Auth     string `json:"auth"` // base64 of NAME:PASSWORD
	Username string `json:"username"`
	Password string `json:"password"`
	Token    string `json:"identitytoken"`
}

// The names of Docker Hub: in references, and in files with logins.
const (
	dockerHub    = "docker.io"
	dockerHubKey = "https://index.docker.io/v1/"
)

// maxLoginFile limits the size of a file with logins, and of a helper's answer.
const maxLoginFile = 1 << 20

// login returns the login for a registry as the engine takes it; "" if there is none.
// Errors never contain secrets.
func (e *Engine) login(ctx context.Context, host string) (string, error) {
	for _, path := range loginPaths(e.machine.opts.Credentials) {
		file, err := readLogins(path)
		if errors.Is(err, fs.ErrNotExist) && e.machine.opts.Credentials == "" {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("read logins for registries: %w", err)
		}
		auth, err := file.login(ctx, host, askHelper)
		if err != nil {
			return "", fmt.Errorf("login for registry %s: %w", host, err)
		}
		if auth != nil {
			return authconfig.Encode(*auth)
		}
	}
	return "", nil
}

// loginPaths returns the files with logins, the most specific first.
func loginPaths(chosen string) []string {
	if chosen != "" {
		return []string{chosen}
	}
	var all []string
	add := func(variable string, rest ...string) {
		if dir := os.Getenv(variable); dir != "" {
			all = append(all, filepath.Join(append([]string{dir}, rest...)...))
		}
	}
	add("REGISTRY_AUTH_FILE")
	add("DOCKER_CONFIG", "config.json")
	add("XDG_RUNTIME_DIR", "containers/auth.json")
	if home, err := os.UserHomeDir(); err == nil {
		all = append(all, filepath.Join(home, ".config/containers/auth.json"), filepath.Join(home, ".docker/config.json"))
	}
	return all
}

func readLogins(path string) (loginFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return loginFile{}, err
	}
	if info.Size() > maxLoginFile {
		return loginFile{}, fmt.Errorf("%s is larger than %d bytes", path, maxLoginFile)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return loginFile{}, err
	}
	file, err := parseLogins(content)
	if err != nil {
		return loginFile{}, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

func parseLogins(content []byte) (loginFile, error) {
	var file loginFile
	if json.Unmarshal(content, &file) != nil { // its error could quote a secret
		return loginFile{}, errors.New("it is not JSON in the form of Docker's config.json")
	}
	return file, nil
}

// login returns the login for a registry; nil if the file has none. helper asks a program.
func (f loginFile) login(ctx context.Context, host string, helper func(ctx context.Context, name, host string) (*registrytypes.AuthConfig, error)) (*registrytypes.AuthConfig, error) {
	keys := []string{host, "https://" + host, "http://" + host}
	key := host
	if host == dockerHub {
		keys, key = append(keys, dockerHubKey, "index.docker.io"), dockerHubKey
	}
	name := f.Store
	for _, k := range keys {
		name = cmp.Or(f.Helpers[k], name)
	}
	if name != "" {
		if auth, err := helper(ctx, name, key); auth != nil || err != nil {
			return auth, err
		}
	}
	for _, k := range keys {
		if entry, ok := f.Auths[k]; ok {
			return entry.login(key)
		}
	}
	return nil, nil
}

func (l loginEntry) login(server string) (*registrytypes.AuthConfig, error) {
	auth := &registrytypes.AuthConfig{Username: l.Username, Password: l.Password, IdentityToken: l.Token, ServerAddress: server}
	if l.Auth != "" {
		plain, err := base64.StdEncoding.DecodeString(l.Auth)
		name, password, ok := strings.Cut(strings.TrimRight(string(plain), "\x00"), ":")
		if err != nil || !ok {
			return nil, errors.New("it is not base64 of NAME:PASSWORD")
		}
		auth.Username, auth.Password = name, password
	}
	if auth.Username == "" && auth.IdentityToken == "" {
		return nil, nil // an entry of a helper that is not named any more
	}
	return auth, nil
}

var helperForm = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`)

// helperTime limits how long a program is asked for a login.
const helperTime = 30 * time.Second

// askHelper asks the program docker-credential-NAME for a login; nil if it has none.
func askHelper(ctx context.Context, name, host string) (*registrytypes.AuthConfig, error) {
	if !helperForm.MatchString(name) {
		return nil, errors.New("the file names a credential helper whose name is not a program's")
	}
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker-credential-"+name, "get")
	cmd.Stdin = strings.NewReader(host)
	cmd.WaitDelay = time.Second
	var out boundedBuffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		if bytes.Contains(out.kept, []byte("credentials not found")) {
			return nil, nil
		}
		return nil, fmt.Errorf("the credential helper docker-credential-%s failed: %w", name, err)
	}
	return parseHelper(out.kept, host)
}

// parseHelper reads the answer of a credential helper.
func parseHelper(answer []byte, host string) (*registrytypes.AuthConfig, error) {
	var login struct{ Username, Secret string }
	if json.Unmarshal(answer, &login) != nil {
		return nil, errors.New("the credential helper answered with something else than a login")
	}
	if login.Username == "<token>" {
		return &registrytypes.AuthConfig{IdentityToken: login.Secret, ServerAddress: host}, nil
	}
	return &registrytypes.AuthConfig{Username: login.Username, Password: login.Secret, ServerAddress: host}, nil
}

// boundedBuffer keeps the beginning of what is written to it.
type boundedBuffer struct{ kept []byte }

func (b *boundedBuffer) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), maxLoginFile-len(b.kept))]...)
	return len(p), nil
}
