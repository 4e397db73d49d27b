package isolate

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// folder is the folder of the agent's groups, in each hierarchy.
const folder = "muster"

// Groups creates groups. Get one with Find.
type Groups struct {
	v2   string            // folder of our groups in the single hierarchy of version 2; "" for version 1
	dirs map[string]string // the same by controller, for version 1
	// beside is the same in a hierarchy of version 2 without controllers that exists
	// besides those of version 1; "" if there is none.
	beside string
}

// Group is one control group.
type Group struct {
	groups *Groups
	name   string
}

// Find finds hierarchies in which we may create groups, preferring version 2. Errors:
// ErrUnavailable.
func Find() (*Groups, error) {
	v2, err := findV2("/sys/fs/cgroup")
	if err == nil {
		return v2, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err) // there is no other version
	}
	g := &Groups{dirs: map[string]string{}}
	for _, controller := range []string{"memory", "cpu", "pids"} {
		dir, err := findV1(controller)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		g.dirs[controller] = dir
	}
	g.beside, _ = findMount("cgroup2", "") // Restrict reports that it is missing
	return g, nil
}

func findV2(root string) (*Groups, error) {
	have, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	for _, controller := range []string{"memory", "cpu", "pids"} {
		if !strings.Contains(" "+strings.TrimSpace(string(have))+" ", " "+controller+" ") {
			return nil, fmt.Errorf("controller %s is missing", controller)
		}
	}
	own := filepath.Join(root, folder)
	if err := os.MkdirAll(own, 0o755); err != nil {
		return nil, err
	}
	for _, dir := range []string{root, own} {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+memory +cpu +pids"), 0); err != nil {
			return nil, err
		}
	}
	return &Groups{v2: own}, nil
}

// findV1 returns our folder in the hierarchy of a controller.
func findV1(controller string) (string, error) {
	dir, err := findMount("cgroup", controller)
	if err == nil && dir == "" {
		err = fmt.Errorf("controller %s is not mounted", controller)
	}
	return dir, err
}

// findMount returns our folder in a hierarchy that is mounted with an option; "" if
// there is none.
func findMount(kind, option string) (string, error) {
	mounts, err := os.Open("/proc/self/mounts")
	if err != nil {
		return "", err
	}
	defer mounts.Close()
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[2] != kind || option != "" && !slices.Contains(strings.Split(fields[3], ","), option) {
			continue
		}
		dir := filepath.Join(fields[1], folder)
		return dir, os.MkdirAll(dir, 0o755)
	}
	return "", nil
}

// Make creates a group, or sets the limits of an existing one.
func (g *Groups) Make(name string, l Limits) (*Group, error) {
	group := &Group{g, name}
	for controller, dir := range group.folders() {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make group: %w", err)
		}
		for file, value := range g.settings(controller, l) {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("limit group: %w", err)
			}
		}
	}
	return group, nil
}

// Get returns a group that a former agent created.
func (g *Groups) Get(name string) *Group { return &Group{g, name} }

// folders returns the group's folder by controller; "" stands for all of version 2.
func (g *Group) folders() map[string]string {
	if g.groups.v2 != "" {
		return map[string]string{"": filepath.Join(g.groups.v2, g.name)}
	}
	all := map[string]string{}
	for controller, dir := range g.groups.dirs {
		all[controller] = filepath.Join(dir, g.name)
	}
	if g.groups.beside != "" {
		all[beside] = filepath.Join(g.groups.beside, g.name)
	}
	return all
}

// beside is the key of a hierarchy without a controller.
const beside = "beside"

// unified returns the group's folder in a hierarchy of version 2, or "".
func (g *Group) unified() string {
	folders := g.folders()
	return cmp.Or(folders[""], folders[beside])
}

// period is the interval in which a share of processors is measured.
const period = 100 * time.Millisecond

func (g *Groups) settings(controller string, l Limits) map[string]string {
	set := map[string]string{}
	put := func(of, file string, value int64) {
		if value > 0 && controller == of {
			set[file] = strconv.FormatInt(value, 10)
		}
	}
	quota := int64(l.CPUMillis) * period.Microseconds() / 1000
	put("memory", "memory.limit_in_bytes", int64(l.MemoryMiB)<<20)
	put("pids", "pids.max", int64(l.Processes))
	put("cpu", "cpu.cfs_quota_us", quota)
	if controller == "" { // version 2
		put("", "memory.max", int64(l.MemoryMiB)<<20)
		put("", "pids.max", int64(l.Processes))
		put("", "memory.oom.group", 1)
		if quota > 0 {
			set["cpu.max"] = fmt.Sprintf("%d %d", quota, period.Microseconds())
		}
	}
	return set
}

func (g *Group) joins() []string {
	var files []string
	for _, dir := range g.folders() {
		files = append(files, filepath.Join(dir, "cgroup.procs"))
	}
	return files
}

// OOMKills returns how many processes of the group were killed because the group was
// out of memory.
func (g *Group) OOMKills() int {
	for _, dir := range g.folders() {
		for _, name := range []string{"memory.events", "memory.oom_control"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(text)) {
				if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
					n, _ := strconv.Atoi(strings.TrimSpace(count))
					return n
				}
			}
		}
	}
	return 0
}

// Kill kills every process of the group, until none is left or the time is over.
func (g *Group) Kill(within time.Duration) error {
	if err := killAll(g.processes, within); err != nil {
		return fmt.Errorf("kill group: %w", err)
	}
	return nil
}

// killAll kills processes until none is listed or the time is over.
func killAll(list func() []int, within time.Duration) error {
	for end := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		left := list()
		if len(left) == 0 {
			return nil
		}
		for _, pid := range left {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d processes are left", len(left))
		}
	}
}

func (g *Group) processes() []int {
	var all []int
	for _, file := range g.joins() {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid > 1 {
				all = append(all, pid)
			}
		}
	}
	return all
}

// Remove kills what is left of the group and removes it.
func (g *Group) Remove() error {
	errs := []error{g.Kill(2 * time.Second)}
	for _, dir := range g.folders() {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove group: %w", err))
		}
	}
	return errors.Join(errs...)
}
