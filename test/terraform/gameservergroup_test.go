package terraform

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/test/node"
)

// TestGameServerGroup sends what the provider's resource aws_gamelift_game_server_group sends
// in its life, in that order, and makes the decisions that it makes by the responses.
func TestGameServerGroup(t *testing.T) {
	t.Parallel()
	server := node.InProcess(t, nil)
	ctx, c := t.Context(), node.Client(server.URL())
	created := node.Must(c.CreateGameServerGroup(ctx, &gamelift.CreateGameServerGroupInput{
		GameServerGroupName: aws.String("arena"), RoleArn: aws.String("arn:aws:iam::000000000000:role/r"), MinSize: aws.Int32(1), MaxSize: aws.Int32(4),
		LaunchTemplate:      &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("machines"), Version: aws.String("3")},
		InstanceDefinitions: []types.InstanceDefinition{{InstanceType: "c5.large"}, {InstanceType: "c5.xlarge", WeightedCapacity: aws.String("2")}},
		AutoScalingPolicy: &types.GameServerGroupAutoScalingPolicy{
			EstimatedInstanceWarmup: aws.Int32(60), TargetTrackingConfiguration: &types.TargetTrackingConfiguration{TargetValue: aws.Float64(66.5)},
		},
		Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
	}))(t)
	read, err := c.DescribeGameServerGroup(ctx, &gamelift.DescribeGameServerGroupInput{GameServerGroupName: aws.String("arena")})
	if err != nil || read.GameServerGroup.Status != types.GameServerGroupStatusActive {
		t.Fatalf("%+v, %v", read, err)
	}
	_, name, ok := strings.Cut(*created.GameServerGroup.AutoScalingGroupArn, "/")
	if !ok {
		t.Fatalf("the provider finds no name in %s", *created.GameServerGroup.AutoScalingGroupArn)
	}

	var groups struct {
		Members []struct {
			AutoScalingGroupARN string
			MinSize, MaxSize    int
			Template            struct{ LaunchTemplateId, LaunchTemplateName, Version string } `xml:"MixedInstancesPolicy>LaunchTemplate>LaunchTemplateSpecification"`
		} `xml:"DescribeAutoScalingGroupsResult>AutoScalingGroups>member"`
	}
	scaling(t, server.URL(), &groups, http.StatusOK, "Action", "DescribeAutoScalingGroups", "AutoScalingGroupNames.member.1", name)
	if len(groups.Members) != 1 {
		t.Fatalf("the provider finds no Auto Scaling group %s", name)
	}
	g := groups.Members[0]
	if g.AutoScalingGroupARN != *read.GameServerGroup.AutoScalingGroupArn || g.MinSize != 1 || g.MaxSize != 4 || g.Template.LaunchTemplateName != "machines" ||
		g.Template.Version != "3" || g.Template.LaunchTemplateId != "" {
		t.Errorf("the provider would plan a change of %+v", g)
	}
	var policies struct {
		Members []struct {
			PolicyName              string
			EstimatedInstanceWarmup int
			TargetValue             float64 `xml:"TargetTrackingConfiguration>TargetValue"`
		} `xml:"DescribePoliciesResult>ScalingPolicies>member"`
	}
	scaling(t, server.URL(), &policies, http.StatusOK, "Action", "DescribePolicies", "AutoScalingGroupName", name, "PolicyNames.member.1", "arena")
	if len(policies.Members) != 1 || policies.Members[0].EstimatedInstanceWarmup != 60 || policies.Members[0].TargetValue != 66.5 {
		t.Errorf("the provider would plan a change of %+v", policies)
	}

	node.Must(c.DeleteGameServerGroup(ctx, &gamelift.DeleteGameServerGroupInput{GameServerGroupName: aws.String("arena")}))(t)
	for {
		_, err := c.DescribeGameServerGroup(ctx, &gamelift.DescribeGameServerGroupInput{GameServerGroupName: aws.String("arena")})
		if gone := (*types.NotFoundException)(nil); errors.As(err, &gone) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	groups.Members = nil
	scaling(t, server.URL(), &groups, http.StatusOK, "Action", "DescribeAutoScalingGroups", "AutoScalingGroupNames.member.1", name)
	if len(groups.Members) != 0 {
		t.Errorf("a deleted group has an Auto Scaling group: %+v", groups)
	}
}

