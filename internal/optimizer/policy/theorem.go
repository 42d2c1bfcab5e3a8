package policy

import (
	"fmt"
	"strconv"
)

// Theorem is what was proved about the bounds on violation and regret that an algorithm draws, for
// whoever has to judge whether they hold.
type Theorem struct {
	Name  string // its number, and those of the lemmas that it is used with
	Paper string
	Year  int
	// Bounds says which sum is bounded, and by what.
	Bounds string
	// Soft tells that the sum is one in which distance kept pays back excess.
	Soft bool
	// Regret says which regret is bounded, and by what.
	Regret string
	// Short says how far the figures that are drawn fall short of what was proved; "" where they
	// are just that.
	Short       string
	Assumptions []Assumption
	ForRegret   []Assumption // what the bound on regret needs beside them
}

// Assumption is one thing that a theorem assumes.
type Assumption struct {
	Text  string
	judge func(Circumstances) Finding
}

// Judge holds the assumption against what is known of a study.
func (a Assumption) Judge(c Circumstances) Finding { return a.judge(c) }

// Standing says whether a study meets an assumption.
type Standing string

const (
	Met     Standing = "met"
	NotMet  Standing = "not met"
	Unknown Standing = "cannot be known"
)

// Finding is how one assumption stands in one study, and why.
type Finding struct {
	Standing Standing
	Because  string
}

func met(format string, args ...any) Finding    { return Finding{Met, fmt.Sprintf(format, args...)} }
func notMet(format string, args ...any) Finding { return Finding{NotMet, fmt.Sprintf(format, args...)} }
func unknown(format string, args ...any) Finding {
	return Finding{Unknown, fmt.Sprintf(format, args...)}
}

// unless is the finding where the assumption is not broken.
func (f Finding) unless(broken bool, format string, args ...any) Finding {
	if broken {
		return notMet(format, args...)
	}
	return f
}

// trials counts them in words.
func trials(n int) string {
	switch n {
	case 0:
		return "no trial"
	case 1:
		return "1 trial"
	}
	return strconv.Itoa(n) + " trials"
}

// short is a number as a sentence has it.
func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// Circumstances are what is known of a study that assumptions are held against. Numbers count
// trials, unless said otherwise.
type Circumstances struct {
	Context
	Settings Settings

	Rounds       int // trials begun
	Spread       int // suggested to fill the space, before the algorithm chose
	Own          int // chosen by people
	Imported     int
	Moved        int // tried at other settings than those chosen
	Excluded     int
	Corrected    int
	Late         int // with a reading told after the next trial was chosen, or not told by then
	Reconfigured int // chosen before the algorithm, its model and the limits were set as they are
	Within       int // read within every limit

	Capped  []string  // constraints whose multiplier is as large as the algorithm lets it be
	Lambda  []float64 // λ per modelled metric
	Peak    []float64 // largest k(x, x) per modelled metric, in modelled units
	Uneven  []string  // metrics whose noise differs between settings, or of which a reading counts as wrong
	Drifted []string  // metrics whose readings have come out on one side again and again
	Watched int       // readings looked at for drift

	// Reread are the constraints of which the same settings were read differently, looked for when
	// a theorem asks.
	Reread func() []string
}
