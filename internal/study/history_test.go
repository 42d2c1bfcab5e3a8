package study

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"headroom/internal/must"
)

// TestHistoryIsWrittenAsEncodingJSONDoes: the same bytes, of rows that have all there can be or
// lack it, whose names change from one to the next, with numbers and texts of every kind.
func TestHistoryIsWrittenAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 0))
	for range 300 {
		rows := make([]HistoryRow, random.IntN(6))
		for i := range rows {
			fillAtRandom(random, reflect.ValueOf(&rows[i]).Elem())
		}
		want := must.Get(json.Marshal(rows))(t)
		if got, err := AppendHistory([]byte("before"), rows); err != nil || string(got) != "before"+string(want) {
			t.Fatalf("%v\n%s\nnot\n%s", err, got, want)
		}
	}
	if _, err := AppendHistory(nil, []HistoryRow{{Values: map[string]float64{"yield": math.NaN()}}, {}}); err == nil {
		t.Error("a number that is none is written")
	}
}

// fillAtRandom fills a value and all that it leads to, or leaves it out.
func fillAtRandom(random *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if random.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fillAtRandom(random, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fillAtRandom(random, v.Field(i))
			}
		}
	case reflect.Map:
		if random.IntN(8) == 0 {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for range random.IntN(4) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fillAtRandom(random, key)
			fillAtRandom(random, value)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString([]string{"", "yield", "a < b & c > d", "\"quoted\"\n", "Ärger\u2028", "\xff", "temperature"}[random.IntN(7)])
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case reflect.Int:
		v.SetInt(int64(random.IntN(3) * random.IntN(1e6)))
	case reflect.Float64:
		anySize := random.NormFloat64() * math.Pow(10, float64(random.IntN(60)-30))
		v.SetFloat([]float64{0, math.Copysign(0, -1), 1, 1e-6, 1e-7, 1e21, -1e20, 0.1, math.MaxFloat64, anySize}[random.IntN(10)])
	default:
		panic("a row has a field of a kind that is not filled in here: " + v.Kind().String())
	}
}
