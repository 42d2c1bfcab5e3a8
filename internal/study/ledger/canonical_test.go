package ledger

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// The expected texts are those of RFC 8785, sections 3.2.2 and 3.2.3 and appendix B.

func TestCanonicalJSONIsThatOfRFC8785(t *testing.T) {
	t.Parallel()
	cases := []struct{ text, want string }{
		{`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
		   "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`},
		{`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"},
		{`[-0, 0.0, "\b\f\t\u0000\u007f<>&\u2028", {}, []]`, "[0,0,\"\\b\\f\\t\\u0000\u007f<>&\u2028\",{},[]]"},
	}
	for _, c := range cases {
		got, err := canonicalJSON([]byte(c.text))
		if err != nil || string(got) != c.want {
			t.Errorf("%s\n got %s (%v)\nwant %s", c.text, got, err, c.want)
		}
	}
}

func TestCanonicalNumbersAreThoseOfECMAScript(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0", 0x0000000000000001: "5e-324", 0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308", 0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992", 0xc340000000000000: "-9007199254740992", 0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22", 0x44b52d02c7e14af6: "1e+23", 0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef4f: "999999999999999900000", 0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332", 0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333", 0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		x := math.Float64frombits(bits)
		got, err := appendNumber(nil, json.Number(strconv.FormatFloat(x, 'e', -1, 64)))
		if err != nil || string(got) != want {
			t.Errorf("%x: got %s (%v), want %s", bits, got, err, want)
		}
	}
}

func TestCanonicalJSONRefusesWhatHasTwoReadings(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `1 2`, `{"a":1}x`, `1e400`, `"\ud800"`, `"\ud800\u0041"`, `"\udc00\ud800"`, "\"\xff\"", ``, `[1,]`, `{"a"}`,
	} {
		if got, err := canonicalJSON([]byte(text)); err == nil {
			t.Errorf("%q became %s", text, got)
		}
	}
	if _, err := canonicalJSON([]byte(`"\\ud800 \ud83d\ude00"`)); err != nil {
		t.Errorf("an escaped backslash and a whole pair are no half pairs: %v", err)
	}
}

func TestCanonicalJSONKeepsTheValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]any{}
		for _, name := range rapid.SliceOfN(rapid.String(), 0, 6).Draw(t, "names") {
			value[name] = rapid.Float64().Draw(t, "number")
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		once, err := canonicalJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		var read map[string]any
		if err := json.Unmarshal(once, &read); err != nil {
			t.Fatal(err)
		}
		for name, x := range value {
			if read[name] != x {
				t.Fatalf("%q: %v became %v", name, x, read[name])
			}
		}
		if again, err := canonicalJSON(once); err != nil || string(again) != string(once) {
			t.Fatalf("%s became %s (%v)", once, again, err)
		}
	})
}
