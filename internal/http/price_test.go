package http_test

import (
	"fmt"
	"math"
	"testing"

	"headroom/internal/account"
	"headroom/internal/http/sitetest"
)

// TestPriceOfALimit reads the curve as programs do: it rises as the limit is loosened, its slope is its finite difference, each step is what the posterior says of its
// settings, and it can be looked back at.
func TestPriceOfALimit(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	table := "temperature,catalyst,yield,impurity\n"
	for i := range 16 {
		x := 20 + 2.5*float64(i)
		table += fmt.Sprintf("%g,%s,%g,%g\n", x, "AB"[i%2:i%2+1], 60+0.4*x+float64(i%3)*0.2, 0.01*x+0.05*float64(i%2))
	}
	s.API("POST", "/studies/"+id+"/import", table, "Content-Type", "text/csv").Want(200)
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201) // fits the model
	price := s.Call("GET", "/api/v1/studies/"+id+"/price?constraint=Impurity", s.Token(account.Viewer, id), nil).Want(200).JSON()
	curve := price["curve"].([]any)
	if price["metric"] != "impurity" || price["op"] != "<=" || price["threshold"] != 0.5 || price["unit"] != "%" || len(curve) != 11 {
		t.Fatalf("%v", price)
	}
	at := func(i int, field string) float64 {
		value, known := curve[i].(map[string]any)[field].(float64)
		if !known {
			t.Fatalf("step %d has no %s: %v", i, field, curve[i])
		}
		return value
	}
	for i := 1; i < len(curve); i++ {
		if at(i, "threshold") <= at(i-1, "threshold") || at(i, "best") < at(i-1, "best") || at(i, "sd") <= 0 {
			t.Errorf("step %v follows %v", curve[i], curve[i-1])
		}
	}
	if want := (at(6, "best") - at(4, "best")) / (at(6, "threshold") - at(4, "threshold")); math.Abs(price["slope"].(float64)-want) > 1e-9 || want <= 1 {
		t.Errorf("slope %v, want %g", price["slope"], want)
	}
	settings := curve[5].(map[string]any)["parameters"]
	posterior := s.API("POST", "/studies/"+id+"/posterior", map[string]any{"points": []any{settings}}).Want(200).JSON()
	mean := posterior["metrics"].(map[string]any)["yield"].(map[string]any)["mean"].([]any)[0].(float64)
	if chance := posterior["feasibility_probability"].([]any)[0].(float64); math.Abs(mean-at(5, "best")) > 1e-3 || chance < 0.899 {
		t.Errorf("%v is expected to give %g with a chance of %g, the curve says %g", settings, mean, chance, at(5, "best"))
	}
	if early := s.API("GET", "/studies/"+id+"/price?constraint=impurity&at=1", nil).Want(200).JSON(); len(early["curve"].([]any)) != 0 || early["slope"] != nil {
		t.Errorf("before any reading: %v", early)
	}
	s.API("GET", "/studies/"+id+"/price?constraint=purity", nil).Want(422)
	s.API("GET", "/studies/"+id+"/price", nil).Want(422)
	s.API("GET", "/studies/"+id+"/price?constraint=impurity&at=1000", nil).Want(422)
}
