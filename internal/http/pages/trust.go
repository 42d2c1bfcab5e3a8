package pages

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"headroom/internal/optimizer"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/web/templates"
)

// fewPredictions is how many predicted readings there have to be before anything is said of how well they were predicted.
const fewPredictions = 5

// trust is how far the model's bands can be trusted, and whether the process has drifted.
func (v visit) trust(readout study.Readout) templates.Trust {
	var t templates.Trust
	var drifted []drifting
	for _, metric := range v.metricsShown() {
		c := readout.Calibration[metric]
		if c.Count < fewPredictions {
			continue
		}
		t.Calibrations = append(t.Calibrations, v.calibrationWords(metric, c)...)
		d := drifting{study.DriftOf(c.Residuals), metric}
		drifted = append(drifted, d)
		line := templates.Drift{Text: d.words()}
		if d.Since > 0 && v.head.Operates && !v.over() && !forgets(readout.Algorithm) {
			line.Offer = v.head.URL("/reconfigure?way=drift&since=" + strconv.Itoa(d.Since))
		}
		t.Drifts = append(t.Drifts, line)
	}
	if len(drifted) > 0 {
		chart := v.driftChart(drifted)
		t.Chart = &chart
	} else {
		t.Calibrations = append(t.Calibrations, fmt.Sprintf("Nothing can be said before %d readings were predicted.", fewPredictions))
	}
	t.Theorem = v.theorem(readout)
	t.Summary, t.Open = trustInShort(t, drifted)
	return t
}

// driftDoubt says that what the model expects may not hold any more, "" where no metric drifts or the algorithm looks only at the last trials.
func (v visit) driftDoubt(readout study.Readout) string {
	if forgets(readout.Algorithm) {
		return ""
	}
	for _, metric := range v.metricsShown() {
		c := readout.Calibration[metric]
		if d := (drifting{study.DriftOf(c.Residuals), metric}); c.Count >= fewPredictions && d.Since > 0 {
			return strings.TrimSuffix(d.words(), ".") + ": the process may have drifted, and what is expected here rests on older readings too."
		}
	}
	return ""
}

// trustInShort is one line on calibration and drift, and whether either asks for a look.
func trustInShort(t templates.Trust, drifted []drifting) (line string, look bool) {
	if len(drifted) == 0 {
		return "Can the model be trusted? Too early to say.", false
	}
	line = "Can the model be trusted? Its bands are as they should be"
	for _, words := range t.Calibrations {
		if strings.HasSuffix(words, tooNarrow) || strings.HasSuffix(words, tooWide) {
			line, look = "Can the model be trusted? Some bands are not as they should be", true
		}
	}
	for _, d := range drifted {
		if d.Since > 0 {
			return line + "; the process may have drifted.", true
		}
	}
	for _, d := range drifted {
		if len(d.Past) > 0 {
			return line + "; no sign of drift any more.", look
		}
	}
	return line + "; no sign of drift.", look
}

// calibrationWords count the readings that fell inside the band drawn before them, new settings apart from repeated ones.
func (v visit) calibrationWords(metric string, c study.Calibration) []string {
	lines := []string{capitalised(metric) + ": " + coverageWords(c.Coverage)}
	if c.New.Count > 0 && c.Repeated.Count > 0 {
		lines = append(lines, capitalised(metric)+" at new settings: "+coverageWords(c.New), capitalised(metric)+" at repeated settings: "+coverageWords(c.Repeated))
	}
	return lines
}

// coverageWords are a count with a verdict.
func coverageWords(c study.Coverage) string {
	inside := int(math.Round(c.Coverage95 * float64(c.Count)))
	return fmt.Sprintf("%d of %d readings fell in the 95%s%% band predicted for them (noise included): %s", inside, c.Count, thin, calibrationVerdict(inside, c.Count))
}

// What is said of bands that are not right.
const (
	tooNarrow = "the bands are too narrow."
	tooWide   = "the bands are wider than they need to be."
)

// surprising is the chance below which a count speaks against bands that are right.
const surprising = 0.025

