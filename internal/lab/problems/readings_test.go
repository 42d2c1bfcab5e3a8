package problems

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"headroom/internal/must"
	"headroom/internal/mutation"
)

// FuzzReadings: a table is refused, or holds as many finite numbers in each row as there are arms.
func FuzzReadings(plain *testing.F) {
	f := mutation.Of(plain)
	rows := strings.Repeat("1,2.5\n-3e2,0\n", 5)
	for _, seed := range []string{"", "a,b\n" + rows, "a,b\n" + rows + "NaN,1\n", "a,b\n" + rows + "1\n", "a\n1\n", "\"a,b\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		table, err := ReadReadings(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, row := range table.Rows {
			if len(row) != len(table.Names) {
				t.Fatalf("a row of %d for %d arms", len(row), len(table.Names))
			}
			for _, value := range row {
				if math.IsNaN(value) || math.IsInf(value, 0) {
					t.Fatalf("%v was let in", value)
				}
			}
		}
	})
}

// TestReadingsOfASpreadsheet: the mark that spreadsheets begin a file with is no part of a name.
func TestReadingsOfASpreadsheet(t *testing.T) {
	if table := must.Get(ReadReadings(strings.NewReader("\ufeffa,b\n" + strings.Repeat("1,2\n", 10))))(t); table.Names[0] != "a" {
		t.Errorf("the first arm is called %q", table.Names[0])
	}
}

// table makes ten rows of some columns from a pattern of three.
func table(names []string, pattern [3][]float64) *Readings {
	r := &Readings{Names: names}
	for i := range 12 {
		r.Rows = append(r.Rows, pattern[i%3])
	}
	return r
}

// TestPriorReadings: the prior covariance is the correlation of one table, what is played the other
// one divided by its largest mean, with λ = 1.
func TestPriorReadings(t *testing.T) {
	names := []string{"a", "b", "c"}
	played := table(names, [3][]float64{{100, 210, 400}, {130, 190, 370}, {70, 200, 430}}) // means 100, 200, 400
	prior := table(names, [3][]float64{{1, 20, 3}, {2, 40, 2}, {3, 60, 1}})                // a and b rise together, c falls
	p := must.Get(Find("sensors"))(t)
	in := must.Get(p.New(1, played, prior))(t)
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %g, want %g", what, got, want)
		}
	}
	for i, row := range [][]float64{{1, 1, -1}, {1, 1, -1}, {-1, -1, 1}} {
		for j, want := range row {
			near("the correlation", in.Matrix[i][j], want)
		}
	}
	cost := make([]float64, 1)
	for i, mean := range []float64{0.25, 0.5, 1} {
		near("the reward", in.Reward(1, []float64{float64(i)}), mean)
		in.Costs(1, []float64{float64(i)}, cost)
		near("the cost", cost[0], 0.5-mean)
	}
	near("the prior's variance", in.Variance, 1)
	near("the noise's variance", in.Noise[0].Variance, (2*30*30+2*10*10+2*30*30)/9./(400*400))
	seen := map[float64]bool{}
	random := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		seen[math.Round(1000*in.Noise[0].Draw(random, []float64{0}))] = true
	}
	if len(seen) != 3 || !seen[0] || !seen[75] || !seen[-75] {
		t.Errorf("the noise of the first arm takes the values %v thousandths, want 0 and ±75", seen)
	}
	near("λ", in.Lambda, 1)
}

func TestPriorReadingsRefused(t *testing.T) {
	pattern := [3][]float64{{1, 2}, {2, 1}, {3, 5}}
	wide := [3][]float64{{1, 2, 3}, {2, 1, 3}, {3, 5, 4}}
	below := [3][]float64{{-1, -2}, {-2, -1}, {-3, -5}}
	played := table([]string{"a", "b"}, pattern)
	still := table([]string{"a", "b"}, [3][]float64{{1, 0.1}, {2, 0.1}, {3, 0.1}}) // whose mean is not 0.1 to the last bit
	for want, tables := range map[string][2]*Readings{
		`column 1 must be "a"`: {played, table([]string{"b", "a"}, pattern)},
		"1 columns more":       {played, table([]string{"a", "b", "c"}, wide)},
		"it must be positive":  {table([]string{"a", "b"}, below), played},
		`column 42 must be`:    {nil, nil},
		"takes no table":       {nil, played},
		"column b is constant": {still, nil},
	} {
		problem := "sensors"
		switch want {
		case "takes no table":
			problem = "queue"
		case `column 42 must be`:
			tables[0], tables[1] = SubstituteSensors(), SubstituteSensors()
			tables[0].Names = append(tables[0].Names, "one more")
			for i := range tables[0].Rows {
				tables[0].Rows[i] = append(tables[0].Rows[i], float64(i))
			}
		}
		p := must.Get(Find(problem))(t)
		if _, err := p.New(1, tables[0], tables[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a word about %s", err, want)
		}
	}
}
