package optimizer

// Engine is the version of the optimizer that a decision records. It changes whenever the same
// history could lead to a different suggestion; what another engine decided is not replayed.
const Engine = "11"
