package db_test

import (
	"os"
	"testing"

	"headroom/internal/db/dbtest"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(holderURL); url != "" {
		holdForever(url)
		return
	}
	dbtest.Main(m)
}
