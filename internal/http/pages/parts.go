package pages

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// shareFor is how long a rendered part serves others: its times are written as "2 min ago".
	shareFor = 5 * time.Second
	// mostShared is how many rendered parts are kept.
	mostShared = 256
)

// sharedParts are rendered parts of study pages. When a result comes in, everybody who looks at the study asks for the same parts at the same
// moment; each is worked out, rendered and compressed once.
type sharedParts struct {
	mu sync.Mutex
	by map[string]*sharedPart
}

type sharedPart struct {
	turn sync.Mutex
	made time.Time
	asset
}

// get returns the part kept under key, rendered by render if it is missing or old.
func (p *sharedParts) get(key string, render func(*bytes.Buffer) error) (asset, error) {
	part := p.entry(key)
	part.turn.Lock()
	defer part.turn.Unlock()
	if !part.made.IsZero() && time.Since(part.made) < shareFor {
		return part.asset, nil
	}
	var out bytes.Buffer
	if err := render(&out); err != nil {
		return asset{}, err
	}
	part.asset, part.made = asset{out.Bytes(), packed(out.Bytes())}, time.Now()
	return part.asset, nil
}

func (p *sharedParts) entry(key string) *sharedPart {
	p.mu.Lock()
	defer p.mu.Unlock()
	if part, there := p.by[key]; there {
		return part
	}
	if p.by == nil || len(p.by) >= mostShared {
		p.by = map[string]*sharedPart{}
	}
	part := new(sharedPart)
	p.by[key] = part
	return part
}

// showShared answers with a part that is the same for everybody with the same rights.
func (s *Site) showShared(w http.ResponseWriter, r *http.Request, v visit) error {
	key := fmt.Sprintf("%d %+v %s", v.snap.Version, v.head, r.URL.RequestURI())
	part, err := s.shared.get(key, func(out *bytes.Buffer) error {
		component, err := s.part(r, v)
		if err != nil {
			return err
		}
		return component.Render(r.Context(), out)
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Add("Vary", "HX-Request")
	return part.write(w, r)
}