// calibrationVerdict judges how many of n readings fell inside bands that should hold 95 % of them, by the tails of the binomial distribution:
// P(X ≤ inside) or P(X ≥ inside) below 0.025 speaks against them.
func calibrationVerdict(inside, n int) string {
	switch {
	case n < fewPredictions:
		return "too few to judge."
	case binomialTail(inside, n, 0.95) < surprising:
		return tooNarrow
	case 1-binomialTail(inside-1, n, 0.95) < surprising:
		return tooWide
	}
	return "as it should be."
}

// binomialTail is P(X ≤ k) of n trials with chance p each.
func binomialTail(k, n int, p float64) float64 {
	sum := 0.0
	for i := 0; i <= k; i++ {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(a - b - c + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(sum, 1)
}

// drifting is what one metric's residuals say.
type drifting struct {
	study.Drift
	metric string
}

// words say whether a metric drifts, and of a sum that went beyond the limit and came back that it did.
func (d drifting) words() string {
	past := len(d.Past)
	switch {
	case d.Since > 0:
		return fmt.Sprintf("%s has come out %s than predicted, again and again, since about trial %d.", capitalised(d.metric), higherOrLower(d.Rising), d.Since)
	case past == 0:
		return fmt.Sprintf("%s: no sign of it in %s.", capitalised(d.metric), count(len(d.Numbers), "reading", "readings"))
	}
	last := d.Past[past-1]
	words := fmt.Sprintf("%s: no sign of it any more. From trial %d to %d it came out %s than predicted, again and again, until the model had caught up", capitalised(d.metric), last.From, last.Until, higherOrLower(last.Rising))
	if past > 1 {
		words += fmt.Sprintf("; %s before that", count(past-1, "time", "times"))
	}
	return words + "."
}

func higherOrLower(rising bool) string {
	if rising {
		return "higher"
	}
	return "lower"
}

// forgets tells whether an algorithm looks only at the last trials.
func forgets(name string) bool {
	a, _ := optimizer.FindAlgorithm(name)
	return a.ForDrift
}

// driftChart draws the residuals over trials, and their CUSUM against its limit.
func (v visit) driftChart(list []drifting) templates.Chart {
	styles := []templates.Style{templates.Step, templates.Second, templates.Estimate, templates.Bound}
	residuals := templates.Panel{Title: "Residual (standard deviations)", Height: limitHeight}
	sums := templates.Panel{Title: "Its sum on either side (CUSUM)", Height: limitHeight}
	table := templates.Table{Head: []templates.Column{{Name: "Metric"}, {Name: "Trial", Number: true}, {Name: "Residual", Number: true}, {Name: "CUSUM up", Number: true}, {Name: "CUSUM down", Number: true}}}
	var zs, ss []float64
	for i, d := range list {
		style := templates.Style(fmt.Sprintf("metric%d", i%4))
		points := templates.Trace{Name: d.metric, Style: style}
		up := templates.Trace{Name: "CUSUM of " + d.metric, Style: styles[i%4]}
		down := templates.Trace{Name: up.Name, Style: up.Style}
		size := max(1, len(d.Numbers)/mostMarks)
		for j, number := range d.Numbers {
			if size == 1 || j >= len(d.Numbers)-mostMarks {
				points.X, points.Y = append(points.X, number), append(points.Y, sixDigits(d.Residuals[j]))
				points.Text = append(points.Text, fmt.Sprintf("%s %+.1f standard deviations", d.metric, d.Residuals[j]))
			}
			up.X, up.Y = append(up.X, number), append(up.Y, sixDigits(d.Up[j]))
			down.X, down.Y = append(down.X, number), append(down.Y, sixDigits(-d.Down[j]))
			zs, ss = append(zs, d.Residuals[j]), append(ss, d.Up[j], -d.Down[j])
			if j == len(d.Numbers)-1 { // the last holds to the end of its trial
				up.X, up.Y = append(up.X, number+1), append(up.Y, up.Y[j])
				down.X, down.Y = append(down.X, number+1), append(down.Y, down.Y[j])
			}
			if len(d.Numbers) <= tableAtOnce || j >= len(d.Numbers)-tableAtOnce {
				table.Rows = append(table.Rows, []string{d.metric, fmt.Sprint(number), fixedDecimals(d.Residuals[j], 2), fixedDecimals(d.Up[j], 2), fixedDecimals(d.Down[j], 2)})
			}
		}
		residuals.Traces = append(residuals.Traces, points)
		sums.Traces = append(sums.Traces, up, down)
	}
	residuals.Y.Range, _, _ = robustRange(zs, []float64{-3, 3})
	sums.Y.Range, _, _ = robustRange(nil, append(ss, study.CUSUMLimit+1, -study.CUSUMLimit-1))
	sums.Limit = &templates.LimitPath{X: []float64{0.5}, Y: []float64{study.CUSUMLimit}, Label: strconv.Itoa(study.CUSUMLimit), Above: true}
	ends := []float64{0.5, float64(len(v.snap.Trials)) + 1.5}
	sums.Traces = append(sums.Traces, templates.Trace{Name: "limit", Style: templates.Threshold, X: []any{ends[0], ends[1]}, Y: []any{-study.CUSUMLimit, -study.CUSUMLimit}})
	panels := templates.Panels{X: templates.Axis{Title: trialAxis, Whole: true, Range: ends}, List: []templates.Panel{residuals, sums}}
	title := "Readings against their predictions"
	caption := "Residual: each point is a reading minus what was predicted for it beforehand, in standard deviations of a reading (noise included). The sum below grows when readings come out on one side again and again; beyond 5 or −5 the process has probably drifted: one that stands gets there by chance about once in " + strconv.Itoa(study.CUSUMFalseAlarm) + " readings."
	return templates.Chart{ID: "chart-drift", Title: title, Caption: caption, Height: panels.Height(), Table: table,
		Drawing: templates.Drawing{Title: title, Caption: caption, Foot: v.foot(), Trials: v.trials(), Panels: &panels, Traces: []templates.Trace{}}}
}

func fixedDecimals(x float64, decimals int) string {
	return design.Typeset(design.FormatFixed(x, decimals))
}

// otherAlgorithms are asked what they would do next.
var otherAlgorithms = []string{"log-cei", "rpol-ucb", "ckb-ucb", "scbo"}

// others are what other algorithms would do next on the same readings, as points on the map and in words.
func (s *Site) others(ctx context.Context, v visit, onto *templates.Chart, o outlook) ([]templates.OtherChoice, error) {
	var choices []study.Choice
	for _, name := range otherAlgorithms {
		if name == v.snap.Definition.Algorithm.Name {
			continue
		}
		found, err := s.Studies.Compare(ctx, v.snap, []design.Algorithm{{Name: name}})
		var unsuited *design.Invalid
		if errors.As(err, &unsuited) {
			continue
		}
		if err != nil {
			return nil, err
		}
		choices = append(choices, found...)
	}
	if len(choices) == 0 {
		return []templates.OtherChoice{{Name: "None", Text: "The other algorithms cannot choose here without being told more."}}, nil
	}
	var list []templates.OtherChoice
	points := templates.Trace{Name: "other algorithms’ next", Style: templates.Other}
	for _, choice := range choices {
		list = append(list, templates.OtherChoice{Name: choice.Name, Text: choice.Because})
		if choice.Parameters == nil || onto == nil || onto.Drawing.Surface == nil || !onto.Drawing.Surface.Smooth {
			continue
		}
		points.X, points.Y = append(points.X, plotValue((*choice.Parameters)[o.x])), append(points.Y, plotValue((*choice.Parameters)[o.y]))
		points.Text = append(points.Text, choice.Name+" would try "+settingsLine(v.snap.Definition, *choice.Parameters))
	}
	if len(points.X) > 0 {
		onto.Drawing.Traces = append(onto.Drawing.Traces, points)
	}
	return list, nil
}
