package study

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// ImportCSV imports a table, all rows or none. Each row in order becomes a trial of its own that is
// chosen, then told.
func (s *Service) ImportCSV(ctx context.Context, cmd Command, id string, file io.Reader, opt ImportOptions) (ImportResult, error) {
	if err := opt.Check(); err != nil {
		return ImportResult{}, err
	}
	snap, err := s.latest(ctx, id)
	if err != nil {
		return ImportResult{}, err
	}
	rows, unknown, parsed := parseCSV(snap.Compiled(), file, opt)
	result := ImportResult{Snapshot: snap, Rows: len(rows), UnknownColumns: unknown}
	if opt.ByNumber && parsed == nil {
		return s.tellRows(ctx, cmd, rows, opt, result)
	}
	if opt.DryRun {
		if parsed != nil {
			return ImportResult{}, parsed
		}
		ruled, err := ruleImport(snap, snap, rows)
		result.Numbers, result.Doubts, result.Health = ruled.numbers, firstDoubts(doubtRows(snap, rows)), Health(snap, lists.Map(rows, importRow.used)...)
		return result, err
	}
	result.Snapshot, result.Numbers, err = s.choose(ctx, cmd, id, func(_ context.Context, now *ledger.Snapshot) (ruling, error) {
		if parsed != nil {
			return ruling{}, parsed
		}
		ruled, err := ruleImport(now, snap, rows)
		if err == nil {
			doubts := doubtRows(now, rows)
			_, err = confirm(cmd, func() []Doubt { return firstDoubts(doubts) })
			if cmd.Sure != nil {
				doubts = doubts[len(firstDoubts(doubts)):]
			}
			ruled.markUnasked(rows, doubts)
		}
		return ruled, err
	})
	return result, err
}

// ruleImport rules on rows that were read under the definition of readUnder.
func ruleImport(snap, readUnder *ledger.Snapshot, rows []importRow) (ruling, error) {
	if err := mayTell(snap); err != nil {
		return ruling{}, err
	}
	if err := mayChoose(snap); err != nil {
		return ruling{}, err
	}
	if err := mayRead(snap, readUnder, rows); err != nil {
		return ruling{}, err
	}
	var ruled ruling
	var faults design.Faults
	seen := snap.Version
	for i, row := range rows {
		number := len(snap.Trials) + 1 + i
		known, wrong := knownIn(snap.Compiled(), row, row.Parameters)
		faults = append(faults, wrong...)
		ruled.drafts = append(ruled.drafts, ledger.Draft{Kind: ledger.Chosen, Data: ledger.ChosenData{Number: number, Origin: ledger.Imported, Parameters: row.Parameters,
			Candidate: candidateOf(row.place), Note: row.Note, Seen: seen, Engine: optimizer.Engine, KnownValues: known}})
		seen++
		if len(row.Metrics) > 0 || row.Used != nil {
			told, wrong := toldOfRow(snap.Compiled(), row, number)
			faults = append(faults, wrong...)
			ruled.drafts = append(ruled.drafts, ledger.Draft{Kind: ledger.Told, Data: told})
			seen++
		}
		ruled.numbers = append(ruled.numbers, number)
	}
	return ruled, faults.Err()
}

// markUnasked marks the rows with doubts that nobody was asked about.
func (r ruling) markUnasked(rows []importRow, doubts []Doubt) {
	doubted := map[string]bool{}
	for _, d := range doubts {
		line, _, inside := strings.Cut(d.Field, ".")
		doubted[line] = doubted[line] || inside
	}
	for i, draft := range r.drafts {
		if told, isTold := draft.Data.(ledger.ToldData); isTold {
			told.Unasked = doubted[rows[told.Number-r.numbers[0]].at()]
			r.drafts[i].Data = told
		}
	}
}

// toldOfRow returns the telling of a row: its readings, and its settings if others had been chosen.
func toldOfRow(c *design.Compiled, row importRow, number int) (ledger.ToldData, design.Faults) {
	told := ledger.ToldData{Number: number, Telling: ledger.Telling{Metrics: row.Metrics, Parameters: row.Used}}
	if row.Used == nil {
		return told, nil
	}
	used, place, faults := c.PlaceUsed(row.Used, row.at())
	if len(faults) > 0 {
		return told, faults
	}
	told.Parameters = used
	told.Candidate = candidateOf(place)
	told.KnownValues, faults = knownIn(c, row, row.Used)
	return told, faults
}

