package design

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/optimizer/policy"
)

// Change is one difference between two definitions, for people to read.
type Change struct {
	Path   string          `json:"path"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// listedPath matches the path to a field of an item in a list of a definition.
var listedPath = regexp.MustCompile(`^(constraints|parameters|recorded_metrics)\[(.*)\]\.(\w+)$`)

// Item returns the list, the item in it and the item's field that the change is of; "" for a change
// elsewhere.
func (c Change) Item() (list, item, field string) {
	if found := listedPath.FindStringSubmatch(c.Path); found != nil {
		return found[1], found[2], found[3]
	}
	return "", "", ""
}

// Field returns the field of the objective, or of an item in a list, that the change is of, such as
// "unit"; "" for a change elsewhere, whose path may end in a name that looks like a field.
func (c Change) Field() string {
	if field, is := strings.CutPrefix(c.Path, "objective."); is {
		return field
	}
	_, _, field := c.Item()
	return field
}

// Reconfiguration changes parts of a definition. Nil parts stay as they are. In the others, a unit,
// step, scale or plausible range that is not mentioned stays, too; a metric's unit that is mentioned
// once holds for all of it.
type Reconfiguration struct {
	Parameters       []Parameter        `json:"parameters,omitempty"`       // same names and types: units, bounds, scales, choices
	Constraints      []Constraint       `json:"constraints,omitempty"`      // thresholds and plausible ranges, by name
	Objective        *Objective         `json:"objective,omitempty"`        // unit and plausible range
	RecordedMetrics  []RecordedMetric   `json:"recorded_metrics,omitempty"` // units and plausible ranges, by metric
	Algorithm        *Algorithm         `json:"algorithm,omitempty"`
	Model            *Model             `json:"model,omitempty"`
	InputConstraints *[]string          `json:"input_constraints,omitempty"`
	Unavailable      map[string][]Value `json:"unavailable,omitempty"`
	Stop             *Stop              `json:"stop,omitempty"`
	Reason           string             `json:"reason"`

	Whole bool `json:"-"` // nothing unmentioned in a given part is kept
}

// Whole returns the change that makes any study's definition d.
func (d Definition) Whole(reason string) Reconfiguration {
	gone := map[string][]Value{} // nil would keep the present ones
	maps.Copy(gone, d.Unavailable)
	return Reconfiguration{Whole: true, Reason: reason, Unavailable: gone, Parameters: d.Parameters, Constraints: d.Constraints, Objective: &d.Objective,
		RecordedMetrics: d.RecordedMetrics, Algorithm: &d.Algorithm, Model: &d.Model, InputConstraints: &d.InputConstraints, Stop: d.Stop}
}

// partNames returns the names of the items in each list from which a change may leave out items.
func (d Definition) partNames() map[string][]string {
	return map[string][]string{
		"parameters":       d.ParameterNames(),
		"constraints":      lists.Map(d.Constraints, func(c Constraint) string { return cmp.Or(c.Name, c.Metric) }),
		"recorded_metrics": lists.Map(d.RecordedMetrics, func(r RecordedMetric) string { return r.Metric }),
	}
}

func (change Reconfiguration) partNames() map[string][]string {
	return Definition{Parameters: change.Parameters, Constraints: change.Constraints, RecordedMetrics: change.RecordedMetrics}.partNames()
}

// Apply returns d with the changes. Items that stay may be left out of lists.
func (change Reconfiguration) Apply(d Definition) (Definition, Faults) {
	var faults Faults
	known, sent := d.partNames(), change.partNames()
	for _, list := range slices.Sorted(maps.Keys(known)) {
		if n, there := len(sent[list]), len(known[list]); n > there {
			what := strings.ReplaceAll(list, "_", " ")
			faults.Add(list, n, "there are %d %s; the study has %d, and %s cannot be added", n, what, there, what)
		}
	}
	if len(faults) > 0 {
		return d, faults
	}
	d.Parameters, d.Constraints, d.RecordedMetrics = slices.Clone(d.Parameters), slices.Clone(d.Constraints), slices.Clone(d.RecordedMetrics)
	seen := map[string]bool{}
	// place returns the index of the item in the study that item i of the change replaces.
	place := func(list string, i int, key, unknown string) (at int, good bool) {
		name := sent[list][i]
		at = slices.Index(known[list], name)
		field := fmt.Sprintf("%s[%d].%s", list, i, key)
		switch {
		case seen[list+name]: // a metric and a constraint may have the same name
			faults.Add(field, name, "is in the list twice")
		case at < 0:
			faults.Add(field, name, "%s cannot be added or renamed", unknown)
		default:
			good = true
		}
		seen[list+name] = true
		return at, good
	}
	for i, p := range change.Parameters {
		if at, good := place("parameters", i, "name", "the study has no such parameter; parameters"); good {
			p.Scale = cmp.Or(p.Scale, d.Parameters[at].Scale)
			if !change.Whole {
				p.Unit, p.Step = cmp.Or(p.Unit, d.Parameters[at].Unit), cmp.Or(p.Step, d.Parameters[at].Step)
			}
			d.Parameters[at] = p
		}
	}
	for i, c := range change.Constraints {
		c.Name = sent["constraints"][i]
		if at, good := place("constraints", i, "name", "the study has no such constraint; constraints"); good {
			change.keepUnmentioned(&c.Unit, &c.Plausible, d.Constraints[at].Unit, d.Constraints[at].Plausible)
			d.Constraints[at] = c
		}
	}
	for i, r := range change.RecordedMetrics {
		if at, good := place("recorded_metrics", i, "metric", "the study records no such metric; metrics"); good {
			change.keepUnmentioned(&r.Unit, &r.Plausible, d.RecordedMetrics[at].Unit, d.RecordedMetrics[at].Plausible)
			d.RecordedMetrics[at] = r
		}
	}
	if o := change.Objective; o != nil {
		unit, plausible := d.Objective.Unit, d.Objective.Plausible
		d.Objective = *o
		change.keepUnmentioned(&d.Objective.Unit, &d.Objective.Plausible, unit, plausible)
	}
	change.spreadUnits(&d)
	d.Algorithm = change.algorithm(d.Algorithm)
	replace(&d.Model, change.Model)
	replace(&d.InputConstraints, change.InputConstraints)
	if change.Unavailable != nil {
		d.Unavailable = maps.Clone(change.Unavailable)
		if !change.Whole { // what is available again needs no list
			maps.DeleteFunc(d.Unavailable, func(name string, gone []Value) bool {
				return len(gone) == 0 && slices.Contains(known["parameters"], name)
			})
		}
	}
	d.Stop = cmp.Or(change.Stop, d.Stop)
	return d, faults
}

// spreadUnits sets a metric's unit that the change mentions wherever it mentions none for the metric,
// which has one unit.
func (change Reconfiguration) spreadUnits(d *Definition) {
	if change.Whole {
		return
	}
	units, mentioned := map[string]string{}, map[string]bool{} // by metric; by constraint
	for _, c := range change.Constraints {
		if c.Unit != "" {
			units[c.Metric], mentioned[cmp.Or(c.Name, c.Metric)] = c.Unit, true
		}
	}
	if o := change.Objective; o != nil && o.Unit != "" {
		units[o.Metric] = o.Unit
	} else {
		d.Objective.Unit = cmp.Or(units[d.Objective.Metric], d.Objective.Unit)
	}
	for i, c := range d.Constraints {
		if !mentioned[cmp.Or(c.Name, c.Metric)] {
			d.Constraints[i].Unit = cmp.Or(units[c.Metric], c.Unit)
		}
	}
}

// keepUnmentioned keeps a metric's unit and plausible range where the change does not mention them.
// An empty range removes it.
func (change Reconfiguration) keepUnmentioned(unit *string, plausible *[]float64, unitNow string, plausibleNow []float64) {
	if change.Whole {
		return
	}
	*unit = cmp.Or(*unit, unitNow)
	switch {
	case *plausible == nil:
		*plausible = plausibleNow
	case len(*plausible) == 0:
		*plausible = nil
	}
}

// algorithm returns the algorithm after the change. Without a name it is the present one with the
// given preset and settings; without a horizon the present one stays.
func (change Reconfiguration) algorithm(now Algorithm) Algorithm {
	next := now
	replace(&next, change.Algorithm)
	next.Horizon = cmp.Or(next.Horizon, now.Horizon)
	if next.Name == "" {
		next.Name, next.Preset = now.Name, cmp.Or(next.Preset, now.Preset)
		if next.Settings == nil {
			next.Settings = now.Settings
		}
	}
	return next
}

func replace[Part any](part, with *Part) {
	if with != nil {
		*part = *with
	}
}

// SameShape returns the faults of a definition that past trials would not fit: other parameters,
// types or metrics, and choices that were removed.
func SameShape(before, after Definition) (faults Faults) {
	if len(before.Parameters) != len(after.Parameters) || len(before.Constraints) != len(after.Constraints) ||
		len(before.Candidates) != len(after.Candidates) {
		faults.Add("", nil, "parameters, constraints and candidates cannot be added or taken away")
		return faults
	}
	for i, p := range before.Parameters {
		q, at := after.Parameters[i], fmt.Sprintf("parameters[%d]", i)
		if p.Name != q.Name {
			faults.Add(at+".name", q.Name, "parameter %q cannot be renamed", p.Name)
		}
		if p.Type != q.Type {
			faults.Add(at+".type", q.Type, "parameter %q is of type %s, and its type cannot be changed", p.Name, p.Type)
			continue
		}
		for _, choice := range p.Choices {
			if !slices.Contains(q.Choices, choice) {
				faults.Add(at+".choices", q.Choices, "choice %q of %q cannot be taken away; list it under unavailable instead", choice, p.Name)
			}
		}
	}
	for i, c := range before.Constraints {
		switch q, at := after.Constraints[i], fmt.Sprintf("constraints[%d]", i); {
		case c.Metric != q.Metric:
			faults.Add(at+".metric", q.Metric, "constraint %q is on %q, and its metric cannot be changed", c.Name, c.Metric)
		case c.Name != q.Name || c.Given() != q.Given():
			faults.Add(at, nil, "constraint %q cannot be renamed, nor changed between learned, of known form and sampled", c.Name)
		}
	}
	if before.Objective.Metric != after.Objective.Metric {
		faults.Add("objective.metric", after.Objective.Metric, "the objective's metric %q cannot be replaced", before.Objective.Metric)
	}
	for i, candidate := range before.Candidates {
		if !maps.Equal(candidate, after.Candidates[i]) {
			faults.Add(fmt.Sprintf("candidates[%d]", i), nil, "candidate %d cannot be replaced", i)
		}
	}
	return faults
}

// mentions reports whether the change has a part of a definition that may be left out.
func (change Reconfiguration) mentions(part string) bool {
	parts := map[string]bool{
		"objective": change.Objective != nil, "algorithm": change.Algorithm != nil, "model": change.Model != nil,
		"input_constraints": change.InputConstraints != nil, "unavailable": change.Unavailable != nil, "stop": change.Stop != nil,
	}
	sent, may := parts[part]
	return sent || !may
}

// Placed returns faults of d, the definition after the change, with their locations in the change,
// which may leave out what stays.
func (change Reconfiguration) Placed(d Definition, faults Faults) Faults {
	known, sent := d.partNames(), change.partNames()
	placed := slices.Clone(faults)
	for i, fault := range placed {
		if part := (fault.Field + ".")[:strings.IndexAny(fault.Field+".", ".[")]; !change.mentions(part) {
			placed[i].Field, placed[i].Message = part, fmt.Sprintf("%s, which stays: %s", fault.Field, fault.Message)
			continue
		}
		list, rest, _ := strings.Cut(fault.Field, "[")
		number, inside, _ := strings.Cut(rest, "]")
		j, err := strconv.Atoi(number)
		if err != nil || j >= len(known[list]) {
			continue
		}
		name := known[list][j]
		if at := slices.Index(sent[list], name); at >= 0 {
			placed[i].Field = fmt.Sprintf("%s[%d]%s", list, at, inside)
		} else {
			placed[i].Field, placed[i].Message = list, fmt.Sprintf("%q, which stays: %s", name, fault.Message)
		}
	}
	return placed
}

// Differences returns what differs in the JSON of two definitions, by path.
func Differences(before, after Definition) ([]Change, error) {
	a, err := asTree(before)
	if err != nil {
		return nil, err
	}
	b, err := asTree(after)
	if err != nil {
		return nil, err
	}
	return appendDifferences(nil, "", a, b), nil
}

// Same reports whether two definitions have the same meaning, however they are written.
func (d Definition) Same(other Definition) bool {
	changes, err := Differences(d, other)
	return err == nil && len(changes) == 0
}

func asTree(d Definition) (tree any, err error) {
	text, err := json.Marshal(d)
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	return tree, err
}

func appendDifferences(changes []Change, path string, a, b any) []Change {
	before, isObject := a.(map[string]any)
	after, isObjectToo := b.(map[string]any)
	if isObject && isObjectToo {
		return differencesByName(changes, path, before, after)
	}
	if list, other, ok := sameLists(a, b); ok {
		for i := range list {
			changes = appendDifferences(changes, fmt.Sprintf("%s[%s]", path, itemName(list[i], i)), list[i], other[i])
		}
		return changes
	}
	was, is := policy.AsJSON(a), policy.AsJSON(b)
	if bytes.Equal(was, is) {
		return changes
	}
	return append(changes, Change{Path: path, Before: was, After: is})
}

func differencesByName(changes []Change, path string, before, after map[string]any) []Change {
	both := maps.Clone(before)
	maps.Copy(both, after)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		at := name
		if path != "" {
			at = path + "." + name
		}
		changes = appendDifferences(changes, at, before[name], after[name])
	}
	return changes
}

// sameLists reports whether a and b are lists of the same number of objects, which are then
// compared one by one.
func sameLists(a, b any) (before, after []any, ok bool) {
	before, isList := a.([]any)
	after, isListToo := b.([]any)
	noObject := func(item any) bool {
		_, is := item.(map[string]any)
		return !is
	}
	ok = isList && isListToo && len(before) == len(after) && !slices.ContainsFunc(before, noObject) && !slices.ContainsFunc(after, noObject)
	return before, after, ok
}

func itemName(item any, i int) string {
	if name, ok := item.(map[string]any)["name"].(string); ok {
		return name
	}
	return fmt.Sprint(i)
}
