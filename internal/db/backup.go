package db

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/migrations"
)

// A backup is one gzip file of lines: what it is as JSON, then of each table its name and columns as
// JSON, its rows as PostgreSQL's COPY writes them and a line \., and last the SHA-256 of all lines
// before. It holds everything, and of credentials only hashes. Any PostgreSQL can take it, as can
// any later version of this program.
const (
	backupFormat  = "headroom-backup"
	backupVersion = 1
	endOfRows     = `\.`
)

// backupTables in an order in which rows only refer to earlier ones.
var backupTables = []struct{ name, order string }{
	{"studies", "id"},
	{"events", "study_id, seq"},
	{"idempotency_keys", "created_at, caller, request, key"},
	{"people", "created_at, id"},
	{"tokens", "created_at, id"},
	{"sessions", "created_at, id"},
	{"pins", "person_id, device"},
	{"links", "created_at, id"},
	{"shares", "created_at, id"},
}

// backupLine is one line that is no row.
type backupLine struct {
	Format  string     `json:"format,omitempty"`
	Version int        `json:"version,omitempty"`
	Schema  uint       `json:"schema,omitempty"`
	Made    *time.Time `json:"made,omitempty"`
	Table   string     `json:"table,omitempty"`
	Columns []string   `json:"columns,omitempty"`
	SHA256  string     `json:"sha256,omitempty"`
}

// Backup writes everything, as it was at one instant, to w.
func (d *DB) Backup(ctx context.Context, w io.Writer) error {
	ctx = d.listener.breaker.bound(ctx) // copying is not traced
	defer release(ctx)
	out := newBackupWriter(w)
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, d.pool, snapshot, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = 0`); err != nil { // a table takes as long as it takes
			return err
		}
		var schema uint
		if err := tx.QueryRow(ctx, `SELECT version FROM schema_migrations`).Scan(&schema); err != nil {
			return err
		}
		made := d.now().Truncate(time.Second)
		if err := out.line(backupLine{Format: backupFormat, Version: backupVersion, Schema: schema, Made: &made}); err != nil {
			return err
		}
		for _, table := range backupTables {
			if err := backUpTable(ctx, tx, out, table.name, table.order); err != nil {
				return fmt.Errorf("table %s: %w", table.name, err)
			}
		}
		return nil
	})
	if err != nil {
		return unavailable(ctx, err)
	}
	return out.close()
}

func backUpTable(ctx context.Context, tx pgx.Tx, out *backupWriter, table, order string) error {
	columns, err := list(ctx, tx, pgx.RowTo[string], `
		SELECT attname::text FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, table)
	if err != nil {
		return err
	}
	if err := out.line(backupLine{Table: table, Columns: columns}); err != nil {
		return err
	}
	rows := fmt.Sprintf(`COPY (SELECT %s FROM %s ORDER BY %s) TO STDOUT`, identifiers(columns), table, order)
	if _, err := tx.Conn().PgConn().CopyTo(ctx, out.lines, rows); err != nil {
		return err
	}
	_, err = out.lines.WriteString(endOfRows + "\n")
	return err
}

// identifiers are names as SQL lists them.
func identifiers(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = pgx.Identifier{name}.Sanitize()
	}
	return strings.Join(quoted, ", ")
}

// backupWriter writes lines and sums them up.
type backupWriter struct {
	packed *gzip.Writer
	lines  *bufio.Writer
	sum    hash.Hash
}

func newBackupWriter(w io.Writer) *backupWriter {
	packed, sum := gzip.NewWriter(w), sha256.New()
	return &backupWriter{packed: packed, sum: sum, lines: bufio.NewWriter(io.MultiWriter(packed, sum))}
}

func (b *backupWriter) line(l backupLine) error { return json.NewEncoder(b.lines).Encode(l) }

// close writes the sum, which says that the file is whole.
func (b *backupWriter) close() error {
	if err := b.lines.Flush(); err != nil {
		return err
	}
	if err := b.line(backupLine{SHA256: hex.EncodeToString(b.sum.Sum(nil))}); err != nil {
		return err
	}
	if err := b.lines.Flush(); err != nil {
		return err
	}
	return b.packed.Close()
}

// longestBackupLine bounds one row; the largest event holds a study of 10,000 candidates and 1000 ×
// 1000 covariances.
const longestBackupLine = 256 << 20

// Restore fills the empty database at url with a backup, and brings it to this program's schema.
// All of it or nothing is stored; every ledger is checked before.
func Restore(ctx context.Context, url string, r io.Reader) error {
	in, err := newBackupReader(r)
	if err != nil {
		return err
	}
	first, err := in.header()
	if err != nil {
		return err
	}
	if err := requireEmpty(ctx, url); err != nil {
		return err
	}
	if err := MigrateTo(ctx, url, first.Schema); err != nil {
		return err
	}
	if err := restoreRows(ctx, url, in); err != nil {
		return err
	}
	return Migrate(ctx, url)
}

