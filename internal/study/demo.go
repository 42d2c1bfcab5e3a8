package study

import "headroom/internal/study/design"

// DemoTrials is how many trials the simulated lab runs when the demo study is made.
const DemoTrials = 24

// DemoMishaps are what happens in labs, and in the demo study's.
var DemoMishaps = []Mishap{
	{Number: 6, Metric: "yield", Factor: 0.1, Reason: "the decimal point was one place off"},
	{Number: 11, Exclude: true, Reason: "the stirrer had stopped, as its log says"},
}

// Demo is the study that a newcomer looks around in: the reaction.
func Demo() (design.Definition, error) {
	lab, err := design.FindSimulatedLab("reaction")
	if err != nil {
		return design.Definition{}, err
	}
	d := lab.Study()
	d.Name, d.Seed = "Demo: reaction yield", 7
	d.Description = "A study to look around in. **Nobody measured this**: a simulated lab reads a made-up reaction A → B → C with noise. " +
		"It mistypes the yield of trial 6 and corrects it, and takes trial 11 out. Ask for more trials, answer them yourself or let the simulated lab do it."
	return d, nil
}
