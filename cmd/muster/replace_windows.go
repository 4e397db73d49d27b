package main

import "errors"

// onReplace does nothing: Windows has no such signals.
func onReplace(func()) (stop func()) { return func() {} }

func replace() error { return errors.New("replace: Windows cannot; stop the agent and start it again") }
