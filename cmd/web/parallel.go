package main

import (
	"context"
	"sync"
)

// inParallel does every task, so many at once, until one fails or ctx ends.
func inParallel[Task any](ctx context.Context, workers int, tasks []Task, do func(ctx context.Context, task Task) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	queue := make(chan Task)
	var all sync.WaitGroup
	for range min(workers, len(tasks)) {
		all.Go(func() {
			for task := range queue {
				if ctx.Err() != nil {
					continue
				}
				if err := do(ctx, task); err != nil {
					stop(err)
				}
			}
		})
	}
	for _, task := range tasks {
		select {
		case queue <- task:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(queue)
	all.Wait()
	return context.Cause(ctx)
}
