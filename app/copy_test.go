package app_test

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/musterhq/muster/app"
)

// A region that has copies from the home region says how old they are; the home region has none.
func TestRegions_CopyAge(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { *o = options(t, func(o *app.Options) { o.Regions = threeRegions[:2] }) })
	_, text := get(t, "http://"+a.Addr().String()+"/metrics")
	found := regexp.MustCompile(`(?m)^muster_region_copy_age_seconds\{region="([^"]+)"\} (\S+)$`).FindAllStringSubmatch(text, -1)
	if len(found) != 1 || found[0][1] != threeRegions[1] {
		t.Fatalf("the ages are %q", found)
	}
	if age, err := strconv.ParseFloat(found[0][2], 64); err != nil || age <= 0 {
		t.Errorf("the age is %q, %v", found[0][2], err)
	}
}
