package install

import "os/exec"

func killGroup(*exec.Cmd) {}