// knownIn returns the values of a row's known constraints at some settings: computed if the
// settings determine them, else from the row's own columns.
func knownIn(c *design.Compiled, row importRow, settings design.Settings) (map[string]float64, design.Faults) {
	known := c.KnownAlone(settings)
	var f design.Faults
	for _, k := range c.Def.Constraints {
		if _, follows := known[k.Name]; follows || !k.Given() {
			continue
		}
		value, there := row.Known[k.Metric]
		if !there {
			f.Add(row.at()+"."+k.Metric, nil, "is missing; the settings do not determine %s, so the table must have it", k.Metric)
		}
		known[k.Name] = value
	}
	return known, f
}

// doubtRows returns the doubts about the rows of a table, given the study's readings and each
// other.
func doubtRows(snap *ledger.Snapshot, rows []importRow) []Doubt {
	var doubts []Doubt
	judged := snap.DoubtRows(lists.Map(rows, func(row importRow) ledger.Row {
		return ledger.Row{Metrics: row.Metrics, Chosen: row.Parameters, Used: row.used()}
	}))
	with := map[string]int{}
	for _, t := range snap.Trials {
		with[settingsText(snap.Definition, t.Parameters)] = t.Number
	}
	awaited, of := 0, ""
	for i, row := range rows {
		for _, d := range judged[i] {
			doubts = append(doubts, Doubt{row.at() + "." + cmp.Or(d.Metric, d.Parameter), exactText(d.Value), d.Why})
		}
		worked := snap.Compiled().KnownAlone(row.used())
		doubts = append(doubts, row.doubtKnown(snap.Definition, func(c design.Constraint) (float64, bool) { value, follows := worked[c.Name]; return value, follows })...)
		settings := settingsText(snap.Definition, row.used())
		for _, fault := range row.beyond {
			if fault.Field == row.at() { // faults of single settings are doubts already
				doubts = append(doubts, Doubt{fault.Field, settings, fmt.Sprintf("%s %s. Was it really run like this?", settings, fault.Message)})
			}
		}
		if trial := snap.Trial(row.Number); trial != nil && trial.Waiting() && usedInstead(snap, trial, row.used()) == nil {
			awaited, of = awaited+1, cmp.Or(of, fmt.Sprintf("line %d of trial %d", row.Line, row.Number))
		} else if number := with[settings]; number > 0 {
			doubts = append(doubts, Doubt{row.at(), settings, doubtReplicateText(number)})
		}
		if row.ended != "" && row.waits(snap.Compiled()) {
			doubts = append(doubts, Doubt{row.at(), settings, fmt.Sprintf("Its status is %s; the imported trial waits for results until you record that here, too.", design.Shorten(row.ended))})
		}
	}
	if awaited > 0 {
		text := fmt.Sprintf("%s the number and settings of trials that wait for results, as %s. Are these their results? "+ByNumber+" saves them there, and makes no trials.", design.Count(awaited, "row has", "rows have"), of)
		doubts = slices.Insert(doubts, 0, Doubt{"columns", columnNumber, text})
	}
	return doubts
}

// LargestBundle is the largest size of an imported study, in bytes.
const LargestBundle = 1 << 30

// Export writes the study as it was at the snapshot, with its ledger, as a ledger.Bundle.
func (s *Service) Export(ctx context.Context, snap *ledger.Snapshot, w io.Writer) error {
	head, err := json.Marshal(ledger.Bundle{Format: ledger.BundleFormat, Definition: snap.Definition, State: snap.State, Version: snap.Version, Hash: snap.Hash, Events: []ledger.Event{}})
	if err != nil {
		return err
	}
	tail := []byte("]}") // the events come between
	before := bytes.TrimSuffix(head, tail)
	for after := int64(0); after < snap.Version; {
		events, err := s.eventsUpTo(ctx, snap, after)
		if err != nil {
			return err
		}
		text, err := json.Marshal(events)
		if err != nil {
			return err
		}
		// Nothing is written before the first events are there, so that an error can still be
		// reported.
		if _, err := w.Write(slices.Concat(before, text[1:len(text)-1])); err != nil { // without the brackets of a list
			return err
		}
		before, after = []byte(","), after+int64(len(events))
	}
	_, err = w.Write(tail)
	return err
}

