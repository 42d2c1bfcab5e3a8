package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"headroom/internal/study"
)

// unavailable wraps err with study.ErrUnavailable when it says that the database cannot be reached or is
// going down, so that callers can tell "try again" from a mistake. A caller who left keeps the
// error of its context.
func unavailable(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, study.ErrUnavailable) {
		return err
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = errSilent // nobody but the breaker ends what a caller still waits for
	}
	if errors.Is(err, errSilent) || lostConnection(err) {
		return fmt.Errorf("%w: %w", study.ErrUnavailable, err)
	}
	return err
}

func lostConnection(err error) bool {
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		return goingDown(said.Code)
	}
	var connecting *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connecting) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, puddle.ErrClosedPool)
}

// goingDown knows the SQLSTATE classes of a server that starts, stops, is full or is a standby: 08
// connection exception, 53 insufficient resources, 55P03 what another has locked, 57 operator
// intervention, which includes a statement that took too long; 25P03, a transaction ended because
// nothing happened in it; and 25006, a write sent to a standby. PostgreSQL manual, appendix A.
func goingDown(code string) bool {
	return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "53") || strings.HasPrefix(code, "57") || code == "55P03" || code == "25P03" || code == "25006"
}

// undefinedTable is PostgreSQL's code of a table that is not there.
const undefinedTable = "42P01"

// pgError is what PostgreSQL says in err: its code, and the constraint that was broken. It is
// empty where err comes from elsewhere.
func pgError(err error) pgconn.PgError {
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		return *said
	}
	return pgconn.PgError{}
}
