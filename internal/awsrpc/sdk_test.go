package awsrpc_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/fault"
)

// newSDK returns AWS's Go client (which speaks CBOR) for a server.
func newSDK(t *testing.T, srv *awsrpc.Server) *sdk.Client {
	t.Helper()
	web := httptest.NewServer(srv)
	t.Cleanup(web.Close)
	return sdk.New(sdk.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(web.URL),
		Credentials:  credentials.NewStaticCredentialsProvider("AKIDTEST", "secret", "token"),
		Retryer:      aws.NopRetryer{},
	})
}

// callSDK calls the client's method for an operation.
func callSDK(client *sdk.Client, operation string, in reflect.Value) (reflect.Value, error) {
	method := reflect.ValueOf(client).MethodByName(operation)
	out := method.Call([]reflect.Value{reflect.ValueOf(context.Background()), in})
	err, _ := out[1].Interface().(error)
	return out[0], err
}

// sdkInput returns the operation's input with every member set.
func sdkInput(client *sdk.Client, operation string) reflect.Value {
	t := reflect.ValueOf(client).MethodByName(operation).Type().In(1)
	in := reflect.New(t.Elem())
	fill(in.Elem(), operation)
	return in
}

// fill sets every member to a value derived from its path; lists and maps get one
// element.
func fill(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path)
	case reflect.Struct:
		switch t := v.Addr().Interface().(type) {
		case *time.Time:
			*t = time.UnixMilli(1469498468057).UTC()
			return
		case *gamelift.Time:
			t.Time = time.UnixMilli(1469498468057).UTC()
			return
		}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && f.Name != "ResultMetadata" {
				fill(v.Field(i), path+"."+f.Name)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path)
	case reflect.Map:
		elem := reflect.New(v.Type().Elem()).Elem()
		fill(elem, path)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key é"), elem)
	case reflect.String:
		v.SetString("value of " + path + " ✓")
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(len(path)) * 1000)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(len(path)) + 0.25)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(200)
	default:
		panic(fmt.Sprintf("%s: no value for a %v", path, v.Type()))
	}
}

// differences lists where two structures of the same API type differ.
func differences(ours, theirs reflect.Value, path string) []string {
	if ours.Kind() == reflect.Pointer && theirs.Kind() == reflect.Pointer {
		if ours.IsNil() || theirs.IsNil() {
			if ours.IsNil() != theirs.IsNil() {
				return []string{fmt.Sprintf("%s: nil is %v in ours, %v in theirs", path, ours.IsNil(), theirs.IsNil())}
			}
			return nil
		}
		return differences(ours.Elem(), theirs.Elem(), path)
	}
	if ours.Kind() == reflect.Pointer { // the SDK keeps enumerations as plain strings
		if ours.IsNil() {
			return []string{path + ": missing in ours"}
		}
		return differences(ours.Elem(), theirs, path)
	}
	if t, ok := ours.Interface().(gamelift.Time); ok {
		if u := theirs.Interface().(time.Time); !t.Equal(u) {
			return []string{fmt.Sprintf("%s: %v is not %v", path, t, u)}
		}
		return nil
	}
	var found []string
	switch ours.Kind() {
	case reflect.Struct:
		for i := range ours.NumField() {
			name := ours.Type().Field(i).Name
			f := theirs.FieldByName(name)
			if !f.IsValid() {
				found = append(found, path+"."+name+": not in the SDK")
				continue
			}
			found = append(found, differences(ours.Field(i), f, path+"."+name)...)
		}
	case reflect.Slice:
		if ours.Len() != theirs.Len() {
			return []string{fmt.Sprintf("%s: %d elements, not %d", path, ours.Len(), theirs.Len())}
		}
		for i := range ours.Len() {
			found = append(found, differences(ours.Index(i), theirs.Index(i), path+"[]")...)
		}
	case reflect.Map:
		if ours.Len() != theirs.Len() {
			return []string{fmt.Sprintf("%s: %d entries, not %d", path, ours.Len(), theirs.Len())}
		}
		for it := ours.MapRange(); it.Next(); {
			other := theirs.MapIndex(it.Key())
			if !other.IsValid() {
				return []string{fmt.Sprintf("%s: no key %q", path, it.Key())}
			}
			found = append(found, differences(it.Value(), other, path+"{}")...)
		}
	default:
		if fmt.Sprint(ours.Interface()) != fmt.Sprint(theirs.Interface()) {
			return []string{fmt.Sprintf("%s: %v is not %v", path, ours.Interface(), theirs.Interface())}
		}
	}
	return found
}