// ImportBundle makes a study of an exported one, with the same ledger, state and hashes. It reads
// the file in parts and stores each before the next, all in one transaction that fails if the
// bundle turns out to be invalid. cmd.Key.Body must have the hash of the file once its last byte is
// read.
func (s *Service) ImportBundle(ctx context.Context, cmd Command, file io.Reader) (*ledger.Snapshot, error) {
	leave, err := s.imports.Enter(ctx, "")
	if err != nil {
		return nil, err
	}
	defer leave()
	id := newID()
	var after *ledger.Snapshot
	parts := func(yield func(Append, error) bool) {
		bundle := ledger.NewBundleReader(file)
		for events, err := range bundle.Parts() {
			switch {
			case err == nil:
				after, err = s.foldImported(id, after, events)
			case errors.Is(err, ledger.ErrMemberTooLarge):
				err = &refusal{"The study cannot be imported: " + err.Error() + ".", ErrTooLarge}
			}
			if !yield(Append{Events: events, After: after}, err) || err != nil {
				return
			}
		}
		if err := bundle.Describes(after); err != nil {
			yield(Append{}, err)
			return
		}
		if cmd.Key != nil { // only now is the result known
			yield(appendTo(after, nil, nil), nil)
		}
	}
	if err := s.store.Create(ctx, id, cmd, parts); err != nil {
		return nil, err
	}
	return s.Derived.Put(after), nil
}

// foldImported folds events that may have been written by anybody. Each must be what the rules make
// of some request.
func (s *Service) foldImported(id string, before *ledger.Snapshot, events []ledger.Event) (*ledger.Snapshot, error) {
	admit, at := s.admit(), int64(0)
	after, err := ledger.FoldAdmitted(id, before, events, func(now *ledger.Snapshot, e ledger.Event) error {
		at = e.Seq - 1
		return admit(now, e)
	})
	if err != nil {
		return nil, design.NewInvalid(fmt.Sprintf("events[%d]", at), err.Error(), nil)
	}
	return after, nil
}

// Anybody can compute fitting hashes, so a ledger from elsewhere is not trusted: its events must be
// what this study's own rules would have written for requests made one after another.

const (
	// longestBy is above the length of every name of a person or token, in characters.
	longestBy = 300
	// longestWord is above the length of every name that the program gives, such as an engine's.
	longestWord = 100
	// longestSentence is above the length of every explanation of a decision.
	longestSentence = 100_000
)

