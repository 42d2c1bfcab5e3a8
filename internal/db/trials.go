package db

import (
	"github.com/jackc/pgx/v5"

	"headroom/internal/study/ledger"
)

// queueTrials brings the read tables of the touched trials up to the study after the append.
func queueTrials(batch *pgx.Batch, id string, after *ledger.Snapshot, touched []int) {
	if len(touched) == 0 {
		return
	}
	batch.Queue(`DELETE FROM observations WHERE study_id = $1 AND number = ANY ($2)`, id, touched)
	for _, number := range touched {
		trial := after.Trials[number-1]
		queueTrial(batch, id, trial)
		for metric, measured := range trial.Metrics {
			queueObservation(batch, id, number, metric, measured)
		}
	}
}

func queueTrial(batch *pgx.Batch, id string, t ledger.Trial) {
	var replicateOf *int
	if t.ReplicateOf != 0 {
		replicateOf = &t.ReplicateOf
	}
	batch.Queue(`
		INSERT INTO trials (study_id, number, origin, status, excluded, feasible, parameters, replicate_of, note, reason, created_at, by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (study_id, number) DO UPDATE SET status = excluded.status, excluded = excluded.excluded, feasible = excluded.feasible,
			parameters = excluded.parameters, note = excluded.note, reason = excluded.reason`,
		id, t.Number, string(t.Origin), string(t.Status), t.Excluded, t.Feasible, t.Parameters, replicateOf, t.Note, t.Reason, t.CreatedAt, t.By)
}

func queueObservation(batch *pgx.Batch, id string, number int, metric string, m ledger.Measurement) {
	batch.Queue(`
		INSERT INTO observations (study_id, number, metric, value, stddev, observed_at, told_at, by, corrected, known)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		id, number, metric, m.Value, m.StdDev, m.ObservedAt, m.ToldAt, m.By, m.Corrected, m.Known)
}
