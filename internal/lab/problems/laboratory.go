package problems

import (
	"fmt"
	"math"
	"math/rand/v2"

	"headroom/internal/lists"
)

// Laboratory has the names and units of an instance's numbers. A reading of the objective is f(x),
// one of limit j is g_j(x) + Levels[j], both with noise: the limit holds while the reading is at
// most the level.
type Laboratory struct {
	Title, Objective, Unit string
	AxisUnits, LimitUnits  []string
	Levels                 []float64
	// Remainder, if not empty, names what the axes leave of 100: they are shares of a mixture, in
	// per cent.
	Remainder string
}

var laboratoryProblems = []Problem{
	// A → B → C in a stirred vessel: see reactionYields.
	{Name: "reaction", Horizon: 40, Source: "consecutive first-order reactions A → B → C, rates after Arrhenius: Levenspiel, Chemical Reaction Engineering (1999), chapter 8; constants made up",
		Summary: "yield of an intermediate, a limit on what it decomposes to, readings with noise",
		in: Instance{
			Axes:   []Axis{{"temperature", 30, 90, 0}, {"time", 10, 120, 0}, {"catalyst", 0.5, 5, 0}},
			Limits: []string{"impurity"},
			Reward: func(_ int, x []float64) float64 { b, _ := reactionYields(x); return b },
			Costs:  func(_ int, x, g []float64) { _, c := reactionYields(x); g[0] = c - 2 },
			Optima: []Optimum{{1, 79.2732462766, []float64{47.9635264564, 120, 1.9590613782}}},
			Safe:   [][]float64{{40, 60, 1}},
			Lab: &Laboratory{Title: "Reaction yield", Objective: "yield", Unit: "%", AxisUnits: []string{"°C", "min", "mol %"},
				LimitUnits: []string{"%"}, Levels: []float64{2}},
			Noise: gaussianWith(0.6, 0.05),
		}},
	// An emulsion of oil in water. It keeps longest with enough surfactant for its oil and with a
	// thick water phase, which polymer and oil make too thick to pour.
	{Name: "formulation", Horizon: 40, Source: "made up after the rules of thumb of emulsions",
		Summary: "stability of a mixture of four, a limit on its viscosity, readings with noise",
		in: Instance{
			Axes:   []Axis{{"polymer", 0.2, 5, 0}, {"surfactant", 1, 10, 0}, {"oil", 5, 35, 0}},
			Limits: []string{"viscosity"},
			Reward: func(_ int, x []float64) float64 {
				cover := x[1] - 0.5 - 0.16*x[2]
				return 60*(1-math.Exp(-x[0]/1.4)) + 30*math.Exp(-square(cover/2.2)) + 0.35*x[2] - 0.007*x[2]*x[2]
			},
			Costs:  func(_ int, x, g []float64) { g[0] = 8*math.Exp(0.9*x[0]+0.045*x[2]+0.04*x[1]) - 250 },
			Optima: []Optimum{{1, 86.8569513489, []float64{3.3101087532, 1.8664232672, 8.6281015012}}},
			Safe:   [][]float64{{1, 3, 15}},
			Lab: &Laboratory{Title: "Emulsion that pours", Objective: "stability", Unit: "days", AxisUnits: []string{"%", "%", "%"},
				LimitUnits: []string{"mPa·s"}, Levels: []float64{250}, Remainder: "water"},
			Noise: gaussianWith(1.2, 6),
		}},
	// A lathe. A part takes its cutting time ∝ 1/(v·f) and its share of a tool change, tools
	// lasting T ∝ v^{−4} f^{−2.5} minutes; the tool is heated by v^{0.7} f^{0.4} and cooled by the
	// coolant, of which too much costs time to clear away.
	{Name: "machine", Horizon: 40, Source: "Taylor's tool life with made-up constants, F. W. Taylor: On the Art of Cutting Metals (1907)",
		Summary: "parts per hour of a lathe, a limit on the temperature of its tool, readings with noise",
		in: Instance{
			Axes:   []Axis{{"cutting speed", 60, 300, 5}, {"feed", 0.05, 0.5, 0}, {"coolant", 0, 20, 0}},
			Limits: []string{"tool temperature"},
			Reward: func(_ int, x []float64) float64 {
				cut := 60 / (x[0] * x[1])                                                    // minutes a part
				change := 5 * cut / (6 * math.Pow(x[0]/200, -4) * math.Pow(x[1]/0.25, -2.5)) // minutes a part
				return 60 / (1 + cut + change + 0.0015*x[2]*x[2])
			},
			Costs: func(_ int, x, g []float64) {
				g[0] = 25 + 14*math.Pow(x[0], 0.7)*math.Pow(x[1], 0.4)/(1+0.04*x[2]) - 220
			},
			Optima: []Optimum{{1, 22.5632455327, []float64{90, 0.5, 6.7388503291}}},
			Safe:   [][]float64{{100, 0.1, 10}},
			Lab: &Laboratory{Title: "Lathe at its limit", Objective: "output", Unit: "parts/h", AxisUnits: []string{"m/min", "mm", "l/min"},
				LimitUnits: []string{"°C"}, Levels: []float64{220}},
			Noise: gaussianWith(0.3, 3),
		}},
}

