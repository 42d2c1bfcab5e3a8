package db_test

import (
	"os"
	"testing"
	"time"

	"headroom/internal/db/dbtest"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(holderURL); url != "" {
		holdForever(url)
		return
	}
	time.Local = time.FixedZone("far away", 5*60*60) // no machine is asked to be in UTC
	dbtest.Main(m)
}
