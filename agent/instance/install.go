package instance

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/agent/diagnose"
	"github.com/musterhq/muster/agent/install"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/tracing"
)

// Fleet event codes with which an instance or a process fails (API reference, Event).
const (
	codeDownload   = "FLEET_BINARY_DOWNLOAD_FAILED"
	codeLaunchPath = "FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND"
	codeExecutable = "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE"
	codeInstaller  = "FLEET_CREATION_FAILED_INSTALLER"
	codeActivation = "FLEET_ACTIVATION_FAILED"
	codeCrashed    = "SERVER_PROCESS_CRASHED"
	codeNoFile     = "SERVER_PROCESS_INVALID_PATH"
	codeStopped    = "SERVER_PROCESS_FORCE_TERMINATED"
)

// problem is why an instance does not work: an event code and a sentence. The zero
// value means that it works.
type problem struct{ code, cause string }

// installation is an attempt to bring a build into an instance's folder.
type installation struct {
	l        *launcher
	desired  protocol.Desired
	key      ed25519.PublicKey // verifies the build
	progress func(protocol.Phase, int)

	abandon context.CancelFunc
	ended   chan struct{} // closed when nothing of it runs any more
}

// same reports whether an installation of a desired state would be the same one.
func (n *installation) same(d protocol.Desired, key ed25519.PublicKey) bool {
	return d.Build == n.desired.Build && slices.Equal(d.Runtime.Processes, n.desired.Runtime.Processes) && key.Equal(n.key)
}

// run installs the build, unless it is already installed, and checks it.
func (n *installation) run(ctx context.Context) (p problem) {
	ctx, span := tracing.Start(tracing.Continued(ctx, n.desired.Trace), "install build", trace.SpanKindInternal,
		attribute.String("muster.instance.id", n.l.id), attribute.String("muster.fleet.id", n.desired.FleetID), attribute.String("muster.build.id", n.desired.Build.ID))
	defer func() {
		switch {
		case ctx.Err() != nil:
			tracing.Fail(span, "abandoned")
		case p != problem{}:
			tracing.Fail(span, p.code)
		}
		span.End()
	}()
	if err := n.l.usePorts(n.desired); err != nil {
		return problem{codeActivation, err.Error()}
	}
	if n.l.own == nil {
		if p := n.fetch(ctx); p != (problem{}) || ctx.Err() != nil {
			return p
		}
		err := n.l.jail.Settle(n.l.home.game())
		if err != nil && n.l.slots.count() == 0 {
			return problem{codeActivation, err.Error()}
		} // otherwise game servers that were taken over continue, and only new launches fail
		if err := n.l.certs.ensure(ctx); err != nil {
			return problem{codeActivation, err.Error()}
		}
	}
	return n.validate()
}

// fetch installs the build in the cache and creates the instance's tree from it.
func (n *installation) fetch(ctx context.Context) problem {
	home, b := n.l.home, n.desired.Build
	if home.built() == b.SHA256 {
		return problem{}
	}
	if err := b.Verify(n.key); err != nil {
		n.l.log.Error("a build is refused", "build", b.ID, "error", err)
		return problem{codeDownload, fmt.Sprintf("build %s is refused: %v", b.ID, err)}
	}
	dir, err := n.l.m.Cache.Install(ctx, install.Build{SHA256: b.SHA256, Size: b.Size, Format: b.Format}, n.stage)
	var f *install.Failure
	switch {
	case ctx.Err() != nil:
		return problem{}
	case errors.As(err, &f):
		code := map[install.Stage]string{install.Download: codeDownload, install.Unpack: codeExecutable, install.Script: codeInstaller}
		return problem{code[f.Stage], f.Text}
	case err == nil:
		err = os.MkdirAll(home.dir, 0o755)
	}
	if err == nil {
		err = errors.Join(os.RemoveAll(home.game()), install.Tree(dir, home.game()))
	}
	if err == nil {
		err = home.markBuilt(b.SHA256)
	}
	if err != nil {
		return problem{codeActivation, err.Error()}
	}
	return problem{}
}

// stage reports the cache's progress as a phase.
func (n *installation) stage(s install.Stage, percent int) {
	phases := map[install.Stage]protocol.Phase{
		install.Download: protocol.Downloading, install.Unpack: protocol.Validating, install.Script: protocol.Building,
	}
	if s != install.Download {
		percent = 100 // protocol.Instance.Done is about the download
	}
	n.progress(phases[s], percent)
}

// validate checks the programs to be launched.
func (n *installation) validate() problem {
	if len(n.desired.Runtime.Processes) == 0 {
		return problem{codeLaunchPath, "the runtime configuration names no server process"}
	}
	for at, p := range n.desired.Runtime.Processes {
		path, err := n.l.home.program(p.LaunchPath)
		if err != nil {
			return problem{codeLaunchPath, err.Error()}
		}
		err = diagnose.Program(path, p.LaunchPath)
		var found *diagnose.Problem
		switch {
		case errors.As(err, &found) && found.Missing:
			return problem{codeLaunchPath, found.Text + n.l.home.near(path)}
		case err != nil:
			return problem{codeExecutable, err.Error()}
		}
		if err := checkParameters(p.Parameters, n.desired); err != nil {
			return problem{codeExecutable, fmt.Sprintf("ServerProcesses.%d.Parameters: %v", at+1, err)}
		}
	}
	return problem{}
}
