package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/testwait"
)

// roundsVariable is how many disasters TestDisasters goes through.
const roundsVariable = "HEADROOM_DISASTERS"

// world is the program on a primary and its standby, with clients that write.
type world struct {
	t                *testing.T
	primary, standby *dbtest.Replica
	folder           string
	settings         []string
	server           atomic.Pointer[running]
	kills, answers   int
}

func newWorld(t *testing.T, synchronous bool) *world {
	pair := dbtest.NewPair(t, synchronous)
	w := &world{t: t, primary: pair.Primary, standby: pair.Standby, folder: dbtest.Folder(t)}
	w.settings = []string{"HEADROOM_DATABASE_URL=" + dbtest.URLOf(pair.Primary, pair.Standby), "HEADROOM_ADMIN_TOKEN=" + sharedToken}
	return w
}

// start starts the program, which does not run.
func (w *world) start() { w.server.Store(serving(w.t, w.folder, w.settings...)) }

// kill ends the program at once.
func (w *world) kill() {
	server := w.server.Load()
	if err := server.cmd.Process.Kill(); err != nil {
		w.t.Fatal(err)
	}
	_ = server.cmd.Wait() // killed
	w.kills++
}

// swap is said when the standby has been made the primary.
func (w *world) swap() { w.primary, w.standby = w.standby, w.primary }

// promote makes the standby the primary.
func (w *world) promote() {
	w.standby.Promote()
	w.swap()
}

// rebuild makes the former primary the standby of the other one, as a person would.
func (w *world) rebuild() {
	w.standby.Kill()
	w.standby.Follow(w.primary)
	w.primary.RequireStandby()
}

// request asks the program, until it answers with something else than 503. A client waits a second
// for each answer.
func (w *world) request(method, path, body, key string) (status int, text string) {
	client, err := &http.Client{Timeout: time.Second}, error(nil)
	for giveUp := time.Now().Add(2 * testwait.Timeout); time.Now().Before(giveUp); time.Sleep(testwait.Pace) {
		status, text, err = w.server.Load().try(client, method, path, sharedToken, body, "Idempotency-Key", key)
		if err == nil && status != http.StatusServiceUnavailable {
			return status, text
		}
	}
	return status, fmt.Sprint(text, err)
}

// make makes a study.
func (w *world) make(key string) (id string, err error) {
	status, text := w.request(http.MethodPost, "/api/v1/studies", newStudy, key)
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(text), &made); err != nil || status != http.StatusCreated {
		return "", fmt.Errorf("making a study got %d: %s", status, text)
	}
	return made.ID, nil
}

