package db_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// BenchmarkTell compares telling through the service with a bare transaction of the same rows, on a
// server that keeps what it commits, by the number of trials told before. Run it with
// -benchtime=10x.
func BenchmarkTell(b *testing.B) {
	for _, trials := range []int{10, 300, 1000} {
		b.Run(fmt.Sprintf("trials=%d", trials), func(b *testing.B) {
			url := dbtest.Own(b).URL(b)
			service := serve(b, open(b, url))
			fill := func() (ids []string) {
				for range dbtest.LoadStudies {
					id := create(b, service, reactor()).ID
					must.Get(service.ImportCSV(b.Context(), ana, id, strings.NewReader(loadTable(trials)), study.ImportOptions{}))(b)
					ids = append(ids, id)
				}
				return ids
			}
			dbtest.CompareWithBare(b, url, fill, func(ctx context.Context, id string, i int) error {
				_, err := service.Tell(ctx, ana, id, trials+1+i, ledger.Telling{Metrics: map[string]ledger.Reading{
					"yield": {Value: 71.25}, "impurity": {Value: 0.31}}})
				return err
			})
		})
	}
}

// loadTable is a table of trials with results and, after them, dbtest.LoadWaiting without.
func loadTable(trials int) string {
	var rows strings.Builder
	rows.WriteString("temperature,cycles,yield,impurity\n")
	for i := range trials + dbtest.LoadWaiting {
		fmt.Fprintf(&rows, "%d,%d,", 20+i%41, 1+i%12)
		if i < trials {
			fmt.Fprintf(&rows, "%d.25,0.%d\n", 40+i%37, 10+i%60)
		} else {
			rows.WriteString(",\n")
		}
	}
	return rows.String()
}
