package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	headroom "headroom/clients/go"
	"headroom/internal/account"
)

// The commands that talk to a running server, here or elsewhere, as scripts do: they use its API and nothing else.

const (
	// remoteTries is how often a request is made while the server cannot be reached or is starting; each goes under the same key.
	remoteTries = 4
	// remotePause is waited after the first of them, and twice as long after each other.
	remotePause = 500 * time.Millisecond
)

// remote is a server and how its answers are written.
type remote struct {
	api    *headroom.ClientWithResponses
	asJSON bool
	out    io.Writer
}

// remoteFlags are the flags that all these commands take.
func remoteFlags(name string) (*flag.FlagSet, *bool) {
	set := flags(name)
	return set, set.Bool("json", false, "write the server's answer as it is")
}

// parseAnywhere reads flags that stand before, between or after the arguments, and returns these.
func parseAnywhere(set *flag.FlagSet, args []string) ([]string, error) {
	var plain []string
	for {
		if err := set.Parse(args); err != nil {
			return nil, fmt.Errorf("%s: %w: see “headroom help”", set.Name(), err)
		}
		if set.NArg() == 0 {
			return plain, nil
		}
		plain, args = append(plain, set.Arg(0)), set.Args()[1:]
	}
}

// newRemote is the server at HEADROOM_PUBLIC_URL, asked with HEADROOM_TOKEN, or with the admin token where that is kept on this machine.
func newRemote(c config, asJSON bool) (*remote, error) {
	token := c.token
	if token == "" {
		folder, err := c.folder()
		if err != nil {
			return nil, err
		}
		kept, err := os.ReadFile(filepath.Join(folder, adminTokenFile))
		if err != nil {
			return nil, errors.New("put an API token into HEADROOM_TOKEN (“headroom token” makes one)")
		}
		token = strings.TrimSpace(string(kept))
	}
	api, err := headroom.NewClientWithResponses(c.public(c.listen),
		headroom.WithHTTPClient(patient{http.DefaultClient}),
		headroom.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+token)
			return nil
		}))
	return &remote{api, asJSON, os.Stdout}, err
}

// patient repeats requests that a starting or overtaxed server did not answer. Those that change something carry a key, so that none counts twice.
type patient struct{ client *http.Client }

