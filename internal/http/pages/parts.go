package pages

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/a-h/templ"

	"headroom/internal/derived"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// shareFor is how long a rendered part serves others: its times are written as "2 min ago".
const shareFor = 5 * time.Second

// partKey is all that a rendered part depends on, besides the study's version and the moment.
type partKey struct {
	study templates.StudyHead // with what the viewer may do
	part  string
	query string // canonical
}

// Kind groups rendered parts in the server's figures.
func (partKey) Kind() string { return "rendered" }

// showShared answers with a section of a study as it is now that is the same for everybody with the same rights. When a result comes in, everybody who looks at the study
// asks for the same sections at the same moment; each is worked out, rendered and compressed once.
func (s *Site) showShared(w http.ResponseWriter, r *http.Request, now *ledger.Snapshot, key partKey, section func(ctx context.Context) (templ.Component, error)) error {
	drawn, err := derived.Fresh(r.Context(), s.Studies.Derived, now, key, shareFor, func(ctx context.Context) (asset, error) {
		fresh, err := section(ctx)
		if err != nil {
			return asset{}, err
		}
		var out bytes.Buffer
		if err := fresh.Render(ctx, &out); err != nil {
			return asset{}, err
		}
		return asset{bytes.Clone(out.Bytes()), packed(out.Bytes())}, nil
	})
	if err != nil {
		return err
	}
	beHTML(w)
	return drawn.write(w, r)
}
