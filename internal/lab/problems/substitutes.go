package problems

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// substituteSeed settles both tables for good.
const substituteSeed = 20221122

// SubstituteSensors is a made-up table in the shape of the light sensors' (41 sensors, 601
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

// SubstitutePrices is a made-up table in the shape of the stock prices' (29 stocks, 822 days):
// prices that revert slowly to a level of their own, driven by a common market and own shocks, both
// with Student's t of 3 degrees of freedom.
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

// rounded keeps two decimals.
func rounded(v float64) float64 { return math.Round(100*v) / 100 }
