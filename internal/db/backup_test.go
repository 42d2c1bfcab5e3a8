package db_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"headroom/internal/account"
	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/study"
)

func backup(t *testing.T, d *db.DB) []byte {
	t.Helper()
	var file bytes.Buffer
	if damaged := must.Get(d.Backup(t.Context(), &file))(t); len(damaged) > 0 {
		t.Fatal(damaged)
	}
	return file.Bytes()
}

// unpack returns the members of a backup: what it is, then the rows of each table.
func unpack(t *testing.T, file []byte) (members []string) {
	t.Helper()
	left := bytes.NewReader(file)
	for left.Len() > 0 {
		packed := must.Get(gzip.NewReader(left))(t)
		packed.Multistream(false)
		text := must.Get(io.ReadAll(packed))(t)
		members = append(members, string(text))
	}
	return members
}

func pack(t *testing.T, members ...string) []byte {
	t.Helper()
	var file bytes.Buffer
	for _, text := range members {
		packed := gzip.NewWriter(&file)
		must.Get(io.WriteString(packed, text))(t)
		must.Do(t, packed.Close())
	}
	return file.Bytes()
}

// filled is a database with something in every table, but what is kept only to save time.
func filled(t *testing.T) *db.DB {
	t.Helper()
	d, ctx := dbtest.New(t), t.Context()
	l, before := createStudy(t, d, "one")
	add := l.noted(before, `{"description":"tab\t \\N \u0000 µ","numbers":[1e-7,0.1]}`)
	add.Done = &study.Done{Study: "one", Version: 2, Trials: []int{1, 12}, Made: []byte{0, 255, 10}}
	key := &study.IdempotencyKey{Caller: "a", Request: "POST /", Key: "k", Body: sha256.New()}
	must.Do(t, write(t, d, "one", before, study.Command{Key: key}, add))
	admin := firstAdmin(t, d)
	signIn(t, d, admin.ID)
	must.Do(t, d.Accounts.SetPIN(ctx, admin.ID, "tablet", "4711", "Tablet"))
	share := account.NewShare{StudyID: "one", Name: "reviewers", ExpiresAt: time.Now().AddDate(0, 1, 0)}
	must.Get2(d.Accounts.CreateShare(ctx, terminal, share))(t)
	return d
}

func TestBackupComesBackWhole(t *testing.T) {
	t.Parallel()
	d := filled(t)
	file := backup(t, d)
	url := dbtest.EmptyURL(t)
	must.Do(t, db.Restore(t.Context(), url, bytes.NewReader(file)))
	restored := open(t, url)
	rows := func(file []byte) (tables [][]string) { // all but the first member, which has the time
		for _, text := range unpack(t, file)[1:] {
			tables = append(tables, slices.Sorted(strings.Lines(text)))
		}
		return tables
	}
	want := rows(file)
	if diff := cmp.Diff(want, rows(backup(t, restored))); diff != "" {
		t.Fatalf("(-before +after)\n%s", diff)
	}
	for i, table := range want {
		if len(table) == 0 {
			t.Errorf("this test covers no row of table %d", i)
		}
	}
	var all int
	if err := d.Pool().QueryRow(t.Context(), `SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('schema_migrations', 'kept_rows')`).Scan(&all); err != nil || all != len(want) {
		t.Fatalf("%d of %d tables are in the backup, %v", len(want), all, err)
	}
	if _, err := restored.Accounts.Authenticate(t.Context(), "first secret"); err != nil {
		t.Fatalf("the admin token does not work after restoring: %v", err)
	}
	if err := db.Restore(t.Context(), url, bytes.NewReader(file)); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Fatalf("restoring over data got %v", err)
	}
}

