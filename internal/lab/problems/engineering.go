package problems

import "math"

var engineeringProblems = []Problem{
	{Name: "pressure-vessel", Horizon: 200, Source: "Coello, Montes (2002), problem 3",
		Summary: "cost of a vessel, four limits, two thicknesses in steps of 1/16 inch",
		in: Instance{
			Axes: []Axis{{"shell", 0.0625, 6.1875, 0.0625}, {"head", 0.0625, 6.1875, 0.0625},
				{"radius", 10, 200, 0}, {"length", 10, 200, 0}},
			Limits: []string{"shell stress", "head stress", "volume", "length limit"},
			Reward: func(_ int, x []float64) float64 {
				return -(0.6224*x[0]*x[2]*x[3] + 1.7781*x[1]*x[2]*x[2] + 3.1661*x[0]*x[0]*x[3] + 19.84*x[0]*x[0]*x[2])
			},
			Costs: func(_ int, x, g []float64) {
				g[0] = 0.0193*x[2] - x[0]
				g[1] = 0.00954*x[2] - x[1]
				g[2] = 1_296_000 - math.Pi*x[2]*x[2]*x[3] - 4./3*math.Pi*x[2]*x[2]*x[2]
				g[3] = x[3] - 240
			},
			Optima: []Optimum{{1, -6059.714335, []float64{0.8125, 0.4375, 42.0984455958, 176.6365958424}}},
			Safe:   [][]float64{{2, 2, 80, 150}},
		}},
	{Name: "speed-reducer", Horizon: 200, Source: "Golinski (1970); Mezura-Montes, Coello (2005)",
		Summary: "weight of a gearbox, seven parameters, eleven limits",
		in: Instance{
			Axes: []Axis{{"face width", 2.6, 3.6, 0}, {"module", 0.7, 0.8, 0}, {"teeth", 17, 28, 1}, {"length 1", 7.3, 8.3, 0},
				{"length 2", 7.3, 8.3, 0}, {"diameter 1", 2.9, 3.9, 0}, {"diameter 2", 5, 5.5, 0}},
			Limits: []string{"bending", "surface", "deflection 1", "deflection 2", "stress 1", "stress 2", "pitch", "width least", "width most", "shaft 1", "shaft 2"},
			Reward: func(_ int, x []float64) float64 {
				return -(0.7854*x[0]*x[1]*x[1]*(3.3333*x[2]*x[2]+14.9334*x[2]-43.0934) - 1.508*x[0]*(x[5]*x[5]+x[6]*x[6]) +
					7.4777*(math.Pow(x[5], 3)+math.Pow(x[6], 3)) + 0.7854*(x[3]*x[5]*x[5]+x[4]*x[6]*x[6]))
			},
			Costs: func(_ int, x, g []float64) {
				g[0] = 27/(x[0]*x[1]*x[1]*x[2]) - 1
				g[1] = 397.5/(x[0]*x[1]*x[1]*x[2]*x[2]) - 1
				g[2] = 1.93*math.Pow(x[3], 3)/(x[1]*x[2]*math.Pow(x[5], 4)) - 1
				g[3] = 1.93*math.Pow(x[4], 3)/(x[1]*x[2]*math.Pow(x[6], 4)) - 1
				g[4] = math.Sqrt(square(745*x[3]/(x[1]*x[2]))+16.9e6)/(110*math.Pow(x[5], 3)) - 1
				g[5] = math.Sqrt(square(745*x[4]/(x[1]*x[2]))+157.5e6)/(85*math.Pow(x[6], 3)) - 1
				g[6] = x[1]*x[2]/40 - 1
				g[7] = 5*x[1]/x[0] - 1
				g[8] = x[0]/(12*x[1]) - 1
				g[9] = (1.5*x[5]+1.9)/x[3] - 1
				g[10] = (1.1*x[6]+1.9)/x[4] - 1
			},
			Optima: []Optimum{{1, -2994.471066, []float64{3.5, 0.7, 17, 7.3, 7.715319911, 3.350214666, 5.286654465}}},
			Safe:   [][]float64{{3.55, 0.7, 17, 7.9, 8, 3.6, 5.4}},
		}},
	{Name: "tension-spring", Horizon: 200, Source: "Coello, Montes (2002), problem 2",
		Summary: "weight of a spring, three parameters, four limits of very different steepness",
		in: Instance{
			Axes:   []Axis{{"wire", 0.05, 2, 0}, {"coil", 0.25, 1.3, 0}, {"turns", 2, 15, 0}},
			Limits: []string{"deflection", "shear", "surge", "outer diameter"},
			Reward: func(_ int, x []float64) float64 { return -(x[2] + 2) * x[1] * x[0] * x[0] },
			Costs: func(_ int, x, g []float64) {
				d, D, n := x[0], x[1], x[2]
				g[0] = 1 - D*D*D*n/(71785*d*d*d*d)
				g[1] = (4*D*D-d*D)/(12566*(D*d*d*d-d*d*d*d)) + 1/(5108*d*d) - 1
				g[2] = 1 - 140.45*d/(D*D*n)
				g[3] = (d+D)/1.5 - 1
			},
			Optima: []Optimum{{1, -0.0126652328, []float64{0.0516890614, 0.3567177470, 11.2889653}}},
			Safe:   [][]float64{{0.055, 0.4, 11}},
		}},
	// A bar of length L welded to a wall, loaded by P at its end: weld thickness h and length l,
	// bar height t and thickness b, in inches.
	{Name: "welded-beam", Horizon: 200, Source: "Rao (1996); Coello, Montes (2002), problem 1",
		Summary: "cost of a beam, four parameters, seven limits in units from inches to pounds per square inch",
		in: Instance{
			Axes:   []Axis{{"weld thickness", 0.1, 2, 0}, {"weld length", 0.1, 10, 0}, {"bar height", 0.1, 10, 0}, {"bar thickness", 0.1, 2, 0}},
			Limits: []string{"shear stress", "bending stress", "side", "weld cost", "least weld", "deflection", "buckling load"},
			Reward: func(_ int, x []float64) float64 {
				return -(1.10471*x[0]*x[0]*x[1] + 0.04811*x[2]*x[3]*(14+x[1]))
			},
			Costs: func(_ int, x, g []float64) {
				h, l, t, b := x[0], x[1], x[2], x[3]
				radius := math.Sqrt(l*l/4 + square((h+t)/2))
				moment := load * (length + l/2)
				polar := 2 * math.Sqrt2 * h * l * (l*l/12 + square((h+t)/2))
				primary, torsion := load/(math.Sqrt2*h*l), moment*radius/polar
				g[0] = math.Sqrt(primary*primary+primary*torsion*l/radius+torsion*torsion) - 13_600
				g[1] = 6*load*length/(b*t*t) - 30_000
				g[2] = h - b
				g[3] = 0.10471*h*h + 0.04811*t*b*(14+l) - 5
				g[4] = 0.125 - h
				g[5] = 4*load*math.Pow(length, 3)/(young*t*t*t*b) - 0.25
				g[6] = load - 4.013*young*math.Sqrt(t*t*math.Pow(b, 6)/36)/(length*length)*(1-t/(2*length)*math.Sqrt(young/(4*shear)))
			},
			Optima: []Optimum{{1, -1.7248523086, []float64{0.205729639786, 3.470488665628, 9.036623910358, 0.205729639786}}},
			Safe:   [][]float64{{0.3, 4, 9, 0.35}},
		}},
}

// Constants of the welded beam: P in lb, L in inches, E and G in psi.
const load, length, young, shear = 6000, 14, 30e6, 12e6