// newer are the members that the API has and this version of AWS's Go client has not.
var newer = regexp.MustCompile(`(\.LinuxCapabilities|^DescribeContainerGroupPortMappings output\.FleetArn): not in the SDK$`)

// Every member of every operation arrives in both directions with AWS's Go client.
func TestSDK_EveryMemberOfEveryOperation(t *testing.T) {
	srv := newServer(t, awsrpc.Options{})
	client := newSDK(t, srv)
	var got any
	for _, op := range gamelift.API().Operations {
		srv.HandleUnchecked(op.Name, func(_ context.Context, in any) (any, error) {
			got = in
			out := op.NewOutput()
			fill(reflect.ValueOf(out).Elem(), op.Name)
			return out, nil
		})
	}
	for _, op := range gamelift.API().Operations {
		in := sdkInput(client, op.Name)
		out, err := callSDK(client, op.Name, in)
		if err != nil {
			t.Errorf("%s: %v", op.Name, err)
			continue
		}
		found := differences(reflect.ValueOf(got), in, op.Name+" input")
		want := op.NewOutput()
		fill(reflect.ValueOf(want).Elem(), op.Name)
		for _, d := range append(found, differences(reflect.ValueOf(want), out, op.Name+" output")...) {
			if !newer.MatchString(d) {
				t.Error(d)
			}
		}
	}
}

// An operation without a handler returns an exception that it models.
func TestSDK_UnavailableOperations(t *testing.T) {
	client := newSDK(t, newServer(t, awsrpc.Options{}))
	for _, op := range gamelift.API().Operations {
		_, err := callSDK(client, op.Name, sdkInput(client, op.Name))
		want := "InvalidRequestException"
		if op.Models(fault.UnsupportedRegion) {
			want = "UnsupportedRegionException"
		}
		apiErr, ok := errors.AsType[smithy.APIError](err)
		if !ok || apiErr.ErrorCode() != want {
			t.Errorf("%s: got %v, want %s", op.Name, err, want)
			continue
		}
		if _, generic := apiErr.(*smithy.GenericAPIError); generic {
			t.Errorf("%s: %s is no typed error", op.Name, want)
		}
		if text := apiErr.ErrorMessage(); !strings.Contains(text, op.Name+" is not available") {
			t.Errorf("%s: message %q does not say so", op.Name, text)
		}
	}
}

func TestSDK_Errors(t *testing.T) {
	srv := newServer(t, awsrpc.Options{})
	client := newSDK(t, srv)
	var answer error
	awsrpc.Handle(srv, "DescribeAlias", func(context.Context, *gamelift.DescribeAliasInput) (*gamelift.DescribeAliasOutput, error) {
		return nil, answer
	})
	call := func() error {
		_, err := client.DescribeAlias(context.Background(), &sdk.DescribeAliasInput{AliasId: aws.String("alias-1")})
		return err
	}

	answer = fault.Missing("alias %q: there is none", "alias-1")
	if e, ok := errors.AsType[*types.NotFoundException](call()); !ok || e.ErrorMessage() != `alias "alias-1": there is none` {
		t.Errorf("modelled fault: got %v", e)
	}
	answer = fault.New(fault.Throttling, "slower")
	if e, ok := errors.AsType[smithy.APIError](call()); !ok || e.ErrorCode() != "ThrottlingException" || e.ErrorMessage() != "slower" {
		t.Errorf("front-door fault: got %v", e)
	}
	answer = fault.New(fault.LimitExceeded, "too many")
	if e, ok := errors.AsType[*types.InvalidRequestException](call()); !ok || e.ErrorMessage() != "too many" {
		t.Errorf("fault that DescribeAlias does not model: got %v", e)
	}
	answer = errors.New("disk on fire")
	if e, ok := errors.AsType[*types.InternalServiceException](call()); !ok || strings.Contains(e.ErrorMessage(), "fire") {
		t.Errorf("plain error: got %v", e)
	}
	answer = nil
	if err := call(); err != nil {
		t.Errorf("nil output and nil error: got %v", err)
	}
}

// Both protocols encode and decode every member of every operation.
func TestCodecs_EveryOperation(t *testing.T) {
	srv := newServer(t, awsrpc.Options{})
	for _, protocol := range []string{"json", "cbor"} {
		for _, op := range gamelift.API().Operations {
			for _, make := range []func() any{op.NewInput, op.NewOutput} {
				in, out := make(), make()
				fill(reflect.ValueOf(in).Elem(), `"<&>"`)
				if err := srv.Again(protocol, in, out); err != nil {
					t.Fatalf("%s %T: %v", protocol, in, err)
				}
				if d := cmp.Diff(in, out); d != "" {
					t.Errorf("%s %T: %s", protocol, in, d)
				}
			}
		}
	}
}