// escapedNUL matches the character U+0000 in JSON, which PostgreSQL does not store: an escape
// sequence that is not itself escaped.
var escapedNUL = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\\u0000`)

// admit returns a check for the events of one ledger, given the study before each (nil before the
// first).
func (s *Service) admit() func(now *ledger.Snapshot, e ledger.Event) error {
	latest := s.now().Add(clockSkew)
	return func(now *ledger.Snapshot, e ledger.Event) error {
		switch {
		case !e.At.Equal(e.At.UTC().Truncate(time.Microsecond)) || e.At.UTC().Year() < 1:
			return errors.New("its time is not in whole microseconds")
		case e.At.After(latest):
			return errors.New("its time is in the future")
		case utf8.RuneCountInString(e.By) > longestBy || !printable(e.By):
			return errors.New("its author has no possible name")
		case escapedNUL.Match(e.Data):
			return errors.New("a text holds the character U+0000")
		case (now == nil) != (e.Kind == ledger.Created):
			return errors.New("a ledger starts with its only created event")
		}
		return admitted(now, e)
	}
}

func admitted(now *ledger.Snapshot, e ledger.Event) error {
	switch e.Kind {
	case ledger.Created:
		return admittedData(e, admitCreated)
	case ledger.Edited:
		return admittedData(e, func(data ledger.EditedData) (any, error) { return onlyDraft(ruleEdit(data)) })
	case ledger.Reconfigured:
		return admittedData(e, func(data ledger.ReconfiguredData) (any, error) { return admitReconfigured(now, data) })
	case ledger.Chosen:
		return admittedData(e, func(data ledger.ChosenData) (any, error) {
			values := now.Resolver()
			whole, err := values.Resolve(data)
			if err != nil {
				return nil, err
			}
			return data, admitChosen(now, whole)
		})
	case ledger.Told:
		return admittedData(e, func(data ledger.ToldData) (any, error) { return admitTold(now, data) })
	case ledger.Corrected:
		return admittedData(e, func(data ledger.CorrectedData) (any, error) { return admitCorrected(now, data) })
	case ledger.Failed, ledger.Abandoned, ledger.Excluded, ledger.Included:
		return admittedData(e, func(data ledger.ClosedData) (any, error) { return onlyDraft(ruleClose(now, e.Kind, data)) })
	case ledger.Confirmed:
		return admittedData(e, func(data ledger.ConfirmedData) (any, error) {
			_, err := mayTellOf(now, data.Number)
			return data, err
		})
	case ledger.Fitted:
		return admittedData(e, func(data ledger.FittedData) (any, error) {
			if data.Seen < 1 || !isWord(data.Engine) || len(data.Metrics) == 0 {
				return nil, errors.New("it names no event, engine or metric")
			}
			return data, checkFit(now, data)
		})
	}
	return errors.New("no such kind of event")
}

// admittedData decodes the data of e and checks that the rules, in again, make the same of the
// request that the data stand for.
func admittedData[Data any](e ledger.Event, again func(Data) (any, error)) error {
	var data Data
	if err := e.Decode(&data); err != nil {
		return err
	}
	would, err := again(data)
	if err != nil {
		return err
	}
	same, err := e.Says(would)
	if err == nil && !same {
		return errors.New("no request could have written it")
	}
	return err
}

// onlyDraft returns the data of a ruling with a single event.
func onlyDraft(ruled ruling, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return ruled.drafts[0].Data, nil
}

func admitCreated(data ledger.CreatedData) (any, error) {
	checked, err := data.Definition.Check()
	if err != nil {
		return nil, err
	}
	return ledger.CreatedData{Definition: checked, Engine: data.Engine}, checkEngine(data.Engine)
}

func checkEngine(engine string) error {
	if engine == "" || !isWord(engine) {
		return errors.New("its engine has no possible name")
	}
	return nil
}

func admitReconfigured(now *ledger.Snapshot, data ledger.ReconfiguredData) (any, error) {
	would, err := onlyDraft(ruleReconfigure(now, data.Definition.Whole(data.Reason)))
	if err != nil {
		return nil, err
	}
	reconfigured := would.(ledger.ReconfiguredData)
	reconfigured.Engine = data.Engine
	return reconfigured, checkEngine(data.Engine)
}

// admitTold takes from the data whether anybody was asked about doubts.
func admitTold(now *ledger.Snapshot, data ledger.ToldData) (any, error) {
	would, err := onlyDraft(ruleTell(now, data.Number, data.Telling))
	if trial := now.Trial(data.Number); err != nil && data.Parameters != nil && trial != nil && trial.Origin == ledger.Imported && trial.ChosenSeq == now.Version {
		return admitImportedTelling(now, trial, data)
	}
	if err != nil {
		return nil, err
	}
	told := would.(ledger.ToldData)
	told.Confirmed, told.Unasked = data.Confirmed, data.Unasked
	return told, nil
}

// admitImportedTelling checks the telling of a row of a table that has just been chosen. If the row
// was run at other settings, it may bring the known values there itself.
func admitImportedTelling(now *ledger.Snapshot, trial *ledger.Trial, data ledger.ToldData) (any, error) {
	c := now.Compiled()
	if err := admitRow(c, data.KnownValues); err != nil {
		return nil, err
	}
	row := importRow{OwnTrial: OwnTrial{Metrics: data.Metrics}, Known: map[string]float64{}, Used: data.Parameters}
	for _, k := range c.Def.Constraints {
		row.Known[k.Metric] = data.KnownValues[k.Name]
	}
	told, faults := toldOfRow(c, row, data.Number)
	for name, reading := range data.Metrics {
		wrong, err := checkMetric(now, trial, name, reading, false)
		if err != nil {
			return nil, err
		}
		faults = append(faults, wrong...)
	}
	told.Unasked = data.Unasked
	return told, faults.Err()
}

func admitCorrected(now *ledger.Snapshot, data ledger.CorrectedData) (any, error) {
	c := Correction{Number: data.Number, Reason: data.Reason}
	if data.Metrics != nil {
		c.Metrics = map[string]*ledger.Reading{}
	}
	for name, value := range data.Metrics {
		c.Metrics[name] = value.After
	}
	if data.Parameters != nil {
		c.Parameters = data.Parameters.After
	}
	would, err := onlyDraft(ruleCorrect(now, c))
	if err != nil {
		return nil, err
	}
	corrected := would.(ledger.CorrectedData)
	corrected.Confirmed = data.Confirmed
	return corrected, nil
}

// admitChosen checks a choice, except that the algorithm makes it, which verification does.
func admitChosen(now *ledger.Snapshot, data ledger.ChosenData) error {
	if err := mayChoose(now); err != nil {
		return err
	}
	if err := checkNote(data.Note).Err(); err != nil && data.Origin != ledger.Imported { // the row of an exported trial joins all its notes
		return err
	}
	c := now.Compiled()
	place, err := chosenPlace(now, data)
	if err != nil {
		return err
	}
	if err := admitKnown(c, data, place); err != nil {
		return err
	}
	if err := admitHeld(c, data); err != nil {
		return err
	}
	switch d := data.Decision; {
	case checkEngine(data.Engine) != nil:
		return checkEngine(data.Engine)
	case data.ReplicateOf != 0 && data.Origin != ledger.Manual:
		return errors.New("only people repeat a trial on purpose")
	case (d == nil) != (data.Origin == ledger.Imported):
		return errors.New("a decision goes with every trial but imported ones")
	case d == nil:
		return nil
	case d.Seen != data.Seen || d.Engine != data.Engine:
		return errors.New("the decision was made from another event, or by another engine, than the trial says")
	default:
		return admitDecision(now, d)
	}
}

// admitHeld checks that the held settings could be held, and that they are listed in the study's
// order.
func admitHeld(c *design.Compiled, data ledger.ChosenData) error {
	if len(data.Held) > 0 && data.Origin != ledger.Suggested {
		return errors.New("settings are held for the algorithm only")
	}
	_, names, faults := c.Holding(data.HeldSettings(), "held")
	if err := faults.Err(); err != nil {
		return err
	}
	if !slices.Equal(names, data.Held) {
		return errors.New("the held settings are not in the study's order")
	}
	return nil
}

// chosenPlace returns the place of a trial, whose settings must be such as the study keeps.
func chosenPlace(now *ledger.Snapshot, data ledger.ChosenData) (optimizer.Place, error) {
	c := now.Compiled()
	elsewhere := errors.New("the study would not keep these settings as they are")
	if candidates := c.Def.Candidates; candidates != nil {
		if i := data.Candidate; i == nil || *i < 0 || *i >= len(candidates) || !candidates[*i].Equal(data.Parameters) {
			return optimizer.Place{}, elsewhere
		}
		return c.Locate(data.Parameters, data.Candidate), nil
	}
	place := c.Place
	switch repeated := now.Trial(data.ReplicateOf); {
	case data.Origin == ledger.Imported:
		place = c.PlaceUsed // a table may have settings beyond the bounds
	case repeated != nil && repeated.Parameters.Equal(data.Parameters):
		place = func(used design.Settings, at string) (design.Settings, optimizer.Place, design.Faults) {
			return now.PlaceAgain(repeated.Number, used, at)
		}
	case data.Origin == ledger.Manual:
		place = c.PlaceExactly // which may have been run already
	}
	settings, there, faults := place(data.Parameters, "parameters")
	if err := faults.Err(); err != nil {
		return there, err
	}
	if data.Candidate != nil || !settings.Equal(data.Parameters) {
		return there, elsewhere
	}
	return there, nil
}

// admitKnown compares the known constraints' values with those that follow from the settings and
// from what was brought. A row of a table may bring those that the settings do not determine.
func admitKnown(c *design.Compiled, data ledger.ChosenData, place optimizer.Place) error {
	known, faults := c.KnownAt(data.Parameters, place, data.Brought)
	if data.Origin == ledger.Imported {
		if data.Context != nil || data.ConstraintValues != nil {
			return errors.New("a row of a table brings no context and no sampled values")
		}
		if len(faults) > 0 {
			return admitRow(c, data.KnownValues)
		}
	} else {
		_, wrong := c.Known(data.Brought)
		faults = append(faults, wrong...)
	}
	if err := faults.Err(); err != nil {
		return err
	}
	for name, value := range known {
		if told, there := data.KnownValues[name]; !there || !closeTo(told, value) {
			return fmt.Errorf("the value of %s does not follow from the settings", name)
		}
	}
	if len(data.KnownValues) != len(known) {
		return errors.New("it has values of constraints that are not known beforehand")
	}
	return nil
}

// admitRow checks the known values that a row of a table brings: one for each metric.
func admitRow(c *design.Compiled, known map[string]float64) error {
	byMetric := map[string]float64{}
	count := 0
	for _, k := range c.Def.Constraints {
		if !k.Given() {
			continue
		}
		count++
		value, there := known[k.Name]
		if before, twice := byMetric[k.Metric]; !there || !design.Computable(value) || twice && before != value {
			return fmt.Errorf("the value of %s is missing, too large, or not that of its metric", k.Name)
		}
		byMetric[k.Metric] = value
	}
	if len(known) != count {
		return errors.New("it has values of constraints that are not known beforehand")
	}
	return nil
}

// admitDecision checks that the numbers of a decision are such as decisions record.
func admitDecision(now *ledger.Snapshot, d *ledger.Decision) error {
	c := now.Compiled()
	estimated := append(slices.Clone(c.ConstraintNames), c.Def.Objective.Metric, c.Def.Objective.Metric+" (limit)")
	for _, of := range []struct {
		numbers map[string]float64
		names   []string
	}{{d.Beta, c.MetricNames}, {d.Mean, c.MetricNames}, {d.SD, c.MetricNames}, {d.Multipliers, c.ConstraintNames}, {d.Estimates, estimated}} {
		for name := range of.numbers {
			if !slices.Contains(of.names, name) {
				return fmt.Errorf("its decision has a number of %q, which does not exist", design.Shorten(name))
			}
		}
	}
	for name, model := range d.Model {
		if !slices.Contains(c.MetricNames, name) {
			return fmt.Errorf("its decision has a model of %q, which has none", design.Shorten(name))
		}
		if !isWord(model.Kernel) || !admissible(model.Lengthscales, model.Variance, model.Lambda, model.Scale) || !validInteraction(model.Interaction) || !(model.Scale > 0) || len(model.Lengthscales) > len(c.Def.Parameters) {
			return fmt.Errorf("its decision's model of %s is impossible", name)
		}
	}
	switch {
	case d.Algorithm != c.Def.Algorithm.Name:
		return errors.New("its decision is of another algorithm than the study's")
	case d.FeasibilityProbability != nil && !(*d.FeasibilityProbability >= 0 && *d.FeasibilityProbability <= 1):
		return errors.New("its feasibility probability is not between 0 and 1")
	case d.Works != nil && (!(d.Works.Chance >= 0 && d.Works.Chance <= 1) || d.Works.Failed < 1 || d.Works.Of < d.Works.Failed || d.Works.Of > len(now.Trials)):
		return errors.New("its chance to work is impossible")
	case d.RandomSeed > design.MaxSeed:
		return errors.New("its random seed is too large")
	case len(d.Draws) > 1+len(c.ConstraintNames) || slices.ContainsFunc(d.Draws, func(z float64) bool { return !design.Computable(z) }):
		return errors.New("its random draws are impossible")
	case d.Horizon < 0 || d.Horizon > len(now.Trials)+1: // a phase of T trials begins with trial T
		return errors.New("its horizon is impossible")
	case d.Incumbent < 0 || d.Incumbent > len(now.Trials):
		return errors.New("it is compared with a trial that does not exist")
	case !isWord(d.Reason) || utf8.RuneCountInString(d.Because) > longestSentence || strings.ContainsFunc(d.Because, unicode.IsControl):
		return errors.New("its reason is impossible")
	case d.RunnerUp != nil:
		_, _, faults := c.Place(d.RunnerUp.Parameters, "decision.runner_up.parameters")
		return faults.Err()
	}
	return nil
}

// admissible reports whether lengthscales are positive and the other numbers not negative, and all
// of a size to compute with.
func admissible(lengthscales []float64, numbers ...float64) bool {
	return !slices.ContainsFunc(lengthscales, func(l float64) bool { return !(l > 0 && design.Computable(l)) }) &&
		!slices.ContainsFunc(numbers, func(x float64) bool { return !(x >= 0 && design.Computable(x)) })
}

// isWord reports whether text can be a name that the program gives.
func isWord(text string) bool { return len(text) <= longestWord && design.CheckText(text) == "" }

// printable is the condition that package account makes on names. “headroom watch” writes them to
// terminals, which obey control characters.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