// gaussianWith returns normal noise with these standard deviations, the objective's first.
func gaussianWith(deviations ...float64) []Noise {
	return lists.Map(deviations, func(sd float64) Noise { return Gaussian(sd * sd) })
}

// reactionYields returns how much there is of B and C, in per cent. With the rates k₁ and k₂, which
// follow Arrhenius and rise with the catalyst, after time t there is
//
//	B = k₁/(k₂ − k₁)·(e^{−k₁t} − e^{−k₂t}),   C = 1 − e^{−k₁t} − B.
//
// The second step has the larger activation energy, and the catalyst promotes it more where there
// is much of it.
func reactionYields(x []float64) (b, c float64) {
	const kelvin, gas, reference = 273.15, 8.314e-3, 333.15 // K, kJ/(mol K), K
	arrhenius := func(energy float64) float64 {
		return math.Exp(energy / gas * (1/reference - 1/(x[0]+kelvin)))
	}
	first := 0.03 * x[2] / 2 * arrhenius(55)
	second := 0.0005 * (1 + math.Pow(x[2]/2, 3)) * arrhenius(80)
	b = first / (second - first) * (math.Exp(-first*x[1]) - math.Exp(-second*x[1]))
	return 100 * b, 100 * (1 - math.Exp(-first*x[1]) - b)
}

// substituteSeed is the seed of both tables.
const substituteSeed = 20221122

// SubstituteSensors returns a made-up table in the shape of the light sensors' (41 sensors, 601
// moments), which may not be passed on: sensors scattered over a floor of 40 m × 30 m, brighter
// near a row of windows, following the day together, each with autocorrelated noise of its own.
func SubstituteSensors() *Readings {
	const sensors, moments = 41, 601
	random := rand.New(rand.NewPCG(substituteSeed, 1))
	level, daylight, rest := make([]float64, sensors), make([]float64, sensors), make([]float64, sensors)
	table := &Readings{}
	for i := range sensors {
		depth := 30 * random.Float64() // metres from the windows
		daylight[i] = 400 * math.Exp(-depth/8)
		level[i] = 15 + 80*random.Float64()
		table.Names = append(table.Names, fmt.Sprintf("sensor%d", i+1))
	}
	cloud := 0.0
	for t := range moments {
		sun := math.Max(0, math.Sin(2*math.Pi*float64(t)/150))
		cloud = 0.95*cloud + 0.1*random.NormFloat64()
		row := make([]float64, sensors)
		for i := range row {
			rest[i] = 0.7*rest[i] + 6*random.NormFloat64()
			row[i] = rounded(math.Max(0, level[i]+daylight[i]*sun*math.Exp(-cloud*cloud)+rest[i]))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// SubstitutePrices returns a made-up table in the shape of the stock prices' (29 stocks, 822 days):
// prices that revert slowly to a level of their own, driven by a common market and own shocks, both
// with Student's t distribution with 3 degrees of freedom.
func SubstitutePrices() *Readings {
	const stocks, days = 29, 822
	random := rand.New(rand.NewPCG(substituteSeed, 2))
	shock := student(1)
	table := &Readings{}
	level, exposure, state := make([]float64, stocks), make([]float64, stocks), make([]float64, stocks)
	for i := range stocks {
		level[i] = math.Log(30) + math.Log(200./30)*random.Float64()
		exposure[i] = 0.5 + random.Float64()
		table.Names = append(table.Names, fmt.Sprintf("stock%d", i+1))
	}
	for range days {
		market := shock.Draw(random, nil)
		row := make([]float64, stocks)
		for i := range row {
			state[i] = 0.99*state[i] + 0.008*exposure[i]*market + 0.012*shock.Draw(random, nil)
			row[i] = rounded(math.Exp(level[i] + state[i]))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// rounded returns v with two decimals.
func rounded(v float64) float64 { return math.Round(100*v) / 100 }
