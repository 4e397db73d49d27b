package console

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/test/chromium"
	"github.com/musterhq/muster/test/node"
)

// Where a deployment has several regions, the console shows the one in its address, and leads to
// the same page of another one. Where there is one region, nothing speaks of regions.
func TestRegions(t *testing.T) {
	t.Parallel()
	chromium.Needs(t, "the console in a browser")
	a := node.InProcess(t, func(o *app.Options) { o.Regions = []string{"us-east-1", "eu-central-1", "ap-northeast-1"} })
	for region, name := range map[string]string{"us-east-1": "hudson", "eu-central-1": "rhine"} {
		c := node.Client(a.URL(), func(o *gamelift.Options) { o.Region = region })
		where := aws.String("custom-" + name)
		if _, err := c.CreateLocation(t.Context(), &gamelift.CreateLocationInput{LocationName: where}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CreateFleet(t.Context(), &gamelift.CreateFleetInput{
			Name: &name, ComputeType: types.ComputeTypeAnywhere, Locations: []types.LocationConfiguration{{Location: where}},
			AnywhereConfiguration: &types.AnywhereConfiguration{Cost: aws.String("1")},
		}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	page := chromium.Open(t, ctx, a.URL()+"/regions/eu-central-1/console/fleets", "1280,720")
	page.Until(ctx, `document.querySelector("main")?.textContent.includes("rhine") && document.querySelector("select.region").value === "eu-central-1"`)
	page.Screenshot("regions.png")
	page.Until(ctx, `(() => {
		const picker = document.querySelector("select.region");
		picker.value = "us-east-1";
		picker.dispatchEvent(new Event("change"));
		return true;
	})()`)
	page.Until(ctx, `location.pathname === "/regions/us-east-1/console/fleets" && document.querySelector("main")?.textContent.includes("hudson")`)
	var others bool
	page.Await(`document.querySelector("main").textContent.includes("rhine")`, &others)
	if others {
		t.Error("the fleet of another region is shown")
	}
	one := node.InProcess(t, func(*app.Options) {})
	alone := chromium.Open(t, ctx, one.URL()+"/console/fleets", "1280,720")
	alone.Until(ctx, `document.querySelector("header.top") !== null && document.querySelector("select.region") === null`)
}
