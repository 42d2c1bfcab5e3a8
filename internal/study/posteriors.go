package study

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"sync"

	"headroom/internal/memory"
	"headroom/internal/optimizer"
)

// mostPosteriors is how many charts' posteriors are kept of one version of a study.
const mostPosteriors = 64

// posteriors keeps what the charts of one version were drawn from, so that a crowd looking at the same board asks the model once.
type posteriors struct {
	mu    sync.Mutex
	at    map[[sha256.Size]byte]*posteriorAt
	bytes int64
}

type posteriorAt struct {
	turn      sync.Mutex
	posterior *Posterior
}

// get returns the posterior at places, worked out by compute at most once as long as it is kept, and by how many bytes more are held now.
func (p *posteriors) get(places []optimizer.Place, compute func() (Posterior, error)) (found Posterior, grown int64, err error) {
	entry, dropped := p.entry(places)
	entry.turn.Lock()
	defer entry.turn.Unlock()
	if entry.posterior != nil {
		return *entry.posterior, -dropped, nil
	}
	if found, err = compute(); err != nil {
		return found, -dropped, err
	}
	entry.posterior = &found
	bytes := memory.NewMeter().Of(entry.posterior)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes += bytes
	return found, bytes - dropped, nil
}

// entry is where the posterior at places is kept, and how many bytes were let go of to make room.
func (p *posteriors) entry(places []optimizer.Place) (entry *posteriorAt, dropped int64) {
	key := keyOfPlaces(places)
	p.mu.Lock()
	defer p.mu.Unlock()
	if entry, ok := p.at[key]; ok {
		return entry, 0
	}
	if p.at == nil || len(p.at) >= mostPosteriors {
		dropped, p.bytes = p.bytes, 0
		p.at = map[[sha256.Size]byte]*posteriorAt{}
	}
	entry = new(posteriorAt)
	p.at[key] = entry
	return entry, dropped
}

func keyOfPlaces(places []optimizer.Place) [sha256.Size]byte {
	var key []byte
	for _, place := range places {
		key = binary.LittleEndian.AppendUint64(key, uint64(place.Arm))
		for _, u := range place.U {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(u))
		}
	}
	return sha256.Sum256(key)
}
