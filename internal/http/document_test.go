package http_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headroom/internal/http/sitetest"
	"headroom/internal/lists"
	"headroom/internal/must"
)

// TestDocumentIsSound: its schemas compile, and every reference leads somewhere.
func TestDocumentIsSound(t *testing.T) {
	s := sitetest.Beside(t)
	for name := range s.Document.At("components", "schemas") {
		if _, err := s.Document.Schema("components", "schemas", name); err != nil {
			t.Error(err)
		}
	}
	var walk func(node any)
	walk = func(node any) {
		switch node := node.(type) {
		case map[string]any:
			if ref, ok := node["$ref"].(string); ok {
				s.Document.At(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
			}
			if required, ok := node["required"].([]any); ok && len(required) == 0 {
				t.Errorf("OpenAPI 3.0 has no empty list of what is required: %v", node)
			}
			if text := string(must.Get(json.Marshal(node["anyOf"]))(t)); strings.Count(text, `"null"`) > 1 {
				t.Errorf("it is said twice that this may be null: %s", text)
			}
			for _, child := range node {
				walk(child)
			}
		case []any:
			for _, child := range node {
				walk(child)
			}
		}
	}
	walk(any(s.Document.At()))
}

// TestDocumentNamesTheKeyOfEveryWrite: what changes a study can be repeated under its key, by whichever
// method.
func TestDocumentNamesTheKeyOfEveryWrite(t *testing.T) {
	s := sitetest.Beside(t)
	writes := 0
	for path, methods := range s.Document.At("paths") {
		for method := range methods.(map[string]any) {
			parameters := must.Get(json.Marshal(s.Document.At("paths", path, method)["parameters"]))(t)
			if !strings.Contains(string(parameters), `"If-Match"`) {
				continue
			}
			if writes++; !strings.Contains(string(parameters), `"Idempotency-Key"`) {
				t.Errorf("%s %s does not say that it takes one", method, path)
			}
		}
	}
	if writes < 10 {
		t.Errorf("%d writes insist on a version", writes)
	}
}

// TestDocumentListsTheWords: it refuses the same words as the server.
func TestDocumentListsTheWords(t *testing.T) {
	s := sitetest.Beside(t)
	schema := must.Get(s.Document.Schema("components", "schemas", "DefinitionRequest"))(t)
	study := func(direction, op, scale, preset, inputs, outputs, fit, warp string) map[string]any {
		return map[string]any{
			"name": "Words", "parameters": []any{map[string]any{"name": "x", "type": "real", "low": 1.0, "high": 2.0, "scale": scale}},
			"objective":   map[string]any{"metric": "y", "direction": direction},
			"constraints": []any{map[string]any{"metric": "c", "op": op, "threshold": 1.0}},
			"algorithm":   map[string]any{"name": "cei", "preset": preset},
			"model":       map[string]any{"inputs": inputs, "outputs": outputs, "fit": fit, "warp": warp},
		}
	}
	right := []string{"maximize", "<=", "log", "paper", "unit", "standardize", "marginal_likelihood", "none"}
	for i := -1; i < len(right); i++ {
		words, status := slices.Clone(right), 201
		if i >= 0 {
			words[i], status = "other", 422
		}
		body := study(words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7])
		s.API("POST", "/studies", body).Want(status)
		if err := schema.Validate(body); (err == nil) != (status == 201) {
			t.Errorf("%v: %d, and the document says %v", words, status, err)
		}
	}
}

// TestDocsTellWhatHoldsForAll: what an author of scripts has to know of every request stands on the page,
// too.
func TestDocsTellWhatHoldsForAll(t *testing.T) {
	s := sitetest.Beside(t)
	said := s.Document.At("info")["description"].(string)
	page := html.UnescapeString(string(s.API("GET", "/docs", nil).Want(200).Body))
	for _, word := range []string{"Retry-After", "If-None-Match", "Idempotency-Key", "8 MiB", "finite"} {
		if !strings.Contains(said, word) || !strings.Contains(page, word) {
			t.Errorf("nothing is said of %s", word)
		}
	}
}

