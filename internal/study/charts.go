package study

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"sync"

	"headroom/internal/optimizer"
)

// mostCharts is how many charts' posteriors are kept of one version of a study.
const mostCharts = 64

// charts keeps what the charts of one version were drawn from, so that a crowd looking at the same board asks the model once.
type charts struct {
	mu    sync.Mutex
	drawn map[[sha256.Size]byte]*chart
}

type chart struct {
	turn      sync.Mutex
	posterior *Posterior
}

// at returns the posterior at places, worked out by compute at most once as long as it is kept.
func (c *charts) at(places []optimizer.Place, compute func() (Posterior, error)) (Posterior, error) {
	entry := c.entry(places)
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

func (c *charts) entry(places []optimizer.Place) *chart {
	key := keyOfPlaces(places)
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry, ok := c.drawn[key]; ok {
		return entry
	}
	if c.drawn == nil || len(c.drawn) >= mostCharts {
		c.drawn = map[[sha256.Size]byte]*chart{}
	}
	entry := new(chart)
	c.drawn[key] = entry
	return entry
}

func keyOfPlaces(places []optimizer.Place) [sha256.Size]byte {
	var key []byte
	for _, p := range places {
		key = binary.LittleEndian.AppendUint64(key, uint64(p.Arm))
		for _, u := range p.U {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(u))
		}
	}
	return sha256.Sum256(key)
}
