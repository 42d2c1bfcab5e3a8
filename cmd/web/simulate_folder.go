package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"headroom/internal/lab"
	"headroom/internal/lab/problems"
)

// folder is where a simulation keeps what it has played: plan.json says which experiment each label stands for, runs/LABEL/SEED.json
// is one finished seed.
type folder struct{ path string }

// openFolder makes the folder ready for the simulation. A folder of other experiments is refused unless the simulation starts over.
func openFolder(s simulation) (*folder, error) {
	f := &folder{s.folder}
	if s.fresh {
		if err := errors.Join(os.RemoveAll(f.file("runs")), remove(f.file("plan.json"))); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(f.path, 0o755); err != nil {
		return nil, err
	}
	plan := map[string]json.RawMessage{}
	content, err := os.ReadFile(f.file("plan.json"))
	if err == nil {
		err = json.Unmarshal(content, &plan)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w; -fresh starts over", f.file("plan.json"), err)
	}
	for _, l := range s.algorithms {
		own, err := describe(l.experiment)
		if err != nil {
			return nil, err
		}
		if old, ok := plan[l.label]; ok && !sameJSON(old, own) {
			return nil, fmt.Errorf("%s holds other runs of %s: %s, not %s; give another -out, or -fresh to start over", f.path, l.label, compact(old), own)
		}
		plan[l.label] = own
	}
	content, err = json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return nil, err
	}
	return f, replace(f.file("plan.json"), append(content, '\n'))
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// describe is the experiment as the plan keeps it, the number of rounds and the readings spelled out.
func describe(e lab.Experiment) (json.RawMessage, error) {
	e.Horizon = e.T()
	return json.Marshal(struct {
		lab.Experiment
		Table      *problems.Readings `json:",omitempty"`
		PriorTable *problems.Readings `json:",omitempty"`
	}{e, e.Readings, e.Prior})
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func compact(text []byte) string {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return string(text)
	}
	return out.String()
}

func (f *folder) file(parts ...string) string {
	return filepath.Join(append([]string{f.path}, parts...)...)
}

func (f *folder) seedFile(label string, seed uint64) string {
	return f.file("runs", label, fmt.Sprintf("%d.json", seed))
}

// has tells whether the seed is finished.
func (f *folder) has(label string, seed uint64) bool {
	_, err := os.Stat(f.seedFile(label, seed))
	return err == nil
}

// keep writes a finished seed.
func (f *folder) keep(label string, r *lab.Curves) error {
	content, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.file("runs", label), 0o755); err != nil {
		return err
	}
	return replace(f.seedFile(label, r.Seed), content)
}

// read returns the finished seeds 1..count of a label.
func (f *folder) read(label string, count int) ([]*lab.Curves, error) {
	var records []*lab.Curves
	for seed := 1; seed <= count; seed++ {
		content, err := os.ReadFile(f.seedFile(label, uint64(seed)))
		if err != nil {
			return nil, err
		}
		record := new(lab.Curves)
		if err := json.Unmarshal(content, record); err != nil {
			return nil, fmt.Errorf("%s: %w; remove it to play the seed again", f.seedFile(label, uint64(seed)), err)
		}
		records = append(records, record)
	}
	return records, nil
}

// replace writes a file whole or not at all.
func replace(path string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".writing-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}