// TestAFullDiskIsNotTheDatabases: of a file that cannot be written it is said why, and nothing of
// the database.
func TestAFullDiskIsNotTheDatabases(t *testing.T) {
	t.Parallel()
	full := &fs.PathError{Op: "write", Path: "headroom.backup", Err: syscall.ENOSPC}
	file, in := io.Pipe()
	file.CloseWithError(full)
	if _, err := filled(t).Backup(t.Context(), in); !errors.Is(err, full) || errors.Is(err, study.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

func TestDamagedBackupsAreRefusedWhole(t *testing.T) {
	t.Parallel()
	file := backup(t, filled(t))
	members := unpack(t, file)
	changed := func(member int, before, after string) []byte {
		other := slices.Clone(members)
		if other[member] = strings.Replace(other[member], before, after, 1); other[member] == members[member] {
			t.Fatalf("%q is not in %s", before, other[member])
		}
		return pack(t, other...)
	}
	wrongSum := bytes.Clone(file)
	wrongSum[len(file)-8] ^= 1
	for name, damaged := range map[string][]byte{
		"not gzip":          []byte("hello"),
		"cut in the middle": file[:len(file)/2],
		"cut in the head":   file[:20],
		"no last table":     pack(t, members[:len(members)-1]...),
		"a wrong sum":       wrongSum,
		"a changed event":   changed(2, "1e-7", "1e-8"),
		"no JSON":           changed(2, "{", "["),
		"a row twice":       changed(2, members[2], members[2]+members[2]),
		"a newer schema":    changed(0, `"schema":`, `"schema":99`),
		"another file":      pack(t, "{}\n"),
		"two in one":        slices.Concat(file, file),
		"more than it is":   append(bytes.Clone(file), "and more"...),
	} {
		url := dbtest.EmptyURL(t)
		if err := db.Restore(t.Context(), url, bytes.NewReader(damaged)); err == nil {
			t.Errorf("%s was restored", name)
			continue
		} else if _, ours := errors.AsType[*pgconn.PgError](err); ours && !strings.Contains(err.Error(), "the backup is damaged") {
			t.Errorf("of %s it says %v", name, err)
		}
		must.Do(t, db.Migrate(t.Context(), url))
		if studies, err := open(t, url).Studies.Summaries(t.Context(), study.Listing{}); err != nil || len(studies) != 0 {
			t.Errorf("%s left %d studies, %v", name, len(studies), err)
		}
	}
}

// TestWhoInterruptsARestoreIsToldThat, and not of the connection that is closed by it, whichever is seen
// first.
func TestWhoInterruptsARestoreIsToldThat(t *testing.T) {
	t.Parallel()
	file := pack(t, unpack(t, backup(t, filled(t)))[0], strings.Repeat("a", 2<<20))
	url := dbtest.EmptyURL(t)
	for range 20 {
		ctx, interrupt := context.WithCancel(t.Context())
		halfway := readerFunc(func([]byte) (int, error) { interrupt(); return 0, io.EOF })
		half := len(file) / 2
		if err := db.Restore(ctx, url, io.MultiReader(bytes.NewReader(file[:half]), halfway, bytes.NewReader(file[half:]))); !errors.Is(err, context.Canceled) {
			t.Fatalf("who interrupts is told %v", err)
		}
	}
}

// TestNobodyWritesBesideARestore: a server that is started too early waits for its end, so that what
// is restored has what the backup has and nothing else.
func TestNobodyWritesBesideARestore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	members := unpack(t, backup(t, filled(t)))
	url := dbtest.EmptyURL(t)
	var beside error
	started := readerFunc(func([]byte) (int, error) {
		conn := must.Get(pgx.Connect(ctx, url))(t)
		defer conn.Close(ctx)
		_, beside = conn.Exec(ctx, `BEGIN; LOCK TABLE people IN ROW EXCLUSIVE MODE NOWAIT; INSERT INTO people (id, name, role, created_at) VALUES ('x', 'X', 'admin', now()); COMMIT`)
		return 0, io.EOF
	})
	must.Do(t, db.Restore(ctx, url, io.MultiReader(bytes.NewReader(pack(t, members[0])), started, bytes.NewReader(pack(t, members[1:]...)))))
	if people := must.Get(open(t, url).Accounts.People(ctx))(t); beside == nil || len(people) != 1 {
		t.Errorf("%+v were restored, and beside them somebody was told %v", people, beside)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(into []byte) (int, error) { return f(into) }

// TestABackupSaysWhatIsDamaged, in the words of the restoring that will refuse it, and has all of it:
// what can be saved of a damaged ledger is in no other file.
func TestABackupSaysWhatIsDamaged(t *testing.T) {
	t.Parallel()
	d, ctx := filled(t), t.Context()
	l, before := createStudy(t, d, "two")
	l.note(t, d, "two", before)
	members := len(unpack(t, backup(t, d)))
	must.Get(d.Pool().Exec(ctx, tampered+`UPDATE events SET by = 'Bo' WHERE study_id = 'one' AND seq = 2; DELETE FROM events WHERE study_id = 'two' AND seq = 2`))(t)
	var file bytes.Buffer
	damaged := must.Get(d.Backup(ctx, &file))(t)
	if len(damaged) != 2 || !strings.HasPrefix(damaged[0], "study one: event 2: its hash is") || !strings.HasPrefix(damaged[1], "study two: the ledger ends with event 1") {
		t.Errorf("it says %v", damaged)
	}
	if written := unpack(t, file.Bytes()); len(written) != members || !strings.Contains(written[2], "Bo") {
		t.Errorf("of %d members it has %d", members, len(written))
	}
	err := db.Restore(ctx, dbtest.EmptyURL(t), &file)
	for _, one := range damaged {
		if err == nil || !strings.Contains(err.Error(), one) {
			t.Errorf("restoring it says %v, and nothing of %v", err, one)
		}
	}
}

// slow is a file that takes its time, as a pipe to a place far away may.
type slow struct{ bytes.Buffer }

func (s *slow) Write(text []byte) (int, error) {
	time.Sleep(300 * time.Millisecond)
	return s.Buffer.Write(text)
}

// TestABackupWaitsForItsFile: also between two tables, when the database waits for the program.
func TestABackupWaitsForItsFile(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t) + "&idle_in_transaction_session_timeout=100"
	var file slow
	must.Get(open(t, url).Backup(t.Context(), &file))(t)
	if members := unpack(t, file.Bytes()); len(members) != 7 {
		t.Errorf("the backup has %d members", len(members))
	}
}
