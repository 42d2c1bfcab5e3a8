package pages_test

import (
	"testing"

	"headroom/internal/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }
