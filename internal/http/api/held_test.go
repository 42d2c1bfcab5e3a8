package api_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"headroom/internal/http/sitetest"
	"headroom/internal/must"
	"headroom/internal/study/ledger"
)

// TestHeldSettings: a script gives some settings and asks for the others; the ledger knows which, wherever
// it goes.
func TestHeldSettings(t *testing.T) {
	s := sitetest.Beside(t)
	path := "/studies/" + s.NewStudy(sitetest.Screen)
	s.API("POST", path+"/ask", `{"held": {"temperature": 1000}}`).Faults(422, "body.held.temperature")
	s.API("POST", path+"/ask", `{"held": {"Temperature": 30, "catalyst": "Z"}}`).Faults(422, "body.held.Temperature", "body.held.catalyst")
	s.API("POST", path+"/ask", `{"held": {"temperature": 30, "catalyst": "A"}}`).Faults(422, "body.held")
	s.API("POST", path+"/ask", `{"held": ["temperature"]}`).Faults(422, "body.held")
	for n := range 8 {
		ask := `{}`
		if n%2 == 1 {
			ask = `{"held": {"temperature": 31.25}}`
		}
		var asked struct{ Trials []ledger.Trial }
		s.API("POST", path+"/ask", ask).Want(201).Into(&asked)
		trial := asked.Trials[0]
		if held := len(trial.Held) == 1 && trial.Held[0] == "temperature" && trial.Parameters["temperature"].Number == 31.25; held != (n%2 == 1) {
			t.Errorf("of trial %d %v is held: %v", trial.Number, trial.Held, trial.Parameters)
		}
		s.API("POST", path+"/trials/"+strconv.Itoa(trial.Number)+"/tell", `{"metrics": {"yield": 70.5, "impurity": 0.3}}`).Want(200)
	}
	var bundle ledger.Bundle
	s.API("GET", path+"/export.json", nil).Want(200).Into(&bundle)
	copied := "/studies/" + s.API("POST", "/studies/import", bundle).Want(201).JSON()["id"].(string)
	for _, at := range []string{path, copied} {
		if verified := s.API("POST", at+"/verify", nil).Want(200).JSON(); verified["ok"] != true || verified["checked"] != 8. {
			t.Errorf("verifying %s: %v", at, verified)
		}
	}
	last := len(bundle.Events) - 2 // the last trial begins
	before := must.Get(ledger.Fold("x", nil, bundle.Events[:last], nil))(t)
	for held, want := range map[string]string{`["catalyst", "temperature"]`: "leaves nothing to be chosen", `["Temperature"]`: "Temperature", `["temperature", "temperature"]`: "not in the study's order", `["catalyst"]`: ""} {
		var data map[string]json.RawMessage
		must.Do(t, json.Unmarshal(bundle.Events[last].Data, &data))
		data["held"] = json.RawMessage(held)
		forged := must.Get(ledger.Next(before, bundle.Events[last].At, "Ana", ledger.Draft{Kind: ledger.Chosen, Data: data}))(t)
		other := bundle
		other.Version, other.Hash, other.Events = forged[0].Seq, forged[0].Hash, append(slices.Clip(bundle.Events[:last]), forged[0])
		answer := s.API("POST", "/studies/import", other)
		if want == "" { // which could be so: that the algorithm would choose otherwise is for verification
			copied := answer.Want(201).JSON()["id"].(string)
			if verified := s.API("POST", "/studies/"+copied+"/verify", nil).Want(200).JSON(); verified["ok"] != false {
				t.Errorf("verifying what was forged: %v", verified)
			}
			continue
		}
		sitetest.Says(t, answer.Faults(422)["body.events["+strconv.Itoa(last)+"]"], want)
	}
}

// TestACandidateIsRepeatedAsItself, not as another with the same settings.
func TestACandidateIsRepeatedAsItself(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(`{"name": "Twins", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "candidates": [{"x": 0.5}, {"x": 0.5}], "objective": {"metric": "y", "direction": "maximize"},
		"model": {"kernel": {"name": "covariance", "matrix": [[1, 0], [0, 1]]}, "fit": "fixed", "outputs": "raw", "lambda": 0.1}}`)
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201).Has("trials/0/candidate", 0)
	s.API("POST", "/studies/"+id+"/trials/1/tell", `{"metrics": {"y": -5}}`).Want(200)
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201).Has("trials/0/candidate", 1)
	s.API("POST", "/studies/"+id+"/trials/2/replicates", nil).Want(201).Has("candidate", 1)
}
