package db_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/account"
	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/study"
)

func backup(t *testing.T, d *db.DB) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := d.Backup(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// lines unpacks a backup without its first and last line, which hold the time and the sum.
func unpack(t *testing.T, file []byte) string {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func pack(t *testing.T, text string) []byte {
	t.Helper()
	var file bytes.Buffer
	packed := gzip.NewWriter(&file)
	if _, err := io.WriteString(packed, text); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
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
	if err := write(t, d, "one", before, study.Command{Key: key}, add); err != nil {
		t.Fatal(err)
	}
	admin := firstAdmin(t, d)
	signIn(t, d, admin.ID)
	if err := d.Accounts.SetPIN(ctx, admin.ID, "tablet", "4711", "Tablet"); err != nil {
		t.Fatal(err)
	}
	share := account.NewShare{StudyID: "one", Name: "reviewers", ExpiresAt: time.Now().AddDate(0, 1, 0)}
	if _, _, err := d.Accounts.CreateShare(ctx, terminal, share); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestBackupComesBackWhole(t *testing.T) {
	t.Parallel()
	d := filled(t)
	file := backup(t, d)
	url := dbtest.EmptyURL(t)
	if err := db.Restore(t.Context(), url, bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	restored := open(t, url)
	// All but the line with the time, and so the sum, must be the same.
	body := func(file []byte) []string {
		lines := strings.Split(strings.TrimSpace(unpack(t, file)), "\n")
		return lines[1 : len(lines)-1]
	}
	want := body(file)
	if diff := cmp.Diff(want, body(backup(t, restored))); diff != "" {
		t.Fatalf("(-before +after)\n%s", diff)
	}
	tables := 0
	for i, line := range want {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		tables++
		if i+1 == len(want) || strings.HasPrefix(want[i+1], "{") {
			t.Errorf("this test covers no row of %s", line)
		}
	}
	var all int
	if err := d.Pool().QueryRow(t.Context(), `SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('schema_migrations', 'kept_rows')`).Scan(&all); err != nil || all != tables {
		t.Fatalf("%d of %d tables are in the backup, %v", tables, all, err)
	}
	if _, err := restored.Accounts.Authenticate(t.Context(), "first secret"); err != nil {
		t.Fatalf("the admin token does not work after restoring: %v", err)
	}
	if err := db.Restore(t.Context(), url, bytes.NewReader(file)); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Fatalf("restoring over data got %v", err)
	}
}

func TestDamagedBackupsAreRefusedWhole(t *testing.T) {
	t.Parallel()
	file := backup(t, filled(t))
	text := unpack(t, file)
	lines := strings.SplitAfter(strings.TrimSpace(text), "\n")
	for name, damaged := range map[string][]byte{
		"not gzip":          []byte("hello"),
		"cut in the middle": file[:len(file)/2],
		"no last line":      pack(t, strings.Join(lines[:len(lines)-1], "")),
		"a changed value":   pack(t, strings.Replace(text, "1e-7", "1e-8", 1)),
		"a newer schema":    pack(t, regexp.MustCompile(`"schema":[0-9]+`).ReplaceAllString(text, `"schema":999`)),
		"another file":      pack(t, "{}\n"),
	} {
		url := dbtest.EmptyURL(t)
		if err := db.Restore(t.Context(), url, bytes.NewReader(damaged)); err == nil {
			t.Errorf("%s was restored", name)
			continue
		}
		if err := db.Migrate(t.Context(), url); err != nil {
			t.Fatal(err)
		}
		if studies, err := open(t, url).Studies.Summaries(t.Context(), study.Listing{}); err != nil || len(studies) != 0 {
			t.Errorf("%s left %d studies, %v", name, len(studies), err)
		}
	}
}
