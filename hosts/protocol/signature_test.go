package protocol

import (
	"crypto/ed25519"
	"encoding/base64"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/quick"
)

// key returns a key pair derived from a number.
func key(n byte) (ed25519.PublicKey, ed25519.PrivateKey) {
	private := ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune('a'+n)), ed25519.SeedSize)))
	return private.Public().(ed25519.PublicKey), private
}

// flips yields every text that differs from s in one bit.
func flips(s string, yield func(string)) {
	for bit := range len(s) * 8 {
		raw := []byte(s)
		raw[bit/8] ^= 1 << (bit % 8)
		yield(string(raw))
	}
}

// A signature is invalid if any one bit of the build is flipped.
func TestBuild_AnyFlippedBitIsRefused(t *testing.T) {
	t.Parallel()
	public, private := key(0)
	good := Build{ID: "build-1b671a64-40d5-491e-99b0-da01ff1f3341", SHA256: strings.Repeat("09af", 16), Size: 1 << 33, Format: "tar.gz"}.Sign(private)
	if err := good.Verify(public); err != nil {
		t.Fatal(err)
	}
	refused := func(member string, b Build) {
		if b.Verify(public) == nil {
			t.Errorf("%s: %+v passes", member, b)
		}
	}
	for _, member := range []string{"ID", "SHA256", "Format"} {
		flips(reflect.ValueOf(good).FieldByName(member).String(), func(text string) {
			b := good
			reflect.ValueOf(&b).Elem().FieldByName(member).SetString(text)
			refused(member, b)
		})
	}
	for bit := range 64 {
		b := good
		b.Size ^= 1 << bit
		refused("Size", b)
	}
	raw, err := base64.StdEncoding.DecodeString(good.Signature)
	if err != nil {
		t.Fatal(err)
	}
	flips(string(raw), func(text string) {
		b := good
		b.Signature = base64.StdEncoding.EncodeToString([]byte(text))
		refused("Signature", b)
	})
	flips(string(public), func(text string) {
		if good.Verify(ed25519.PublicKey(text)) == nil {
			t.Errorf("key %x verifies what another one signed", text)
		}
	})
}

// Each member of Build is signed, including any that is added later.
func TestBuild_EveryMemberIsSigned(t *testing.T) {
	t.Parallel()
	public, private := key(0)
	good := Build{ID: "b", SHA256: "s", Size: 5, Format: "zip"}.Sign(private)
	for n := range reflect.TypeFor[Build]().NumField() {
		b := good
		member := reflect.ValueOf(&b).Elem().Field(n)
		switch member.Kind() {
		case reflect.String:
			member.SetString(member.String() + "x")
		default:
			member.SetInt(member.Int() + 1)
		}
		if b.Verify(public) == nil {
			t.Errorf("%s may be anything", reflect.TypeFor[Build]().Field(n).Name)
		}
	}
}

// Two builds never have the same signed bytes, wherever one member ends and the
// next begins.
func TestBuild_SignedBytesAreUnambiguous(t *testing.T) {
	t.Parallel()
	public, private := key(0)
	same := func(id, sha, format string, size uint32, from, to uint8) bool {
		all := id + sha + format
		a, b := int(from)%(len(all)+1), int(to)%(len(all)+1)
		a, b = min(a, b), max(a, b)
		one := Build{ID: id, SHA256: sha, Format: format, Size: int64(size) + 1}.Sign(private)
		other := Build{ID: all[:a], SHA256: all[a:b], Format: all[b:], Size: one.Size, Signature: one.Signature}
		return one.Verify(public) == nil && (one == other) == (other.Verify(public) == nil)
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

// Verify says why a build cannot be verified.
func TestBuild_VerifySaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	public, private := key(0)
	other, _ := key(1)
	good := Build{ID: "b", SHA256: "s", Size: 5, Format: "zip"}.Sign(private)
	unsigned := good
	unsigned.Signature = ""
	garbage := good
	garbage.Signature = "no base64!"
	short := good
	short.Signature = base64.StdEncoding.EncodeToString(make([]byte, 1+rand.IntN(63)))
	for name, tt := range map[string]struct {
		build Build
		key   ed25519.PublicKey
		want  string
	}{
		"no key":       {good, nil, "does not know yet"},
		"half a key":   {good, public[:16], "does not know yet"},
		"another key":  {good, other, "another master key"},
		"no signature": {unsigned, public, "is missing"},
		"garbage":      {garbage, public, "is not Muster's"},
		"short":        {short, public, "is not Muster's"},
		"empty":        {Build{ID: "b", SHA256: "s", Format: "zip"}.Sign(private), public, "0 bytes"},
	} {
		if err := tt.build.Verify(tt.key); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
