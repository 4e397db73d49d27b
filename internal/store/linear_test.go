package store_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/musterhq/muster/internal/store"
)

// register is a row that clients read, write and compare-and-swap.
type register struct {
	Key   string `json:"key"`
	Value int    `json:"value"`
}

type registerInput struct {
	key      string
	kind     string // "read" by View, "write", "swap"
	from, to int
}

type registerOutput struct {
	value   int
	swapped bool
	unknown bool // the answer was an error: it may or may not have taken effect
}

// registerModel models one register; each key is checked separately.
func registerModel() porcupine.Model {
	return porcupine.Model{
		Partition: partitionByKey,
		Init:      func() any { return 0 },
		Step: func(state, input, output any) (bool, any) {
			in, out, value := input.(registerInput), output.(registerOutput), state.(int)
			switch in.kind {
			case "read":
				return out.value == value, value
			case "write":
				return true, in.to
			}
			if value == in.from {
				return out.swapped, in.to
			}
			return !out.swapped, value
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
	}
}

func partitionByKey(history []porcupine.Operation) [][]porcupine.Operation {
	byKey := map[string][]porcupine.Operation{}
	for _, op := range history {
		key := op.Input.(registerInput).key
		byKey[key] = append(byKey[key], op)
	}
	return slices.Collect(maps.Values(byKey))
}

// TestLinearizable checks that what clients see through Do and View is equivalent to
// some sequential order, also while commits fail.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	for _, failing := range []bool{false, true} {
		t.Run(fmt.Sprintf("failing=%v", failing), func(t *testing.T) {
			t.Parallel()
			driver := &flaky{Memory: store.NewMemory()}
			s := store.New(store.Options{Driver: driver, MaxBatch: 4})
			c := newRegisters(s)
			if err := s.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if failing {
				failSome(driver)
			}
			history := c.history(t, 8, 150)
			if result := porcupine.CheckOperationsTimeout(registerModel(), history, time.Minute); result != porcupine.Ok {
				t.Errorf("the history of %d operations: %s", len(history), result)
			}
		})
	}
}

// failSome makes every seventh commit fail, half of them after it took effect.
func failSome(driver *flaky) {
	n := 0
	driver.set(func(do func() error) error {
		n++
		switch n % 14 {
		case 7:
			return errDisk
		case 0:
			do()
			return errDisk
		}
		return do()
	})
}

type registers struct {
	s     *store.Store
	rows  *store.Table[register]
	write *store.Command[registerInput, bool]
}

func newRegisters(s *store.Store) *registers {
	c := &registers{s: s}
	c.rows = store.NewTable(s, store.TableSpec[register]{Name: "register", Key: func(r *register) string { return r.Key }})
	c.write = store.NewCommand(s, "register.write", func(tx *store.Tx, in registerInput) (bool, error) {
		if in.kind == "swap" && c.value(tx, in.key) != in.from {
			return false, nil
		}
		c.rows.Put(tx, &register{in.key, in.to})
		return true, nil
	})
	return c
}

func (c *registers) value(r store.Reader, key string) int {
	if row := c.rows.Get(r, key); row != nil {
		return row.Value
	}
	return 0
}

// history runs random operations of several clients and records what they saw.
func (c *registers) history(t *testing.T, clients, operations int) []porcupine.Operation {
	var mu sync.Mutex
	var history []porcupine.Operation
	var wg sync.WaitGroup
	start := time.Now()
	for client := range clients {
		wg.Go(func() {
			for i := range operations {
				in := registerInput{key: fmt.Sprint("k", (client+i)%3), kind: []string{"read", "swap", "write", "read"}[(i*7+client)%4],
					from: (i * 5) % 4, to: (i*11 + client) % 4}
				called := time.Since(start)
				out := c.act(t, in)
				returned := time.Since(start)
				if out.unknown {
					returned = time.Hour // it may take effect at any later time, or never
					if in.kind == "swap" {
						in.kind = "write" // whether it swapped is unknown as well
					}
				}
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: client, Input: in, Output: out,
					Call: int64(called), Return: int64(returned)})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return history
}

func (c *registers) act(t *testing.T, in registerInput) registerOutput {
	if in.kind == "read" {
		return registerOutput{value: c.value(c.s.View(), in.key)}
	}
	swapped, err := c.write.Do(t.Context(), in)
	return registerOutput{swapped: swapped, unknown: err != nil}
}
