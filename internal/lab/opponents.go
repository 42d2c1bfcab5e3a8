package lab

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"headroom/internal/lab/problems"
)

// opponent is an algorithm that only the simulator plays, on continuous problems with limits learned from readings.
type opponent struct {
	settings []string // names of the settings it takes
	make     func(e Experiment, in *problems.Instance, seed uint64, settings map[string]float64) (player[move], error)
}

var opponents = map[string]opponent{
	"admmbo":     {nil, newADMMBO},
	"oco-bandit": {[]string{"step", "exploration"}, newOCO},
}

// check tells what is wrong with an experiment for the opponent.
func (o opponent) check(e Experiment, in *problems.Instance) error {
	if in.Arms != nil || in.Sample != nil || in.Matrix != nil {
		return fmt.Errorf("%s plays continuous problems without a grid, with limits that are learned from readings", e.Algorithm)
	}
	if in.Delay > 0 {
		return fmt.Errorf("%s plays problems whose readings come at once", e.Algorithm)
	}
	_, err := o.read(e)
	return err
}

func (o opponent) start(e Experiment, in *problems.Instance, seed uint64) (player[move], error) {
	if err := o.check(e, in); err != nil {
		return nil, err
	}
	settings, err := o.read(e)
	if err != nil {
		return nil, err
	}
	return o.make(e, in, seed, settings)
}

// read reads the settings, all of them positive numbers.
func (o opponent) read(e Experiment) (map[string]float64, error) {
	settings := map[string]float64{}
	for name, raw := range e.Settings {
		if !slices.Contains(o.settings, name) {
			return nil, fmt.Errorf("%s has no setting %q; it has %s", e.Algorithm, name, listOr(o.settings, "none"))
		}
		var v float64
		if json.Unmarshal(raw, &v) != nil || !(v > 0) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("settings of %s: %s must be a positive number", e.Algorithm, name)
		}
		settings[name] = v
	}
	return settings, nil
}

func listOr(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ")
}
