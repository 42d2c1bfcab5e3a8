package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/testwait"
)

const sharedToken = "a token that both servers were given"

// asked is what came of an ask.
type asked struct {
	status, number int
	text           string
	err            error
}

// ask asks for a trial of a study under an idempotency key.
func (r *running) ask(study, key string) (a asked) {
	a.status, a.text, a.err = r.try(http.DefaultClient, http.MethodPost, "/api/v1/studies/"+study+"/ask", sharedToken, "{}", "Idempotency-Key", key)
	var answer struct{ Trials []struct{ Number int } }
	if json.Unmarshal([]byte(a.text), &answer) == nil && len(answer.Trials) == 1 {
		a.number = answer.Trials[0].Number
	}
	return a
}

// askUntilAnswered repeats what got 503, as scripts do.
func (r *running) askUntilAnswered(study, key string) (a asked, refusals int) {
	r.t.Helper()
	for begin := time.Now(); ; refusals++ {
		a = r.ask(study, key)
		switch {
		case a.err != nil:
			r.t.Fatal(a.err)
		case a.status == http.StatusCreated:
			return a, refusals
		case a.status != http.StatusServiceUnavailable || time.Since(begin) > testwait.Timeout:
			r.t.Fatalf("after %v an ask got %d: %s", time.Since(begin), a.status, a.text)
		}
		time.Sleep(testwait.Pace)
	}
}

// signal sends the server's process a signal, and waits until it has come to the state.
func (r *running) signal(sent syscall.Signal, state string) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(sent); err != nil {
		r.t.Fatal(err)
	}
	testwait.Eventually(r.t, fmt.Sprintf("the server's process is in state %s after %v", state, sent), func() bool {
		said, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(r.cmd.Process.Pid)).Output()
		return err == nil && strings.HasPrefix(string(said), state)
	})
}

// Two servers on one database: one is frozen while it holds the lock under which trials are chosen,
// having read the study and not yet decided. The other takes results as ever, refuses asks soon,
// and answers them when the lease is over. What the frozen one decides after it has thawed is not
// written.
func TestAFrozenServerLosesItsStudyAndNothingElse(t *testing.T) {
	t.Parallel()
	database := ownDatabase(t)
	// On a busy machine the freezing may take longer than a statement waits for a lock.
	settings := []string{"HEADROOM_DATABASE_URL=" + database + "&connect_timeout=60&lock_timeout=60000", "HEADROOM_ADMIN_TOKEN=" + sharedToken}
	frozen, other := serving(t, dbtest.Folder(t), settings...), serving(t, dbtest.Folder(t), settings...)
	status, text := frozen.send(http.MethodPost, "/api/v1/studies", sharedToken, newStudy)
	var created struct{ ID string }
	if err := json.Unmarshal([]byte(text), &created); status != http.StatusCreated || err != nil {
		t.Fatalf("creating got %d: %s", status, text)
	}
	first, _ := frozen.askUntilAnswered(created.ID, "before")
	if first.number != 1 {
		t.Fatalf("the first trial has number %d", first.number)
	}

	// With the table of events locked, an ask takes the choosing lock and waits for what it reads.
	watcher := must.Get(pgx.Connect(t.Context(), database))(t)
	defer watcher.Close(context.Background())
	holder := must.Get(pgx.Connect(t.Context(), database))(t)
	defer holder.Close(context.Background())
	must.Get(holder.Exec(t.Context(), `BEGIN; LOCK TABLE events IN ACCESS EXCLUSIVE MODE`))(t)
	late := make(chan asked, 1)
	go func() { late <- frozen.ask(created.ID, "while-frozen") }()
	testwait.Eventually(t, "an ask holds the choosing lock and waits for the events", func() bool {
		var so bool
		must.Do(t, watcher.QueryRow(t.Context(), `
			SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = (hashtext('headroom choosing')::bigint & 4294967295)::oid)
			   AND EXISTS (SELECT FROM pg_locks WHERE locktype = 'relation' AND NOT granted AND relation = 'events'::regclass)`).Scan(&so))
		return so
	})
	begin := time.Now()
	frozen.signal(syscall.SIGSTOP, "T")
	must.Get(holder.Exec(t.Context(), `ROLLBACK`))(t)

	if status, text := other.send(http.MethodPost, "/api/v1/studies/"+created.ID+"/trials/1/tell", sharedToken, `{"metrics": {"y": 3.25}}`); status != http.StatusOK {
		t.Fatalf("telling beside a frozen server got %d: %s", status, text)
	}
	soon := time.Since(begin) < 5*time.Second // so that an ask gives up before the lease is over
	second, refusals := other.askUntilAnswered(created.ID, "beside")
	if second.number != 2 || refusals == 0 && soon {
		t.Fatalf("beside a frozen server, after %d refusals, trial %d was chosen", refusals, second.number)
	}
	must.Do(t, frozen.cmd.Process.Signal(syscall.SIGCONT))
	if thawed := <-late; thawed.err != nil || thawed.status != http.StatusServiceUnavailable {
		t.Fatalf("what was decided without the lock was answered with %d %s, %v", thawed.status, thawed.text, thawed.err)
	}
	for _, r := range []*running{frozen, other, frozen} { // under one key, one trial
		if third, _ := r.askUntilAnswered(created.ID, "while-frozen"); third.number != 3 {
			t.Fatalf("repeated, it is trial %d", third.number)
		}
	}

	status, text = other.send(http.MethodPost, "/api/v1/studies/"+created.ID+"/verify", sharedToken, "")
	if status != http.StatusOK || !strings.Contains(text, `"ok":true`) {
		t.Errorf("verifying got %d: %s", status, text)
	}
	status, text = frozen.send(http.MethodGet, "/api/v1/studies/"+created.ID+"/export.csv", sharedToken, "")
	if status != http.StatusOK || strings.Count(strings.TrimSpace(text), "\n") != 3 || !strings.Contains(text, "3.25") {
		t.Errorf("the table got %d: %s", status, text)
	}
}