// clientsDocument is what the clients are generated from.
const clientsDocument = "../../clients/openapi.json"

// TestClientsDocumentIsTheServers: the clients in this repository are made from the document as the
// server gives it now.
func TestClientsDocumentIsTheServers(t *testing.T) {
	s := sitetest.Beside(t)
	answer := s.API("GET", "/openapi.json?version=3.0", nil).Want(200)
	examples := func(of []byte) int { return bytes.Count(of, []byte(`"example":`)) }
	sitetest.Same(t, "examples in 3.0", examples(answer.Body), examples(s.API("GET", "/openapi.json", nil).Want(200).Body))
	tree := answer.JSON()
	delete(tree, "servers") // whoever uses a client says where the server is
	tree["info"].(map[string]any)["version"] = "1"
	withoutExamples(tree)
	text := must.Get(json.MarshalIndent(tree, "", " "))(t)
	text = append(text, '\n')
	if *update {
		must.Do(t, os.WriteFile(clientsDocument, text, 0o644))
		return
	}
	stored := must.Get(os.ReadFile(clientsDocument))(t)
	if string(stored) != string(text) {
		t.Error("clients/openapi.json is not what the server says: see clients/README.md")
	}
}

func withoutExamples(node any) {
	switch node := node.(type) {
	case map[string]any:
		delete(node, "example")
		for _, child := range node {
			withoutExamples(child)
		}
	case []any:
		for _, child := range node {
			withoutExamples(child)
		}
	}
}

var update = flag.Bool("update", false, "write the API's examples and the clients' document anew")

const examplesFile = "api/examples.json"

// story plays requests one after another and keeps each with its answer under the operation's id.
type story struct {
	t     *testing.T
	s     *sitetest.Site
	raw   map[string]exchange
	known []string // what differs from run to run, each before what the examples say instead
	names *strings.Replacer
}

// exchange is what was really sent and answered.
type exchange struct{ path, request, answer string }

// call makes a request of the API and keeps it with its answer.
func (st *story) call(operation, method, path string, body any, headers ...string) sitetest.Answer {
	st.t.Helper()
	answer := st.s.API(method, path, body, headers...)
	if answer.Status >= 300 {
		st.t.Fatalf("%s: %d %s", operation, answer.Status, answer.Body)
	}
	text, _ := body.(string)
	st.raw[operation] = exchange{method + " /api/v1" + path, text, string(answer.Body)}
	return answer
}

// rename lets the examples say name wherever value stands.
func (st *story) rename(value any, name string) {
	st.known = append(st.known, fmt.Sprint(value), name)
}

// examples are the exchanges, fit to be read.
func (st *story) examples() map[string]map[string]any {
	st.names = strings.NewReplacer(st.known...)
	all := map[string]map[string]any{}
	for operation, raw := range st.raw {
		all[operation] = map[string]any{"path": st.said(raw.path)}
		for name, text := range map[string]string{"request": raw.request, "answer": raw.answer} {
			if text != "" {
				all[operation][name] = st.plain(text)
			}
		}
	}
	return all
}

