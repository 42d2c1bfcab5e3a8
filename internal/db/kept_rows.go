package db

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"headroom/internal/study"
)

// mostRows is the number of bytes of rows that are stored in all, as much as one model may have.
// Those of studies whose rows were stored longest ago are deleted first.
const mostRows = 2 << 30

// KeptRows is the study.RowStore. Its table is not part of a backup.
type KeptRows struct {
	db   *DB
	most int64 // bytes
}

// KeptRows returns the store for rows computed from studies.
func (d *DB) KeptRows() *KeptRows { return &KeptRows{d, mostRows} }

// Each calls use with every piece stored for a study; its numbers are overwritten afterwards.
func (k *KeptRows) Each(ctx context.Context, id string, use func(study.KeptRows)) error {
	rows, _ := k.db.in(ctx).Query(ctx, `SELECT key, first, sum, numbers FROM kept_rows WHERE study_id = $1`, id) // ForEachRow returns its error
	var key, sum []byte
	var numbers pgtype.DriverBytes
	var one study.KeptRows
	_, err := pgx.ForEachRow(rows, []any{&key, &one.First, &sum, &numbers}, func() error {
		one.Key, one.Sum, one.Numbers = study.RowsKey(key), study.RowsKey(sum), numbers
		use(one)
		return nil
	})
	return unavailable(ctx, err)
}

// Keep replaces what is stored for a study by the wanted rows, as far as there is room, and deletes
// the rows of the studies whose rows were stored longest ago.
func (k *KeptRows) Keep(ctx context.Context, id string, wanted iter.Seq2[study.RowsKey, func() study.KeptRows]) error {
	sizes, err := k.sizes(ctx, id)
	if err != nil {
		return err
	}
	left := k.most
	kept := [][]byte{}
	for key, rows := range wanted {
		size, there := sizes[key]
		if !there {
			made := rows()
			if size = int64(len(made.Numbers)); size > left {
				break
			}
			_, err := k.db.in(ctx).Exec(ctx, `
				INSERT INTO kept_rows (study_id, key, first, numbers, sum, kept_at) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT DO NOTHING`, id, made.Key[:], made.First, made.Numbers, made.Sum[:], k.db.now())
			if err != nil {
				return unavailable(ctx, err)
			}
		}
		left -= size
		kept = append(kept, key[:])
	}
	if _, err := k.db.in(ctx).Exec(ctx, `DELETE FROM kept_rows WHERE study_id = $1 AND key <> ALL ($2)`, id, kept); err != nil {
		return unavailable(ctx, err)
	}
	_, err = k.db.in(ctx).Exec(ctx, `
		WITH sizes AS (
			SELECT study_id, sum(octet_length(numbers)) AS bytes, max(kept_at) AS last FROM kept_rows GROUP BY study_id
		), reaching AS (
			SELECT study_id, sum(bytes) OVER (ORDER BY last DESC, study_id) AS bytes FROM sizes
		)
		DELETE FROM kept_rows USING reaching WHERE kept_rows.study_id = reaching.study_id AND reaching.bytes > $1`, k.most)
	return unavailable(ctx, err)
}

// sizes returns the number of bytes stored for a study under each key.
func (k *KeptRows) sizes(ctx context.Context, id string) (map[study.RowsKey]int64, error) {
	there := map[study.RowsKey]int64{}
	rows, _ := k.db.in(ctx).Query(ctx, `SELECT key, octet_length(numbers) FROM kept_rows WHERE study_id = $1`, id) // ForEachRow returns its error
	var key []byte
	var size int64
	_, err := pgx.ForEachRow(rows, []any{&key, &size}, func() error {
		there[study.RowsKey(key)] = size
		return nil
	})
	return there, unavailable(ctx, err)
}

// Forget deletes everything stored for a study.
func (k *KeptRows) Forget(ctx context.Context, id string) error {
	_, err := k.db.in(ctx).Exec(ctx, `DELETE FROM kept_rows WHERE study_id = $1`, id)
	return unavailable(ctx, err)
}