// What is not served is refused in the form that the API's clients read.
func TestAutoScaling_Refused(t *testing.T) {
	t.Parallel()
	url := node.InProcess(t, nil).URL()
	for _, c := range []struct {
		form []string
		code string
	}{
		{[]string{"Action", "DeleteAutoScalingGroup", "AutoScalingGroupName", "gamelift-gameservergroup-arena"}, "InvalidAction"},
		{[]string{"Action", "DescribeAutoScalingGroups", "MaxRecords", "1000"}, "ValidationError"},
		{[]string{"Action", "DescribeAutoScalingGroups", "Filters.member.1.Name", "tag-key"}, "ValidationError"},
		{[]string{"Action", "DescribePolicies"}, "ValidationError"},
	} {
		var refusal struct {
			Code      string `xml:"Error>Code"`
			Message   string `xml:"Error>Message"`
			RequestId string
		}
		scaling(t, url, &refusal, http.StatusBadRequest, c.form...)
		if refusal.Code != c.code || refusal.Message == "" || refusal.RequestId == "" {
			t.Errorf("%v: %+v, want code %s", c.form, refusal, c.code)
		}
	}
}

// scaling sends a request of the Auto Scaling API, and decodes the response.
func scaling(t *testing.T, to string, out any, status int, form ...string) {
	t.Helper()
	values := url.Values{"Version": {"2011-01-01"}}
	for i := 0; i < len(form); i += 2 {
		values.Set(form[i], form[i+1])
	}
	q := node.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, to+"/", strings.NewReader(values.Encode())))(t)
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	q.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=ANY/20260101/us-east-1/autoscaling/aws4_request, SignedHeaders=host, Signature=0")
	back := node.Must(http.DefaultClient.Do(q))(t)
	defer back.Body.Close()
	text, err := io.ReadAll(back.Body)
	if err == nil {
		err = xml.Unmarshal(text, out)
	}
	if err != nil || back.StatusCode != status {
		t.Fatalf("%v: status %d, %v\n%s", form, back.StatusCode, err, text)
	}
}

const gameServerGroup = `
resource "aws_gamelift_game_server_group" "arena" {
  game_server_group_name        = "arena"
  role_arn                      = "arn:aws:iam::000000000000:role/any"
  min_size                      = 0
  max_size                      = 4
  game_server_protection_policy = "PROTECTION"
  launch_template {
    name    = "machines"
    version = "1"
  }
  instance_definition {
    instance_type = "c5.large"
  }
  instance_definition {
    instance_type     = "c5.xlarge"
    weighted_capacity = "2"
  }
  auto_scaling_policy {
    estimated_instance_warmup = 60
    target_tracking_configuration {
      target_value = 75
    }
  }
}
resource "aws_gamelift_game_server_group" "plain" {
  game_server_group_name = "plain"
  role_arn               = "arn:aws:iam::000000000000:role/any"
  min_size               = 1
  max_size               = 1
  launch_template {
    id = "lt-0123456789abcdef0"
  }
  instance_definition {
    instance_type = "c5.large"
  }
  instance_definition {
    instance_type = "c5.xlarge"
  }
}
`

// Terraform itself creates, changes and destroys game server groups, and a plan after each
// apply is empty.
func TestGameServerGroup_Terraform(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.apply(strings.ReplaceAll(gameServerGroup, "PROTECTION", "NO_PROTECTION"))
	w.apply(strings.ReplaceAll(gameServerGroup, "PROTECTION", "FULL_PROTECTION"))
	w.run("destroy", "-no-color", "-input=false", "-auto-approve")
	if code, out := w.try("state", "list"); code != 0 || strings.TrimSpace(out) != "" {
		t.Errorf("left after destroy (exit code %d):\n%s", code, out)
	}
}
