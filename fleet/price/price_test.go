package price

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestList_FirstThatFits(t *testing.T) {
	t.Parallel()
	l := List{
		Currency:  "EUR",
		Instances: []Instance{{"c5.large", "custom-berlin", 0.10}, {"c5.large", "", 0.12}, {"", "custom-rome", 0.5}},
		Hosts:     []Host{{"gpu-*", "", 2}, {"", "custom-berlin", 0.3}},
	}
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		instanceType, location string
		want                   Micros
		ok                     bool
	}{
		{"c5.large", "custom-berlin", 100_000, true}, {"c5.large", "custom-rome", 120_000, true},
		{"c5.xlarge", "custom-rome", 500_000, true}, {"c5.xlarge", "custom-berlin", 0, false},
	} {
		if got, ok := l.Instance(c.instanceType, c.location); got != c.want || ok != c.ok {
			t.Errorf("an instance of type %s in %s costs %d, %t; want %d, %t", c.instanceType, c.location, got, ok, c.want, c.ok)
		}
	}
	for _, c := range []struct {
		name, location string
		want           Micros
		ok             bool
	}{{"gpu-1", "custom-berlin", 2_000_000, true}, {"cpu-1", "custom-berlin", 300_000, true}, {"cpu-1", "custom-rome", 0, false}} {
		if got, ok := l.Host(c.name, c.location); got != c.want || ok != c.ok {
			t.Errorf("the machine %s in %s costs %d, %t; want %d, %t", c.name, c.location, got, ok, c.want, c.ok)
		}
	}
}

func TestList_Check(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]List{
		"":               {},
		"currency":       {Hosts: []Host{{Hour: 1}}},
		"EUR":            {Currency: "euro"},
		"instances[0]":   {Currency: "EUR", Instances: []Instance{{Hour: -1}}},
		"within 0":       {Currency: "EUR", Instances: []Instance{{Hour: math.NaN()}}},
		"hosts[1]":       {Currency: "EUR", Hosts: []Host{{Hour: 1}, {Hour: 2e6}}},
		"hosts[0].name:": {Currency: "EUR", Hosts: []Host{{Name: "[", Hour: 1}}},
	} {
		if err := l.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error with %q", l, err, want)
		}
	}
}

func sizes(most int) *rapid.Generator[Size] {
	return rapid.Custom(func(t *rapid.T) Size {
		return Size{rapid.IntRange(0, most).Draw(t, "cpu"), rapid.IntRange(0, 4*most).Draw(t, "memory")}
	})
}

// However a machine is divided: nothing is paid twice or by nobody, nobody pays less than
// nothing, who takes more does not pay less, and the order does not matter.
func TestSplit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		price := micros(rapid.Float64Range(0, most).Draw(t, "price"))
		machine := sizes(1_000_000).Draw(t, "machine")
		instances := rapid.SliceOfN(sizes(rapid.SampledFrom([]int{10, 1000, 1_000_000}).Draw(t, "size")), 0, 40).Draw(t, "instances")
		parts, rest := Split(price, machine, instances)
		sum := rest
		for n, part := range parts {
			if part < 0 {
				t.Fatalf("instance %d pays %d", n, part)
			}
			sum += part
		}
		if sum != price || rest < 0 {
			t.Fatalf("parts %v and the rest %d are %d, not %d", parts, rest, sum, price)
		}
		for i := range instances {
			for j := range instances {
				if instances[i].CPUMillis >= instances[j].CPUMillis && instances[i].MemoryMiB >= instances[j].MemoryMiB && parts[i] < parts[j] {
					t.Fatalf("%+v pays %d, and %+v pays %d", instances[i], parts[i], instances[j], parts[j])
				}
			}
		}
		if len(instances) > 1 {
			turned := append(instances[1:len(instances):len(instances)], instances[0])
			again, restAgain := Split(price, machine, turned)
			if again[len(again)-1] != parts[0] || restAgain != rest {
				t.Fatalf("in another order %v pay %v and %d is the rest, not %v and %d", turned, again, restAgain, parts, rest)
			}
		}
	})
}

// Instances that fit pay the same whatever else is there, and equal halves pay half each.
func TestSplit_Known(t *testing.T) {
	t.Parallel()
	machine := Size{4000, 8192}
	parts, rest := Split(1_000_000, machine, []Size{{2000, 4096}})
	if parts[0] != 500_000 || rest != 500_000 {
		t.Errorf("half of a machine costs %d, and %d is the rest", parts[0], rest)
	}
	parts, rest = Split(1_000_000, machine, []Size{{2000, 4096}, {1000, 0}, {0, 2048}})
	if parts[0] != 500_000 || parts[1] != 125_000 || parts[2] != 125_000 || rest != 250_000 {
		t.Errorf("parts %v, rest %d", parts, rest)
	}
	parts, rest = Split(900_000, machine, []Size{{4000, 8192}, {4000, 8192}, {4000, 8192}})
	if parts[0] != 300_000 || parts[2] != 300_000 || rest != 0 {
		t.Errorf("on a machine that is promised three times: parts %v, rest %d", parts, rest)
	}
}
