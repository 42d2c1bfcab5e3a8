package templates

// Verdict is the answer of a study, above everything else.
type Verdict struct {
	Heading string
	// None says why nothing is recommended, "" when something is.
	None      string
	Answer    *Answer
	Doubt     string  // why the answer may not hold any more, "" where nothing speaks against it
	Undecided *Answer // looks better, and is not known to be within the limits
	More      string  // what would tell of these, or of the answer where there are none; "" where that is known to be
	Closest   *Answer // nothing is within the limits: the point that breaks them least, as it was read
	Lucky     *Lucky
	Limits    []LimitLine
	Risk      *Risk // of all limits together; nil where none was asked for
	Gain      Gain
	Next      string
}

// Answer is settings with what is expected of them.
type Answer struct {
	Number   int
	URL      string
	Settings []Setting
	Copy     string
	Expected []Expected
	Chance   *Value // to be within every limit; nil without limits
	Brought  string // what that chance is said with, where limits depend on what a trial brings
	Works    *Value // the chance that a trial works there; nil while none has failed because of its settings
	Words    string
}

// Value is a number as people read it, with the number itself for programs.
type Value struct {
	Text string
	Raw  string
}

// Expected is what the model expects of one metric at some settings.
type Expected struct {
	Metric    string
	Mean      Value
	Low, High Value // of the band
	ReadingSD Value
	Unit      string
}

// Lucky is the best single reading, which may owe much to luck.
type Lucky struct {
	Number int
	URL    string
	Value  Value
	What   string
}

// LimitLine is how one limit stands.
type LimitLine struct {
	Name, Asks string
	Count      string // "broken in 2 of 19 trials"
	Before     string // how it stood, on paper
	Mark       string
	Violation  *Value // sum of excesses; nil while there is none
	Largest    *Value // excess; nil where it is the sum
	Risk       *Risk  // nil where none was asked for
	Headroom   *Value // of the recommended settings, as expected
	Room       string // "0.06 % inside", in words
}

// Risk is the account of the risk that was asked for: trials that may be beyond, are to be expected
// there, and are.
type Risk struct {
	Words                    string
	Allowed, Expected, SoFar Value
	Next                     string // why the next trial may take less, "" where it does not
}

// Gain is how much better it could still get.
type Gain struct {
	Best  *Range // what the best value may be, nil where it cannot be said
	Words string
	// Enough tells that the risk of stopping is within the target.
	Enough bool
	Later  string // address to fetch it from, when it takes long
}

// Range is an interval that holds a value with a probability.
type Range struct {
	Low, High Value
	Level     string
	Of        string // what lies there
	Unit      string
}
