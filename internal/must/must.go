// Package must ends a test where something fails that must not.
package must

// T is a test, of this program or of package rapid.
type T interface {
	Helper()
	Fatal(values ...any)
}

// Do ends the test on an error.
func Do(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get is the value of a call without its error, on which the test ends: must.Get(os.ReadFile(name))(t).
func Get[Value any](value Value, err error) func(T) Value {
	return func(t T) Value {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Get2 is Get for calls with two values.
func Get2[A, B any](a A, b B, err error) func(T) (A, B) {
	return func(t T) (A, B) {
		t.Helper()
		Do(t, err)
		return a, b
	}
}
