package db

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
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
