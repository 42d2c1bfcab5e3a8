package design

import (
	"math"
	"testing"
)

func TestOneDefinitionOfALimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		op     string
		value  float64
		excess float64
		holds  bool
	}{
		{"<=", 6, -1, true}, {"<=", 7, 0, true}, {"<=", 9, 2, false},
		{">=", 6, 1, false}, {">=", 7, 0, true}, {">=", 9, -2, true},
	} {
		c := Constraint{Metric: "pH", Op: test.op, Threshold: 7}
		if c.Excess(test.value) != test.excess || c.Holds(test.value) != test.holds {
			t.Errorf("%v against %s 7: excess %v, holds %v", test.value, test.op, c.Excess(test.value), c.Holds(test.value))
		}
	}
}

func TestHeadroomIsToTheNearestLimit(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	for value, want := range map[float64]float64{7.25: 0.25, 7.75: 0.25, 6.5: -0.5, 8.5: -0.5, 8: 0, 7: 0} {
		got := d.Headroom("pH", value)
		if got == nil || *got != want || math.Signbit(*got) && want == 0 { // −0 would be shown as "-0"
			t.Errorf("headroom of %v is %v", value, *got)
		}
	}
	if got := d.Headroom("yield", 3); got != nil {
		t.Errorf("nothing limits the yield, yet its headroom is %v", *got)
	}
}