// study is make in a test of one study.
func (w *world) study() (id string) {
	w.t.Helper()
	id, err := w.make("study")
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// write stores a trial with the number as its result, and returns when that was acknowledged.
func (w *world) write(id string, number int) error {
	body := fmt.Sprintf(`{"parameters": {"x": %g}, "metrics": {"y": %d}}`, float64(number)/1e6, number)
	if status, text := w.request(http.MethodPost, "/api/v1/studies/"+id+"/trials", body, "write-"+strconv.Itoa(number)); status != http.StatusCreated {
		return fmt.Errorf("writing %d got %d: %s", number, status, text)
	}
	return nil
}

// holds wants a study to have the results from 1 to last, each once.
func (w *world) holds(id string, last int) {
	w.t.Helper()
	status, text := w.request(http.MethodGet, "/api/v1/studies/"+id+"/export.csv", "", "")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if status != http.StatusOK || err != nil {
		w.t.Fatalf("the table got %d: %s", status, text)
	}
	times := map[string]int{}
	for _, row := range rows[1:] {
		times[row[3]]++
	}
	for number := 1; number <= last; number++ {
		if n := times[strconv.Itoa(number)]; n != 1 {
			w.t.Errorf("the acknowledged result %d is there %d times", number, n)
		}
	}
	if len(rows)-1 != last {
		w.t.Errorf("of %d results there are %d", last, len(rows)-1)
	}
	if status, text := w.request(http.MethodPost, "/api/v1/studies/"+id+"/verify", "", ""); status != http.StatusOK || !strings.Contains(text, `"ledger_intact":true`) {
		w.t.Errorf("verifying got %d: %s", status, text)
	}
	w.answers += last
}

// while has clients write, each to studies of its own, until the disaster is over, and wants
// everything there that they were told is stored.
func (w *world) while(round int, disaster func()) {
	w.t.Helper()
	const clients = 3
	var written [clients]map[string]int // the last result, by study
	var writing sync.WaitGroup
	over := make(chan struct{})
	for c := range clients {
		written[c] = map[string]int{}
		writing.Go(func() { w.client(fmt.Sprintf("round-%d-client-%d", round, c), over, written[c]) })
	}
	time.Sleep(rand.N(300 * time.Millisecond))
	disaster()
	close(over)
	writing.Wait()
	for c := range clients {
		for id, last := range written[c] {
			w.holds(id, last)
		}
	}
}

// client writes one result after another. It begins a new study before the model of one takes
// longer to fit than a client waits.
func (w *world) client(name string, over <-chan struct{}, written map[string]int) {
	for nth := 0; ; nth++ {
		id, err := w.make(fmt.Sprintf("%s-%d", name, nth))
		for number := 1; number <= 80 && err == nil; number++ {
			if err = w.write(id, number); err != nil {
				break
			}
			written[id] = number
			select {
			case <-over:
				return
			default:
			}
		}
		if err != nil {
			w.t.Error(err)
			return
		}
	}
}

// aMoment is long enough for clients to give up and ask again.
func aMoment() { time.Sleep(time.Second + rand.N(2*time.Second)) }

// disasters are what can happen to the program and its two servers while clients write.
var disasters = []struct {
	name   string
	happen func(w *world)
}{
	{"the program is killed", func(w *world) { w.kill(); w.start() }},
	{"the primary is killed", func(w *world) {
		w.primary.Kill()
		w.promote()
		w.rebuild()
	}},
	{"the primary hangs, and wakes when another one is the primary", func(w *world) {
		w.primary.Freeze()
		w.promote()
		aMoment()
		w.standby.Thaw()
		aMoment()
		w.rebuild()
	}},
	{"the standby is lost and comes back", func(w *world) {
		w.standby.Kill()
		aMoment()
		w.standby.Start()
	}},
	{"the standby is lost, and the primary after it", func(w *world) {
		w.standby.Kill()
		aMoment()
		w.primary.Kill()
		w.standby.Start()
		w.promote()
		w.rebuild()
	}},
	{"the standby is lost, the primary started again, and lost", func(w *world) {
		w.standby.Kill()
		aMoment()
		w.primary.Kill()
		w.primary.Start()
		aMoment()
		w.primary.Kill()
		w.standby.Start()
		w.promote()
		w.rebuild()
	}},
	{"the program is killed while the old primary is awake", func(w *world) {
		w.primary.Freeze()
		w.promote()
		w.kill()
		w.standby.Thaw()
		w.start()
		aMoment()
		w.rebuild()
	}},
}

// Whatever happens to the program, its primary and its standby while clients write: what they were
// told is stored is there, once.
func TestDisasters(t *testing.T) {
	t.Parallel()
	rounds := 2 // package db tries each; here are the first two, in the whole program
	if text := os.Getenv(roundsVariable); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s must be a number of rounds: %v", roundsVariable, err)
		}
	}
	w := newWorld(t, true)
	w.start()
	failovers := 0
	for round := range rounds {
		disaster := disasters[round%len(disasters)]
		begin, before := time.Now(), w.primary
		w.while(round, func() { disaster.happen(w) })
		if w.primary != before {
			failovers++
		}
		t.Logf("round %d: %s: %v", round+1, disaster.name, time.Since(begin).Round(100*time.Millisecond))
		if t.Failed() {
			return
		}
	}
	t.Logf("%d rounds, %d kills of the program, %d failovers: %d acknowledged results are there once", rounds, w.kills, failovers, w.answers)
}