// restoreRows stores every row in one transaction, which ends well only if the file is whole and
// its ledgers are.
func restoreRows(ctx context.Context, url string, in *backupReader) error {
	conn, err := connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return unavailable(ctx, pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := in.restoreTables(ctx, tx); err != nil {
			return err
		}
		inside := &DB{}
		inside.Studies = &Studies{db: inside}
		_, err := inside.CheckLedgers(context.WithValue(ctx, transactionKey{}, tx))
		return err
	}))
}

func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := newFence("").connConfig(ctx, url)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	return conn, unavailable(ctx, err)
}

// requireEmpty refuses a database that holds anything of ours.
func requireEmpty(ctx context.Context, url string) error {
	conn, err := connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, table := range backupTables {
		var filled bool
		err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+table.name+`)`).Scan(&filled)
		switch {
		case pgError(err).Code == undefinedTable:
		case err != nil:
			return unavailable(ctx, err)
		case filled:
			return fmt.Errorf("the database is not empty (it has %s): restore into a new database or data folder", table.name)
		}
	}
	return nil
}

// backupReader reads lines and sums them up.
type backupReader struct {
	lines *bufio.Scanner
	sum   hash.Hash
}

func newBackupReader(r io.Reader) (*backupReader, error) {
	unpacked, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("this is not a backup of headroom: %w", err)
	}
	lines := bufio.NewScanner(unpacked)
	lines.Buffer(make([]byte, 1<<16), longestBackupLine)
	return &backupReader{lines: lines, sum: sha256.New()}, nil
}

var errCutShort = errors.New("the backup is cut short: its last line is missing")

// next returns the next line, valid until the one after it is read, and sums it up unless it is the
// last.
func (b *backupReader) next() ([]byte, error) {
	if b.lines.Scan() {
		if line := b.lines.Bytes(); !bytes.HasPrefix(line, []byte(`{"sha256":`)) {
			b.sum.Write(line)
			b.sum.Write([]byte{'\n'})
		}
		return b.lines.Bytes(), nil
	}
	if err := b.lines.Err(); err != nil {
		return nil, fmt.Errorf("the backup cannot be read: %w", err)
	}
	return nil, errCutShort
}

// header reads the first line and refuses what this program cannot restore.
func (b *backupReader) header() (backupLine, error) {
	var first backupLine
	line, err := b.next()
	if err != nil {
		return first, err
	}
	if err := json.Unmarshal(line, &first); err != nil || first.Format != backupFormat {
		return first, errors.New("this is not a backup of headroom")
	}
	latest, err := migrations.Latest()
	if err != nil {
		return first, err
	}
	if first.Version != backupVersion || first.Schema > latest || first.Schema == 0 {
		return first, fmt.Errorf("the backup has format %d and schema %d, this program knows %d and %d: use the newer program",
			first.Version, first.Schema, backupVersion, latest)
	}
	return first, nil
}

// restoreTables stores rows until the last line, and compares the sum.
func (b *backupReader) restoreTables(ctx context.Context, tx pgx.Tx) error {
	for {
		line, err := b.next()
		if err != nil {
			return err
		}
		var head backupLine
		if err := json.Unmarshal(line, &head); err != nil {
			return fmt.Errorf("the backup is damaged: %w", err)
		}
		if head.SHA256 != "" {
			return b.compareSum(head.SHA256)
		}
		rows := &rowReader{backup: b}
		into := fmt.Sprintf(`COPY %s (%s) FROM STDIN`, pgx.Identifier{head.Table}.Sanitize(), identifiers(head.Columns))
		_, err = tx.Conn().PgConn().CopyFrom(ctx, rows, into)
		if err = cmp.Or(rows.failed, err); err != nil {
			return fmt.Errorf("restoring %s: %w", head.Table, err)
		}
	}
}

func (b *backupReader) compareSum(want string) error {
	if got := hex.EncodeToString(b.sum.Sum(nil)); got != want {
		return fmt.Errorf("the backup is damaged: its content has the checksum %s, not %s", got, want)
	}
	return nil
}

// rowReader reads the rows of one table.
type rowReader struct {
	backup *backupReader
	line   bytes.Buffer // what is left of it
	failed error        // why there is no next line, which PostgreSQL would say less well
}

func (r *rowReader) Read(into []byte) (int, error) {
	if r.line.Len() == 0 {
		line, err := r.backup.next()
		if err != nil {
			r.failed = err
			return 0, err
		}
		if string(line) == endOfRows {
			return 0, io.EOF
		}
		r.line.Write(line)
		r.line.WriteByte('\n')
	}
	return r.line.Read(into)
}
