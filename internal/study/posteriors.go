package study

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"sync"

	"headroom/internal/optimizer"
)

// mostPosteriors is how many charts' posteriors are kept of one version of a study.
const mostPosteriors = 64

// posteriors keeps what the charts of one version were drawn from, so that a crowd looking at the same board asks the model once.
type posteriors struct {
	mu sync.Mutex
	at map[[sha256.Size]byte]*posteriorAt
}

type posteriorAt struct {
	turn      sync.Mutex
	posterior *Posterior
}

// get returns the posterior at places, worked out by compute at most once as long as it is kept.
func (p *posteriors) get(places []optimizer.Place, compute func() (Posterior, error)) (Posterior, error) {
	entry := p.entry(places)
	entry.turn.Lock()
	defer entry.turn.Unlock()
	if entry.posterior != nil {
		return *entry.posterior, nil
	}
	posterior, err := compute()
	if err == nil {
		entry.posterior = &posterior
	}
	return posterior, err
}

func (p *posteriors) entry(places []optimizer.Place) *posteriorAt {
	key := keyOfPlaces(places)
	p.mu.Lock()
	defer p.mu.Unlock()
	if entry, ok := p.at[key]; ok {
		return entry
	}
	if p.at == nil || len(p.at) >= mostPosteriors {
		p.at = map[[sha256.Size]byte]*posteriorAt{}
	}
	entry := new(posteriorAt)
	p.at[key] = entry
	return entry
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
