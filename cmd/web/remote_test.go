package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"headroom/internal/db/dbtest"
	"headroom/internal/http/problem"
	"headroom/internal/must"
	"headroom/internal/mutation"
	"headroom/internal/study/ledger"
)

const limitedStudy = `{"name": "remote", "parameters": [{"name": "temperature", "type": "real", "low": 20, "high": 60}],
	"objective": {"metric": "yield", "direction": "maximize"}, "constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"}]}`

// A script of the shell: ask, tell, fail, export and watch against a running server, the complaints
// included.
func TestCommandsAskAServer(t *testing.T) {
	t.Parallel()
	folder := dbtest.Folder(t)
	server := serving(t, folder)
	settings := []string{"HEADROOM_PUBLIC_URL=" + server.url}
	said := func(args ...string) string {
		t.Helper()
		text, complaint, err := output(t, program(t, folder, settings, args...))
		if err != nil {
			t.Fatalf("headroom %s: %s", strings.Join(args, " "), complaint)
		}
		return text
	}
	complained := func(want string, args ...string) {
		t.Helper()
		if _, complaint, err := output(t, program(t, folder, settings, args...)); err == nil || !isOneLine(complaint, want) {
			t.Errorf("headroom %s: %q, %v; want %q", strings.Join(args, " "), complaint, err, want)
		}
	}
	token := strings.TrimSpace(said("token", "-name", "shell"))
	_, made := server.send("POST", "/api/v1/studies", token, limitedStudy)
	var study struct{ ID string }
	must.Do(t, json.Unmarshal([]byte(made), &study))

	said("token", "-name", "reader", "-role", "viewer", "-study", study.ID, "-days", "2")
	_, listed := server.get(folder, "/api/v1/tokens")
	var tokens struct {
		Tokens []struct {
			Name, Role string
			StudyID    string    `json:"study_id"`
			ExpiresAt  time.Time `json:"expires_at"`
		}
	}
	must.Do(t, json.Unmarshal([]byte(listed), &tokens)) // the newest first
	reader := tokens.Tokens[0]
	if left := time.Until(reader.ExpiresAt); reader.Name != "reader" || reader.Role != "viewer" || reader.StudyID != study.ID || left < 36*time.Hour || left > 60*time.Hour {
		t.Errorf("token made %+v", reader)
	}

	watching := program(t, folder, settings, "watch", study.ID, "-json", "-after", "1")
	stream := must.Get(watching.StdoutPipe())(t)
	var lastWords bytes.Buffer
	watching.Stderr = &lastWords
	must.Do(t, watching.Start())

	if text := said("ask", study.ID, "-count", "3"); !strings.Contains(text, "trial 2, suggested\n  temperature\t") {
		t.Errorf("ask said %q", text)
	}
	if text := said("tell", study.ID, "1", "yield=71.2", "impurity=0.31±0.02", "-note", "by hand"); !strings.Contains(text, "trial 1, completed") || !strings.Contains(text, "impurity\t0.31±0.02\n") {
		t.Errorf("tell said %q", text)
	}
	var trial struct {
		Metrics map[string]struct{ Value, StdDev float64 }
		Note    string
	}
	if err := json.Unmarshal([]byte(said("tell", "--json", study.ID, "2", "impurity=0.2 +- 0.01")), &trial); err != nil || trial.Metrics["impurity"].StdDev != 0.01 {
		t.Errorf("tell -json said %+v, %v", trial, err)
	}
	if text := said("tell", study.ID, "3", "impurity=270"); !strings.Contains(text, "  impurity\t270\n  in doubt: Impurity 270") {
		t.Errorf("tell said of a slip %q", text)
	}
	said("ask", study.ID)
	_, made = server.send("POST", "/api/v1/studies", token, `{"name": "Plates", "parameters": [{"name": "oven", "type": "real", "low": 20, "high": 80}, {"name": "plate", "type": "categorical", "choices": ["1", "2"]},
		{"name": "time", "type": "real", "low": 1, "high": 2}], "objective": {"metric": "y", "direction": "maximize"}}`)
	var plates struct{ ID string }
	must.Do(t, json.Unmarshal([]byte(made), &plates))
	if text := said("ask", plates.ID, "oven=41.5", `plate="2"`); !strings.Contains(text, "oven\t41.5\n  plate\t2\n") || !strings.Contains(text, "held, as asked: oven 41.5 and plate 2") {
		t.Errorf("ask said %q", text)
	}
	if text := said("studies"); !strings.HasPrefix(text, plates.ID+"\topen\t1\t1\tPlates\n"+study.ID+"\topen\t4\t") || strings.Count(text, "\n") != 2 {
		t.Errorf("studies said %q", text)
	}
	if text := said("studies", "-json", "OVEN", "plates"); !strings.HasPrefix(text, `{"id":"`+plates.ID+`"`) || strings.Count(text, "\n") != 1 {
		t.Errorf("studies -json said %q", text)
	}
	if text := said("studies", "oven temperature"); text != "" {
		t.Errorf("studies that are none said %q", text)
	}
	if text := said("fail", study.ID, "4", "it boiled over"); !strings.Contains(text, "trial 4, failed\n") {
		t.Errorf("fail said %q", text)
	}
	said("ask", study.ID)
	if text := said("fail", "-json", "-chance", study.ID, "5", "no power"); !strings.Contains(text, `"cause":"chance"`) {
		t.Errorf("fail -chance said %q", text)
	}
	if text := said("export", study.ID); !strings.HasPrefix(text, "number,status,temperature,yield,impurity,impurity stddev,note\n1,completed,") || !strings.Contains(text, ",71.2,0.31,0.02,by hand\n") {
		t.Errorf("export said %q", text)
	}
	if text := said("export", "-json", study.ID); !strings.Contains(text, `"kind":"told"`) {
		t.Errorf("export -json said %.200q", text)
	}

	if text := said("ask", plates.ID, "-count", "51"); strings.Count(text, ", suggested\n") != 51 || !strings.Contains(text, "trial 52, suggested\n") {
		t.Errorf("ask for more than one answer has said %q", text)
	}
	results := filepath.Join(t.TempDir(), "results.csv")
	must.Do(t, os.WriteFile(results, []byte(strings.ReplaceAll(said("export", plates.ID, "-status", "suggested,partial"), ",,", ",70,")), 0o600))
	if text := said("import", plates.ID, results, "-dry-run"); !strings.HasPrefix(text, "columns: 52 rows have the number and settings of trials that wait for results") || !strings.Contains(text, "\n52 trials 53 54 ") {
		t.Errorf("import -dry-run said %q", text)
	}
	if text := said("import", plates.ID, results, "-by-number"); !strings.HasPrefix(text, "52 trials 1 2 3 ") {
		t.Errorf("import -by-number said %q", text)
	}
	if text := said("import", plates.ID, results, "-by-number"); text != "0 trials\n" {
		t.Errorf("the same table again said %q", text)
	}
	must.Do(t, os.WriteFile(results, []byte("number,y\n3,71\n"), 0o600))
	complained("line 2, y: trial 3 has 70 already; to correct it, give a reason", "import", plates.ID, results, "-by-number")
	if text := said("import", plates.ID, results, "-by-number", "-reason", "wrong well"); text != "1 trial 3\n" {
		t.Errorf("a correction said %q", text)
	}
	must.Do(t, os.WriteFile(results, []byte("number\ty\n4\t1,200\n"), 0o600))
	complained("decimal=comma or decimal=point says it", "import", plates.ID, results, "-by-number", "-reason", "misread")
	if text := said("import", plates.ID, results, "-by-number", "-reason", "misread", "-decimal", "comma"); text != "1 trial 4\n" {
		t.Errorf("with a decimal comma it said %q", text)
	}
	must.Do(t, os.WriteFile(results, []byte("oven,plate,time,y\n85,1,1.5,1\n"), 0o600))
	complained("beyond_bounds=true", "import", plates.ID, results)
	if text := said("import", plates.ID, results, "-beyond-bounds"); !strings.HasPrefix(text, "1 trial ") {
		t.Errorf("beyond the bounds it said %q", text)
	}
	var asked struct{ Trials []struct{ Number int } }
	if err := json.Unmarshal([]byte(said("ask", plates.ID, "-json", "-count", "51")), &asked); err != nil || len(asked.Trials) != 51 || asked.Trials[50].Number != 104 {
		t.Errorf("asked for more than one answer has, -json said %+v, %v", asked, err)
	}
	complained("leave out -status", "export", "-json", plates.ID, "-status", "suggested")

	// From another machine, and through a pipe.
	elsewhere := []string{"HEADROOM_URL=" + server.url, "HEADROOM_TOKEN=" + token}
	bundle, complaint, err := output(t, program(t, dbtest.Folder(t), elsewhere, "export", "-json", study.ID))
	if err != nil {
		t.Fatal(complaint)
	}
	verifying := program(t, folder, nil, "verify", "-")
	verifying.Stdin = strings.NewReader(bundle)
	if text, complaint, err := output(t, verifying); err != nil || !strings.Contains(text, `"ok": true`) {
		t.Errorf("verify - said %s %s", text, complaint)
	}
	if text, complaint, err := output(t, program(t, dbtest.Folder(t), elsewhere, "health")); err != nil || text != "ready\n" {
		t.Errorf("health said %s %s", text, complaint)
	}
	if _, complaint, err := output(t, program(t, folder, elsewhere[:1], "export", study.ID)); err == nil || !isOneLine(complaint, "HEADROOM_TOKEN") {
		t.Errorf("the admin token of this machine was shown to another: %q", complaint)
	}

	var kinds []string
	for lines := bufio.NewScanner(stream); len(kinds) < 10 && lines.Scan(); {
		var event struct{ Kind string }
		must.Do(t, json.Unmarshal(lines.Bytes(), &event))
		kinds = append(kinds, event.Kind)
	}
	// Nobody reads on, and nothing comes that it would notice by: it ends all the same, and
	// quietly.
	must.Do(t, stream.Close())
	if err := watching.Wait(); watching.ProcessState.ExitCode() != brokenPipe || lastWords.Len() > 0 {
		t.Errorf("watch without a reader: %v %s", err, lastWords.String())
	}
	if got := strings.Join(kinds, " "); got != "chosen chosen chosen told told told chosen failed chosen failed" {
		t.Errorf("watch said %s", got)
	}

	complained("told already", "tell", study.ID, "1", "yield=3")
	complained(`did you mean "yield"`, "tell", study.ID, "2", "yeld=3")
	complained("headroom: count: between 1 and 50", "ask", study.ID, "-count", "0")
	complained("held.temperature: must be a number", "ask", study.ID, "temperature=warm")
	complained("each setting once", "ask", study.ID, "temperature=41", "temperature=42")
	complained(`"x" for flag -count: see “headroom ask -h”`, "ask", study.ID, "-count", "x")
	complained("headroom: -days: is in the past", "token", "-days", "-1")
	complained("yield=NaN: write a number such as", "tell", study.ID, "2", "yield=NaN")
	complained("must look like", "tell", study.ID, "2", "yield")
	complained("not the number of a trial", "tell", study.ID, "first", "yield=3")
	complained("There is no study nosuchstudy", "ask", "nosuchstudy")
	complained("headroom fail STUDY NUMBER REASON", "fail", study.ID, "2")
	complained("headroom ask STUDY", "ask")
	settings = append(settings, "HEADROOM_TOKEN=headroom_wrong")
	complained("link or session is not known: put an API token into HEADROOM_TOKEN", "ask", study.ID)
	server.interrupt()
}

