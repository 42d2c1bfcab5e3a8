package study

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"headroom/internal/derived"
	"headroom/internal/lists"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// simulating is the task of a simulated laboratory, which asks for trials through the service and
// tells what its problem reads there. Its progress counts trials.
var simulating = derived.Task{Kind: "simulated lab", Limit: 5 * time.Minute, AtOnce: 4}

// Mishap is a mistake that a simulated laboratory makes on purpose at trial Number, as an example:
// it tells Factor times the reading of Metric and corrects that at once, and with Exclude it
// excludes the trial. Reason is the reason it gives.
type Mishap struct {
	Number  int
	Metric  string
	Factor  float64
	Exclude bool
	Reason  string
}

// Simulate has the study's simulated laboratory answer count trials in the background: those that
// wait, then new ones that it asks for. Simulated returns its progress.
func (s *Service) Simulate(ctx context.Context, cmd Command, id string, count int, mishaps ...Mishap) error {
	snap, err := s.latest(ctx, id)
	if err != nil {
		return err
	}
	lab, err := labOf(snap)
	if err != nil {
		return err
	}
	if err := mayChoose(snap); err != nil {
		return err
	}
	by := Command{By: cmd.By + ledger.SimulatedBy}
	err = s.begin(simulating, id, int64(count), func(ctx context.Context) error {
		for range count {
			if s.Simulated(id).Stopped {
				return nil
			}
			if _, err := s.SimulateOne(ctx, by, lab, id, mishaps...); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, derived.ErrGoing):
		going := s.Simulated(id)
		return conflict("The simulated lab is at work already: %d of %d trials.", going.Done, going.Wanted)
	case errors.Is(err, derived.ErrBusy):
		return conflict("%d simulated labs are at work on this server, which is the most at once. Try again in a minute.", simulating.AtOnce)
	}
	return err
}

func labOf(snap *ledger.Snapshot) (design.SimulatedLab, error) {
	name := snap.Definition.SimulatedLab
	if name == "" {
		return nil, conflict("This study has a real laboratory; a simulated one cannot answer in it.")
	}
	return design.FindSimulatedLab(name)
}

// SimulateOne has a simulated laboratory tell readings until it has told all of one trial, whose
// number it returns. It takes the first trial with readings that are due and asks for more trials
// while none are; late readings are due when enough trials have been begun after theirs.
func (s *Service) SimulateOne(ctx context.Context, by Command, lab design.SimulatedLab, id string, mishaps ...Mishap) (number int, err error) {
	snap, err := s.latest(ctx, id)
	for err == nil {
		trial, due, later := nextToAnswer(lab, snap)
		if trial == nil {
			snap, _, err = s.Ask(ctx, by, id, Ask{Brought: broughtBy(lab, snap)})
			continue
		}
		if !later {
			s.Derived.Advance(simulating, id, func(now Progress) int64 { return now.Done + 1 }) // before they are told, so that whoever hears of the last finds the run complete
		}
		mishap, _ := lists.Find(mishaps, func(mishap Mishap) bool { return mishap.Number == trial.Number })
		if snap, err = s.answer(ctx, by, id, trial.Number, due, mishap); err == nil && !later {
			return trial.Number, nil
		}
	}
	return 0, err
}

func (s *Service) answer(ctx context.Context, by Command, id string, number int, readings map[string]ledger.Reading, mishap Mishap) (*ledger.Snapshot, error) {
	told := ledger.Telling{Metrics: maps.Clone(readings)}
	right, slipped := readings[mishap.Metric]
	if slipped {
		wrong := right
		wrong.Value *= mishap.Factor
		told.Metrics[mishap.Metric] = wrong
	}
	snap, err := s.Tell(ctx, by, id, number, told)
	if err == nil && slipped {
		snap, err = s.Correct(ctx, by, id, Correction{Number: number, Metrics: map[string]*ledger.Reading{mishap.Metric: &right}, Reason: mishap.Reason})
	}
	if err == nil && mishap.Exclude {
		snap, err = s.Close(ctx, by, id, ledger.Excluded, ledger.ClosedData{Number: number, Reason: mishap.Reason})
	}
	return snap, err
}

// nextToAnswer returns the first trial to run with readings that are due, nil if there is none, and
// whether more of its readings come later.
func nextToAnswer(lab design.SimulatedLab, snap *ledger.Snapshot) (trial *ledger.Trial, due map[string]ledger.Reading, later bool) {
	for _, t := range snap.Trials {
		if !t.Waiting() || t.Excluded {
			continue
		}
		if due, later = readingsOf(lab, snap, t); len(due) > 0 {
			return t, due, later
		}
	}
	return nil, nil, false
}

// readingsOf returns the readings of a trial that are due and not yet told, and whether others come
// later. They are the same whenever it is called.
func readingsOf(lab design.SimulatedLab, snap *ledger.Snapshot, t *ledger.Trial) (due map[string]ledger.Reading, later bool) {
	random := rand.New(rand.NewPCG(snap.Definition.Seed, uint64(t.Number)))
	due, sd := map[string]ledger.Reading{}, lab.StdDev()
	for metric, read := range lab.Read(t.Number, t.Parameters, random) {
		if _, told := t.Metrics[metric]; told {
			continue
		}
		if t.Number+read.Late > len(snap.Trials) {
			later = true
			continue
		}
		reading := ledger.Reading{Value: asDisplayed(read.Value, sd[metric])}
		if noise := sd[metric]; noise > 0 {
			reading.StdDev = &noise
		}
		due[metric] = reading
	}
	return due, later
}

// broughtBy returns what the laboratory knows before the next trial. Its random numbers are
// independent of those of the readings.
func broughtBy(lab design.SimulatedLab, snap *ledger.Snapshot) design.Brought {
	return lab.Brings(rand.New(rand.NewPCG(snap.Definition.Seed, ^uint64(len(snap.Trials)+1))))
}

// asDisplayed rounds a value as an instrument with that noise displays it: to two digits of the
// noise, or to six significant digits without noise.
func asDisplayed(value, noise float64) float64 {
	text := strconv.FormatFloat(value, 'g', 6, 64)
	if noise > 0 {
		text = strconv.FormatFloat(value, 'f', max(0, 1-int(math.Floor(math.Log10(noise)))), 64)
	}
	shown, _ := strconv.ParseFloat(text, 64) // as formatted above
	return shown + 0                         // −0 becomes 0
}

// Simulated returns the progress of the last run of the study's simulated laboratory on this
// server, the zero Progress if there was none.
func (s *Service) Simulated(id string) Progress {
	last, _ := s.Derived.Progress(simulating, id)
	return last
}

// StopSimulating ends the run under way, if any, after its present trial.
func (s *Service) StopSimulating(id string) { s.Derived.Stop(simulating, id) }

// DemoTrials is how many trials the simulated laboratory runs when the demo study is made.
const DemoTrials = 24

// DemoMishaps are the mistakes in the demo study, as they happen in laboratories.
var DemoMishaps = []Mishap{
	{Number: 6, Metric: "yield", Factor: 0.1, Reason: "the decimal point was one place off"},
	{Number: 11, Exclude: true, Reason: "the stirrer had stopped, as its log says"},
}

// Demo returns the definition of the study in which newcomers look around: a simulated reaction.
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