func (p patient) Do(r *http.Request) (*http.Response, error) {
	pause := remotePause
	for try := 1; ; try++ {
		response, err := p.client.Do(r)
		away := err != nil || slices.Contains([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, response.StatusCode)
		if !away || try == remoteTries || (r.Body != nil && r.GetBody == nil) {
			return response, err
		}
		if err == nil {
			response.Body.Close()
		}
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(pause):
		}
		pause *= 2
		if r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// answered says what the server refused, if it did.
func answered(problem *headroom.Problem, response *http.Response) error {
	switch {
	case problem != nil && problem.Errors != nil && len(*problem.Errors) > 0:
		var faults []string
		for _, fault := range *problem.Errors {
			faults = append(faults, fault.Location+": "+fault.Message)
		}
		return errors.New(strings.Join(faults, "; "))
	case problem != nil:
		return errors.New(problem.Detail)
	case response.StatusCode >= http.StatusBadRequest:
		return fmt.Errorf("the server says %s", response.Status)
	}
	return nil
}

// remoteStudy reads the arguments of a command that takes a study's id and nothing else beside flags.
func remoteStudy(c config, set *flag.FlagSet, asJSON *bool, args []string) (*remote, string, error) {
	plain, err := parseAnywhere(set, args)
	if err != nil {
		return nil, "", err
	}
	if len(plain) != 1 {
		return nil, "", fmt.Errorf("it is “headroom %s STUDY”: see “headroom help”", set.Name())
	}
	r, err := newRemote(c, *asJSON)
	return r, plain[0], err
}

func askRemote(ctx context.Context, c config, args []string) error {
	set, asJSON := remoteFlags("ask")
	count := set.Int64("count", 1, "how many trials")
	r, id, err := remoteStudy(c, set, asJSON, args)
	if err != nil {
		return err
	}
	key := account.NewSecret()
	answer, err := r.api.AskWithResponse(ctx, id, &headroom.AskParams{IdempotencyKey: &key}, headroom.AskRequest{Count: count})
	if err != nil {
		return err
	}
	if err := answered(answer.ApplicationProblemJSONDefault, answer.HTTPResponse); err != nil {
		return err
	}
	if r.asJSON {
		return r.write(answer.Body)
	}
	for _, trial := range answer.JSON201.Trials {
		if err := r.writeTrial(trial); err != nil {
			return err
		}
	}
	return nil
}

func tellRemote(ctx context.Context, c config, args []string) error {
	set, asJSON := remoteFlags("tell")
	note := set.String("note", "", "kept with the trial")
	plain, err := parseAnywhere(set, args)
	if err != nil {
		return err
	}
	if len(plain) < 3 {
		return errors.New("it is “headroom tell STUDY NUMBER METRIC=VALUE …”: see “headroom help”")
	}
	number, err := strconv.ParseInt(plain[1], 10, 64)
	if err != nil || number < 1 {
		return fmt.Errorf("%q is not the number of a trial", plain[1])
	}
	telling := headroom.TellingRequest{}
	if telling.Metrics, err = readings(plain[2:]); err != nil {
		return err
	}
	if *note != "" {
		telling.Note = note
	}
	r, err := newRemote(c, *asJSON)
	if err != nil {
		return err
	}
	key := account.NewSecret()
	answer, err := r.api.TellWithResponse(ctx, plain[0], number, &headroom.TellParams{IdempotencyKey: &key}, telling)
	if err != nil {
		return err
	}
	if err := answered(answer.ApplicationProblemJSONDefault, answer.HTTPResponse); err != nil {
		return err
	}
	if r.asJSON {
		return r.write(answer.Body)
	}
	return r.writeTrial(*answer.JSON200)
}

// readings reads METRIC=VALUE, and METRIC=VALUE±DEVIATION where the standard deviation is known (+- will do).
func readings(words []string) (map[string]any, error) {
	told := map[string]any{}
	for _, word := range words {
		metric, text, found := strings.Cut(word, "=")
		if _, twice := told[metric]; twice || !found || metric == "" {
			return nil, fmt.Errorf("%q must look like yield=71.2 or yield=71.2±0.4, each metric once", word)
		}
		value, deviation, known := strings.Cut(strings.Replace(text, "+-", "±", 1), "±")
		mean, err := finite(metric, value)
		if err != nil {
			return nil, err
		}
		told[metric] = mean
		if known {
			sd, err := finite(metric, deviation)
			if err != nil {
				return nil, err
			}
			told[metric] = map[string]float64{"value": mean, "stddev": sd}
		}
	}
	return told, nil
}

func finite(metric, text string) (float64, error) {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, fmt.Errorf("%s: %q is not a number such as 71.2", metric, text)
	}
	return value, nil
}

func exportRemote(ctx context.Context, c config, args []string) error {
	set, asJSON := remoteFlags("export")
	r, id, err := remoteStudy(c, set, asJSON, args)
	if err != nil {
		return err
	}
	var response *http.Response
	if r.asJSON {
		response, err = r.api.ExportBundle(ctx, id, nil)
	} else {
		response, err = r.api.ExportCSV(ctx, id, nil)
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := refused(response); err != nil {
		return err
	}
	_, err = io.Copy(r.out, response.Body)
	return err
}

// refused is answered for an answer that is read as it comes.
func refused(response *http.Response) error {
	if response.StatusCode < http.StatusBadRequest {
		return nil
	}
	problem := &headroom.Problem{}
	if json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(problem) != nil || problem.Detail == "" {
		problem = nil
	}
	return answered(problem, response)
}

// watchRemote writes a line for each event of the study, those to come too, until it is interrupted. A stream that breaks is taken up again.
func watchRemote(ctx context.Context, c config, args []string) error {
	set, asJSON := remoteFlags("watch")
	after := set.Int64("after", 0, "start behind this event")
	r, id, err := remoteStudy(c, set, asJSON, args)
	if err != nil {
		return err
	}
	for {
		response, err := r.api.Events(ctx, id, &headroom.EventsParams{After: after})
		if err != nil {
			return err
		}
		err = refused(response)
		if err == nil {
			err = r.follow(response.Body, after)
		}
		response.Body.Close()
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(remotePause):
		}
	}
}

// follow writes events until the stream ends, and moves after on to the last of them.
func (r *remote) follow(stream io.Reader, after *int64) error {
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil // it broke off, or somebody interrupted
		}
		text, isData := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data: ")
		if !isData {
			continue
		}
		var event headroom.Event
		if err := json.Unmarshal([]byte(text), &event); err != nil {
			return fmt.Errorf("the stream says %q: %w", text, err)
		}
		*after = event.Seq
		if !r.asJSON {
			text = fmt.Sprintf("%d\t%s\t%s\t%s", event.Seq, event.At.Local().Format(time.DateTime), event.By, event.Kind)
		}
		if _, err := fmt.Fprintln(r.out, text); err != nil {
			return err
		}
	}
}

func (r *remote) write(body []byte) error {
	_, err := fmt.Fprintln(r.out, strings.TrimSpace(string(body)))
	return err
}

// writeTrial writes a trial as a person at a terminal reads it.
func (r *remote) writeTrial(trial headroom.Trial) error {
	var words strings.Builder
	fmt.Fprintf(&words, "trial %d, %s\n", trial.Number, trial.Status)
	for _, group := range []map[string]any{trial.Parameters, values(trial.Metrics)} {
		for _, name := range sorted(group) {
			fmt.Fprintf(&words, "  %s\t%v\n", name, group[name])
		}
	}
	if trial.Decision != nil && trial.Decision.Because != "" && len(trial.Metrics) == 0 {
		fmt.Fprintf(&words, "  %s\n", trial.Decision.Because)
	}
	_, err := io.WriteString(r.out, words.String())
	return err
}

func values(metrics map[string]headroom.Measurement) map[string]any {
	all := make(map[string]any, len(metrics))
	for name, m := range metrics {
		all[name] = m.Value
	}
	return all
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