// What a server that is starting did not answer, or not to the end, is asked for again, as the same
// request: under one key it counts once.
func TestCommandsAskAgainUnderOneKey(t *testing.T) {
	t.Parallel()
	type request struct{ credentials, key, body string }
	var asked []request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, request{r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), string(body)})
		if len(asked) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if len(asked) == 2 { // the server ends in the middle of its answer
			w.Header().Set("Content-Length", "99")
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"trials": []}`)
	}))
	defer server.Close()
	r := &remote{address: server.URL, token: "secret", out: io.Discard, client: http.DefaultClient}
	var answer struct{ Trials []ledger.Trial }
	must.Do(t, r.post(t.Context(), "study", "ask", map[string]int64{"count": 2}, &answer))
	if len(asked) != 3 || asked[0] != asked[1] || asked[1] != asked[2] || asked[0].key == "" || asked[0].credentials != "Bearer secret" || asked[0].body != `{"count":2}` {
		t.Errorf("asked %+v", asked)
	}
}

// TestCommandsWaitWhereTheyAreAskedTo: who has too much under way is told when to come again, and
// does, under the same key; who has to wait for long, as for a credential that is wrong, is told so.
func TestCommandsWaitWhereTheyAreAskedTo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, one := range []struct {
			answer *problem.Problem
			asks   int
			waits  time.Duration
		}{
			{problem.TooMuch("There are too many requests under way."), 2, 5 * time.Second},
			{problem.Unavailable("The database cannot be reached."), 2, 5 * time.Second},
			{problem.TooMany, 1, 0},
		} {
			var keys []string
			server := &remote{address: "http://server", out: io.Discard, client: &http.Client{Transport: roundTrip(func(r *http.Request) *http.Response {
				answer := httptest.NewRecorder()
				if keys = append(keys, r.Header.Get("Idempotency-Key")); len(keys) == 1 {
					answer.Header().Set("Retry-After", strconv.Itoa(one.answer.RetryAfter)) // as the server does
					problem.Write(answer, one.answer)
				} else {
					answer.Header().Set("Content-Type", "application/json")
					io.WriteString(answer, `{}`)
				}
				return answer.Result()
			})}}
			began := time.Now()
			err := server.post(t.Context(), "study", "ask", nil, &struct{}{})
			if waited := time.Since(began); len(keys) != one.asks || keys[0] != keys[len(keys)-1] || (err == nil) != (one.asks == 2) || waited != one.waits {
				t.Errorf("%s: after %d requests and %v it says %v", one.answer.Detail, len(keys), waited, err)
			}
		}
	})
}

type roundTrip func(*http.Request) *http.Response

func (answer roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return answer(r), nil }

// TestCommandsKnowTheServerByItsAnswers: the page of a proxy, or an empty answer, is none of its, and
// is neither taken for one nor written as one.
func TestCommandsKnowTheServerByItsAnswers(t *testing.T) {
	t.Parallel()
	for what, answer := range map[string]http.HandlerFunc{
		"a page": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "<!doctype html><p>Sign in to the hotel")
		},
		"nothing": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	} {
		server := httptest.NewServer(answer)
		defer server.Close()
		settings := []string{"HEADROOM_URL=" + server.URL, "HEADROOM_TOKEN=secret"}
		for _, words := range []string{"studies", "ask study", "tell study 1 y=2 -json", "export study", "export study -json", "watch study"} {
			said, complaint, err := output(t, program(t, t.TempDir(), settings, strings.Fields(words)...))
			if err == nil || said != "" || !isOneLine(complaint, "what answers at "+server.URL+" is not Headroom") {
				t.Errorf("%s: headroom %s: %q, %q, %v", what, words, said, complaint, err)
			}
		}
	}
}

// TestCommandsSayThatAnAnswerBrokeOff: of a table that is written as it comes, so that it is not taken
// for the whole.
func TestCommandsSayThatAnAnswerBrokeOff(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		w.Header().Set("Content-Length", "99")
		io.WriteString(w, "number,status\n")
	}))
	defer server.Close()
	settings := []string{"HEADROOM_URL=" + server.URL, "HEADROOM_TOKEN=secret"}
	if _, complaint, err := output(t, program(t, t.TempDir(), settings, "export", "study")); err == nil || !isOneLine(complaint, "the answer broke off") {
		t.Errorf("%q, %v", complaint, err)
	}
}

// TestWatchOutlivesAnUpgrade: a server that was there is waited for, however long it is away.
func TestWatchOutlivesAnUpgrade(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked++; {
		case asked == 1:
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"seq\": 7}\n\n") // and breaks off
		case asked < 3+remoteTries:
			w.WriteHeader(http.StatusBadGateway)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			if r.URL.Query().Get("after") != "7" {
				t.Errorf("it asks for %s", r.URL)
			}
			stop()
		}
	}))
	defer server.Close()
	if err := (&remote{address: server.URL, token: "secret", out: io.Discard, asides: io.Discard, client: http.DefaultClient}).watch(ctx, "study", 0); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if asked < 3+remoteTries {
		t.Errorf("it asked %d times", asked)
	}
}

// TestCommandsEndAtASilentServer: one that takes the connection, and then says nothing, or stops in
// the middle.
func TestCommandsEndAtASilentServer(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/csv")
			io.WriteString(w, "number,status\n")
			_ = http.NewResponseController(w).Flush() // the program may have given it up
		}
		<-over
	}))
	defer server.Close()
	defer close(over)
	settings := []string{"HEADROOM_URL=" + server.URL, "HEADROOM_TOKEN=secret"}
	for words, says := range map[string]string{
		"ask -timeout 50ms study":    "did not answer in time: it is starting, is frozen or has too much to do; its log says which. What you asked for may still be done",
		"export study -timeout=50ms": "the server at " + server.URL + " did not answer in time",
	} {
		if _, complaint, err := output(t, program(t, t.TempDir(), settings, strings.Fields(words)...)); err == nil || !isOneLine(complaint, says) {
			t.Errorf("headroom %s: %q, %v, not that it %q", words, complaint, err, says)
		}
	}
}

// TestWatchSaysThatItWaits: for a server that never answers, and for one that fell silent, once each
// time.
func TestWatchSaysThatItWaits(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 2 {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"seq\": 7}\n\n")
			_ = http.NewResponseController(w).Flush() // the program may have given it up
		}
		<-r.Context().Done()
	}))
	defer server.Close()
	said, asides := io.Pipe()
	var told bytes.Buffer
	ended := make(chan error)
	go func() {
		r := &remote{address: server.URL, token: "secret", out: &told, asides: asides, silence: 50 * time.Millisecond, client: http.DefaultClient}
		ended <- r.watch(ctx, "study", 0)
	}()
	lines := bufio.NewScanner(said)
	for _, want := range []string{"does not answer; waiting for it", "answers again", "does not answer; waiting for it"} {
		if want = "headroom: the server at " + server.URL + " " + want; !lines.Scan() || lines.Text() != want {
			t.Errorf("it said %q, not %q", lines.Text(), want)
		}
	}
	stop()
	must.Do(t, said.Close())
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !strings.Contains(told.String(), "7\t") {
		t.Errorf("of the study it said %q", told.String())
	}
}

// TestAPagerIsNoSilence: while nobody reads on, nobody waits for the server.
func TestAPagerIsNoSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := io.Pipe()
		answer := (&remote{silence: time.Minute}).listen(t.Context())
		answer.timer.Stop() // that it is one
		answer.ReadCloser = from
		go func() { _, _ = to.Write([]byte("two")) }()
		for range 2 {
			time.Sleep(time.Hour) // of the test's own clock
			if n, err := answer.Read(make([]byte, 2)); n == 0 || err != nil || answer.ctx.Err() != nil {
				t.Errorf("after an hour at a page it reads %d bytes, %v, and the request is ended by %v", n, err, context.Cause(answer.ctx))
			}
		}
		go func() { _, _ = answer.Read(make([]byte, 2)) }()
		time.Sleep(2 * time.Minute)
		if err := context.Cause(answer.ctx); !errors.Is(err, errSilent) {
			t.Errorf("of a silent server it says %v", err)
		}
		must.Do(t, to.Close())
	})
}

// TestHealthSaysWhatIsSo: of a server that starts, is away or says that it is not ready, and of what
// is no such server, in words of its own.
func TestHealthSaysWhatIsSo(t *testing.T) {
	t.Parallel()
	starting := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer starting.Close()
	silent := "http://" + starting.Addr().String()
	answers := func(answer http.HandlerFunc) string {
		server := httptest.NewServer(answer)
		t.Cleanup(server.Close)
		return server.URL
	}
	another := answers(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "<h1>Welcome to nginx!</h1>") })
	secured := httptest.NewTLSServer(http.NotFoundHandler())
	defer secured.Close()
	for address, says := range map[string]string{
		"http://127.0.0.1:1": "no server answers at",
		silent:               "did not answer in time: it is starting, is frozen or has too much to do",
		another:              "is not Headroom",
		strings.Replace(another, "http", "https", 1): "cannot be asked",
		secured.URL: "SSL_CERT_FILE",
		strings.Replace(secured.URL, "https", "http", 1):                                                          `says 400 Bad Request: "Client sent an HTTP request to an HTTPS server."`,
		answers(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "\x1b[2J", http.StatusBadGateway) }): `says 502 Bad Gateway: "\x1b[2J"`,
		answers(http.NotFound): "says 404 Not Found",
		answers(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }): "cannot be asked",
		answers(func(w http.ResponseWriter, _ *http.Request) {
			problem.Write(w, problem.Unavailable("The database cannot be reached."))
		}): "The database cannot be reached.",
	} {
		patience := time.Minute // for those that answer, however busy this machine is
		if address == silent {
			patience = 100 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := ready(ctx, http.DefaultClient, address)
		cancel()
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "Get ") {
			t.Errorf("of %s it says %v, not that it %q", address, err, says)
		}
	}
}

// clientsOf serves, and returns what makes a program outside one of its clients.
func clientsOf(t *testing.T) (server *running, client func(name string, args ...string) *exec.Cmd) {
	t.Helper()
	folder := dbtest.Folder(t)
	server = serving(t, folder)
	token, complaint, err := output(t, program(t, folder, nil, "token", "-name", "client"))
	if err != nil {
		t.Fatal(complaint)
	}
	return server, func(name string, args ...string) *exec.Cmd {
		run := exec.CommandContext(t.Context(), name, args...)
		run.Env = append(run.Environ(), "HEADROOM_URL="+server.url, "HEADROOM_TOKEN="+strings.TrimSpace(token), "TRIALS=6", "PYTHONDONTWRITEBYTECODE=1")
		return run
	}
}

// The examples play their studies to the end.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	server, client := clientsOf(t)
	for _, example := range []struct{ program, file string }{{"bash", "loop.sh"}, {"python3", "loop.py"}} {
		text, complaint, err := output(t, client(example.program, "../../examples/"+example.file))
		if err != nil {
			t.Errorf("%s: %v %s", example.file, err, complaint)
		}
		if !strings.Contains(text, "trial 6: ") || !strings.Contains(text, "recommended: ") || strings.Contains(text, "recommended: None") {
			t.Errorf("%s said %q", example.file, text)
		}
	}
	server.interrupt()
}

// TestExamplesAskAgain: of a server that ends before its answer, or in the middle of it, or is away,
// the examples ask again what they asked, under the same key; what they are refused for they say. They
// do so where decimals have commas, and by an address with a slash at its end.
func TestExamplesAskAgain(t *testing.T) {
	t.Parallel()
	server, client := clientsOf(t)
	forward := httputil.NewSingleHostReverseProxy(must.Get(url.Parse(server.url))(t))
	var mutex sync.Mutex
	var keys []string // of the requests so far
	asked := func(more ...string) []string {
		mutex.Lock()
		defer mutex.Unlock()
		keys = append(keys, more...)
		return slices.Clone(keys)
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch len(asked(r.Header.Get("Idempotency-Key"))) {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, `{"status":503}`)
		case 3:
			w.Header().Set("Content-Length", "99")
			fmt.Fprintln(w, `{"id":"cut"`)
		default:
			forward.ServeHTTP(w, r)
		}
	}))
	defer proxy.Close()
	tools := t.TempDir()
	awk := must.Get(exec.LookPath("awk"))(t)
	must.Do(t, os.WriteFile(filepath.Join(tools, "awk"), []byte("#!/bin/sh\n[ \"$LC_ALL\" = C ] && exec "+awk+" \"$@\"\n"+awk+" \"$@\" | tr . ,\n"), 0o700))
	for file, program := range map[string]string{"loop.sh": "bash", "loop.py": "python3"} {
		play := func(more ...string) (text, complaint string, err error) {
			run := client(program, "../../examples/"+file)
			run.Env = append(append(run.Env, "LC_ALL=de_DE.UTF-8", "PATH="+tools+":"+os.Getenv("PATH"), "HEADROOM_URL="+proxy.URL+"/", "TRIALS=2"), more...)
			return output(t, run)
		}
		mutex.Lock()
		keys = nil
		mutex.Unlock()
		if text, complaint, err := play(); err != nil || !strings.Contains(text, "trial 2: ") {
			t.Errorf("%s: %v %s, said %q", file, err, complaint, text)
		}
		under := asked()
		if len(under) < 5 || under[0] == "" || under[0] != under[1] || under[1] != under[2] || under[2] != under[3] || under[3] == under[4] {
			t.Errorf("%s asked under %q", file, under)
		}
		_, complaint, err := play("HEADROOM_TOKEN=wrong")
		if more := len(asked()) - len(under); err == nil || !strings.Contains(complaint, "link or session is not known") || more != 1 {
			t.Errorf("%s: %v, said %q after %d requests", file, err, complaint, more)
		}
	}
	server.interrupt()
}

// The client generated for Python does what its own tests ask of it.
func TestPythonClient(t *testing.T) {
	t.Parallel()
	server, client := clientsOf(t)
	if _, said, err := output(t, client("python3", "../../clients/python/test_headroom_api.py")); err != nil || !strings.Contains(said, "\nOK\n") {
		t.Errorf("%v\n%s", err, said)
	}
	server.interrupt()
}

// TestTellReadsNumbersAsFormsDo: what stands behind a metric's last equals sign is its value, with a
// decimal comma too; what has two meanings is not guessed at, and a point is always decimal.
func TestTellReadsNumbersAsFormsDo(t *testing.T) {
	t.Parallel()
	if told, err := readings([]string{"yield=71,2", "pH=7.125", "mass=1,5e3±0,5"}); err != nil || told["yield"] != 71.2 || told["pH"] != 7.125 || fmt.Sprint(told["mass"]) != "map[stddev:0.5 value:1500]" {
		t.Errorf("%v, %v", told, err)
	}
	if _, err := readings([]string{"yield=1,200"}); err == nil || !strings.Contains(err.Error(), "which is meant?") {
		t.Errorf("1,200: %v", err)
	}
	if told, err := readings([]string{"OD λ=600=0.3", "yield=71.2"}); err != nil || told["OD λ=600"] != 0.3 || told["yield"] != 71.2 {
		t.Errorf("%v, %v", told, err)
	}
}

// FuzzMetricWords: what a shell says of metrics is refused, or finite.
func FuzzMetricWords(plain *testing.F) {
	f := mutation.Of(plain)
	for _, seed := range []string{"yield=71.2", "yield=71.2±0.4", "yield=1+-1", "=", "yield", "a=1=2", "y=1e999", "y=nan", "y=±"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		told, err := readings([]string{word})
		if err != nil {
			return
		}
		if _, err := json.Marshal(told); err != nil || len(told) != 1 {
			t.Errorf("%q became %v, which cannot be sent: %v", word, told, err)
		}
	})
}
