package study

// Check returns the definition complete, with its defaults written out, or *Invalid naming every fault. A seed is not
// drawn here.
func (d Definition) Check() (Definition, error) { panic("unwritten") }
