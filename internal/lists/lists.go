// Package lists has what Go's package slices has not.
package lists

// Map is what f makes of each of them, in their order.
func Map[From, To any](from []From, f func(From) To) []To {
	to := make([]To, len(from))
	for i, one := range from {
		to[i] = f(one)
	}
	return to
}

// Pick is what f makes of those that it says to keep, in their order.
func Pick[From, To any](from []From, f func(From) (to To, keep bool)) []To {
	var kept []To
	for _, one := range from {
		if to, keep := f(one); keep {
			kept = append(kept, to)
		}
	}
	return kept
}