// version asks for a study's version.
func (w *world) version(id string) (version int) {
	w.t.Helper()
	status, text := w.request(http.MethodGet, "/api/v1/studies/"+id, "", "")
	var now struct{ Version int }
	if err := json.Unmarshal([]byte(text), &now); err != nil || status != http.StatusOK {
		w.t.Fatalf("reading the study got %d: %s", status, text)
	}
	return now.Version
}

// refuses wants the program to say of every request why it has no database, on its pages, to
// programs and in /readyz.
func (w *world) refuses(id, why string) {
	w.t.Helper()
	for path, accept := range map[string]string{"/api/v1/studies/" + id: "", "/studies/" + id: "text/html", "/readyz": ""} {
		server := w.server.Load()
		testwait.Eventually(w.t, path+" says "+why, func() bool {
			status, text := server.send(http.MethodGet, path, sharedToken, "", "Accept", accept)
			if status == http.StatusOK {
				w.t.Fatalf("%s is answered from a server that goes back: %s", path, text)
			}
			if strings.Contains(text, seenFile) || strings.Contains(text, w.folder) {
				w.t.Fatalf("%s tells anybody where things are: %s", path, text)
			}
			return status == http.StatusServiceUnavailable && strings.Contains(text, "is refused") && strings.Contains(text, why)
		})
	}
}

// cannotStart wants the program to say in a line why it does not start.
func (w *world) cannotStart(why string) {
	w.t.Helper()
	_, complaint, err := output(w.t, program(w.t, w.folder, append(w.settings, "HEADROOM_DATABASE_WAIT=0s")))
	if err == nil || !strings.Contains(complaint, "is refused") || !strings.Contains(complaint, why) || !strings.Contains(complaint, seenFile) {
		w.t.Fatalf("it says %q, %v", complaint, err)
	}
}

// A primary that hung and wakes, when another server has taken its place, is used by nobody: not by
// the server that runs, not by one that is started again, also when it is the only one there, nor
// by one that knows nothing but sees both.
func TestAnOldPrimaryIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	w.start()
	id := w.study()
	write := func(number int) {
		t.Helper()
		must.Do(t, w.write(id, number))
	}
	write(1)
	w.standby.Await(`SELECT EXISTS (SELECT FROM studies WHERE version = $1)`, w.version(id))
	w.primary.Freeze()
	w.promote()
	write(2)
	old := w.standby
	old.Thaw()
	write(3)
	version := w.version(id)
	same := func(who string) {
		t.Helper()
		if now := w.version(id); now != version {
			t.Fatalf("%s shows version %d instead of %d", who, now, version)
		}
	}
	w.kill()
	w.start()
	same("the program, started again,")
	w.kill()
	known := w.folder
	w.folder = dbtest.Folder(t)
	w.start()
	same("a program that knows nothing")
	w.primary.Kill()
	w.refuses(id, "timeline 1")
	w.kill()
	w.folder = known
	w.cannotStart("timeline 1")
	w.primary.Start()
	w.start()
	same("the program, with its primary back,")
	w.kill()

	// Who has lost the newer one for good takes the other by removing what was kept.
	w.primary.Kill()
	must.Do(t, os.Remove(filepath.Join(known, seenFile)))
	w.start()
	w.holds(id, 1)
}

// A standby that had not received everything when it was made the primary is refused: what is
// missing was acknowledged.
func TestAPrimaryThatLacksSomethingIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	w.start()
	id := w.study()
	w.standby.Await(`SELECT EXISTS (SELECT FROM studies WHERE id = $1)`, id)
	w.standby.Kill()
	for number := range 3 {
		must.Do(t, w.write(id, number+1))
	}
	version := w.version(id)
	testwait.Eventually(t, "what was seen is kept", func() bool {
		text, err := os.ReadFile(filepath.Join(w.folder, seenFile))
		return err == nil && strings.Contains(string(text), id) && strings.Contains(string(text), fmt.Sprintf(`"Version": %d`, version))
	})
	w.primary.Kill()
	w.standby.Start()
	w.promote()
	why := fmt.Sprintf("study %s was seen at version %d, and there it is at version 1", id, version)
	w.refuses(id, why)
	w.kill()
	w.cannotStart(why)
}
