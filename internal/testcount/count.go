package main

import (
	"fmt"
	"io"
	"os"
)

// counts are numbers of tests.
type counts struct{ passed, failed, skipped int }

// line is the format in which counts are printed and stored.
const line = "%d passed, %d failed, %d skipped"

func (c counts) String() string { return fmt.Sprintf(line, c.passed, c.failed, c.skipped) }

func (c *counts) add(o counts) {
	c.passed += o.passed
	c.failed += o.failed
	c.skipped += o.skipped
}

func appendSum(file string, c counts) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, c)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func readSum(file string) (counts, error) {
	f, err := os.Open(file)
	if err != nil {
		return counts{}, err
	}
	defer f.Close()
	var sum counts
	for {
		var c counts
		_, err := fmt.Fscanf(f, line+"\n", &c.passed, &c.failed, &c.skipped)
		if err == io.EOF {
			return sum, nil
		}
		if err != nil {
			return sum, fmt.Errorf("read %s: %w", file, err)
		}
		sum.add(c)
	}
}