var (
	aTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`)
	aHash = regexp.MustCompile(`[0-9a-f]{64}`)
)

func (st *story) said(text string) string {
	text = aTime.ReplaceAllString(st.names.Replace(text), "2026-01-02T03:04:05Z")
	return aHash.ReplaceAllString(text, strings.Repeat("9f86d081884c7d65", 4))
}

// plain reads what was sent: a value if it is JSON, else text.
func (st *story) plain(text string) any {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return st.said(text)
	}
	return st.shortened(value)
}

// shortened is a value for people to read: six digits, and three of a list.
func (st *story) shortened(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, member := range value {
			out[st.said(key)] = st.shortened(member)
		}
		return out
	case []any:
		return lists.Map(value[:min(len(value), 3)], st.shortened)
	case string:
		return st.said(value)
	case float64:
		short, _ := strconv.ParseFloat(fmt.Sprintf("%.6g", value), 64)
		return short
	}
	return value
}

// TestExamplesAreTrue: the example of every operation in the OpenAPI document was sent to a server
// and answered like this.
func TestExamplesAreTrue(t *testing.T) {
	t.Parallel()
	st := &story{t: t, s: sitetest.New(t), raw: map[string]exchange{}}
	playExamples(st)
	examples := st.examples()
	for pattern, operations := range st.s.Document.At("paths") {
		for _, operation := range operations.(map[string]any) {
			id := operation.(map[string]any)["operationId"].(string)
			if examples[id] == nil && id != "readDocument" && id != "browseDocument" {
				t.Errorf("%s (%s) has no example", id, pattern)
			}
		}
	}
	if *update {
		text := must.Get(json.MarshalIndent(examples, "", "  "))(t)
		must.Do(t, os.WriteFile(examplesFile, append(text, '\n'), 0o644))
		return
	}
	text := must.Get(os.ReadFile(examplesFile))(t)
	var documented map[string]map[string]any
	must.Do(t, json.Unmarshal(text, &documented))
	// Processors round differently in the last digits, and a search follows.
	about := cmpopts.EquateApprox(0.01, 1e-6)
	if diff := cmp.Diff(documented, examples, about, cmp.Comparer(sameSentence)); diff != "" {
		t.Errorf("the examples are not what the server says (go test ./internal/http -run TestExamplesAreTrue -update writes them anew):\n%s", diff)
	}
}

var aNumber = regexp.MustCompile(`-?\d+(\.\d+)?([eE]-?\d+)?`)

// sameSentence compares texts but for their numbers, which must be near.
func sameSentence(a, b string) bool {
	if aNumber.ReplaceAllString(a, "0") != aNumber.ReplaceAllString(b, "0") {
		return false
	}
	x, y := aNumber.FindAllString(a, -1), aNumber.FindAllString(b, -1)
	for i := range x {
		p, _ := strconv.ParseFloat(x[i], 64)
		q, _ := strconv.ParseFloat(y[i], 64)
		if math.Abs(p-q) > 0.02*math.Abs(p)+1e-6 {
			return false
		}
	}
	return true
}

func playExamples(st *story) {
	made := st.call("createStudy", "POST", "/studies", sitetest.Screen)
	id := fmt.Sprint(made.JSON()["id"])
	st.rename(id, "k3v9x2m7qd4t")
	study := "/studies/" + id

	st.call("listStudies", "GET", "/studies", nil)
	st.call("readStudy", "GET", study, nil)
	st.call("editStudy", "PATCH", study, `{"description": "Plates of 96 wells; the buffer is made fresh each day."}`)

	st.call("ask", "POST", study+"/ask", `{"count": 2}`)
	st.call("readTrial", "GET", study+"/trials/1?wait=0", nil)
	st.call("tell", "POST", study+"/trials/1/tell",
		`{"metrics": {"yield": 71.2, "impurity": {"value": 0.31, "stddev": 0.02}}, "note": "second column"}`)
	st.call("tellMany", "POST", study+"/tell", `{"trials": [{"number": 2, "metrics": {"yield": 64.9, "impurity": 0.62}}]}`)
	st.call("correct", "POST", study+"/trials/2/corrections", `{"metrics": {"impurity": 0.26}, "reason": "read from the wrong line"}`)
	st.call("addTrial", "POST", study+"/trials", `{"parameters": {"temperature": 45, "catalyst": "B"}, "metrics": {"yield": 77.4, "impurity": 0.44}}`)
	st.call("replicate", "POST", study+"/trials/3/replicates", `{}`)
	st.s.API("POST", study+"/trials/4/tell", `{"metrics": {"yield": 7.74}}`).Want(200)
	st.call("undo", "POST", study+"/trials/4/undo", `{}`)
	st.call("fail", "POST", study+"/trials/4/fail", `{"reason": "The pump stopped.", "cause": "chance"}`)
	st.s.API("POST", study+"/ask", `{}`).Want(201)
	st.call("abandon", "POST", study+"/trials/5/abandon", `{"reason": "The catalyst ran out."}`)
	st.call("exclude", "POST", study+"/trials/1/exclude", `{"reason": "The thermostat was off."}`)
	st.call("include", "POST", study+"/trials/1/include", `{"reason": "The thermostat was right after all."}`)
	st.s.API("POST", study+"/trials", `{"parameters": {"temperature": 55, "catalyst": "A"}, "metrics": {"yield": 121.7, "impurity": 0.4}}`).Want(201)
	st.call("confirm", "POST", study+"/trials/6/confirm", `{}`)
	st.call("reconfigureStudy", "POST", study+"/reconfigure", `{"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.45, "unit": "%"}], "reason": "The customer asks for less."}`)

	st.call("listTrials", "GET", study+"/trials?limit=2&status=completed", nil)
	st.call("readState", "GET", study+"/state", nil)
	points := `{"points": [{"temperature": 40, "catalyst": "A"}, {"temperature": 50, "catalyst": "B"}]}`
	st.call("posterior", "POST", study+"/posterior", points)
	st.call("acquisition", "POST", study+"/acquisition", points)
	st.call("compare", "POST", study+"/compare", `{"algorithms": [{"name": "log-cei"}, {"name": "cei"}]}`)
	st.call("history", "GET", study+"/history", nil)
	st.call("price", "GET", study+"/price?constraint=impurity", nil)
	st.call("verify", "POST", study+"/verify", `{}`)
	st.call("ledger", "GET", study+"/ledger?limit=2", nil)
	events := listen(st.t, st.s, "/api/v1"+study+"/events?after=0", st.s.Admin)
	st.raw["events"] = exchange{path: "GET /api/v1" + study + "/events?after=0", answer: events.next() + "\n"}

	st.call("exportCSV", "GET", study+"/export.csv", nil)
	st.call("importCSV", "POST", study+"/import", "temperature;catalyst;yield;impurity\n42,5;A;70,1;0,38\n", "Content-Type", "text/csv")
	table := st.s.API("GET", study, nil).JSON()["version"]
	st.call("undoMany", "POST", study+"/undo", fmt.Sprintf(`{"event": %v, "reason": "The table was another study’s."}`, table))
	small := st.s.NewStudy(sitetest.Screen)
	st.rename(small, "b7h2w5c8zr6n")
	bundle := st.call("exportBundle", "GET", "/studies/"+small+"/export.json", nil)
	imported := st.call("importBundle", "POST", "/studies/import", string(bundle.Body))
	st.rename(imported.JSON()["id"], "f4j8s3y6pk9e")

	token := st.call("createToken", "POST", "/tokens", `{"name": "plate reader", "role": "operator", "study_id": "`+id+`", "expires_at": "2099-01-01T00:00:00Z"}`)
	st.rename(token.JSON()["token"], "headroom_SECRET")
	st.rename(token.JSON()["id"], "t5g8")
	listed := st.call("listTokens", "GET", "/tokens", nil)
	for _, other := range listed.JSON()["tokens"].([]any) {
		st.rename(other.(map[string]any)["id"], "a1c3")
	}
	st.call("revokeToken", "DELETE", fmt.Sprint("/tokens/", token.JSON()["id"]), nil)
	share := st.call("createShare", "POST", study+"/shares", `{"name": "for the review"}`)
	_, secret, _ := strings.Cut(fmt.Sprint(share.JSON()["url"]), "/share/")
	st.rename(secret, "SECRET")
	st.rename(share.JSON()["id"], "s2m7")
	st.call("listShares", "GET", study+"/shares", nil)
	st.call("revokeShare", "DELETE", fmt.Sprint(study, "/shares/", share.JSON()["id"]), nil)
	st.call("listAlgorithms", "GET", "/algorithms", nil)
}
