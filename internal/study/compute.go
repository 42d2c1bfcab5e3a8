package study

import (
	"context"

	"headroom/internal/optimizer"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/supervisor"
	"headroom/internal/turns"
)

// compute runs numerical work on a study, all of which goes through here: it waits for a processor and gives way between two slices of work,
// fairly among studies, the most urgent work first. Work must not call compute.
func (s *Service) compute(ctx context.Context, studyID string, work func(ctx context.Context) error) error {
	return s.turns.Do(ctx, studyID, urgencyOf(ctx), func(ctx context.Context, pause turns.Pause) error {
		return work(optimizer.WithCheckpoint(ctx, pause))
	})
}

// Draw lets work that shows what was computed take its turn among the computations, in steps between which others may go first. Steps must not call
// the service.
func (s *Service) Draw(ctx context.Context, studyID string, steps ...func() error) error {
	return s.compute(ctx, studyID, func(ctx context.Context) error {
		for _, step := range steps {
			if err := checkpoint.Reach(ctx); err != nil {
				return err
			}
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
}

type urgencyKey struct{}

// withUrgency says how urgent the work under ctx is; without it, it is turns.Reading.
func withUrgency(ctx context.Context, urgency turns.Urgency) context.Context {
	return context.WithValue(ctx, urgencyKey{}, urgency)
}

func urgencyOf(ctx context.Context) turns.Urgency {
	if urgency, ok := ctx.Value(urgencyKey{}).(turns.Urgency); ok {
		return urgency
	}
	return turns.Reading
}

// Figures say what the service is computing, for those who run the server.
type Figures struct {
	Turns map[turns.Urgency]turns.Figures // computations waiting and under way
	Jobs  map[string]supervisor.Figures   // work behind requests, by kind
}

// Figures are those of this moment.
func (s *Service) Figures() Figures { return Figures{Turns: s.turns.Figures(), Jobs: s.jobs.Figures()} }

// CacheSize is how many bytes the service keeps of studies, and of how many versions of them.
func (s *Service) CacheSize() (bytes int64, versions int) { return s.cache.size() }
