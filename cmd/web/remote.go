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
	"net"
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

const remoteHelp = `It asks the server at HEADROOM_URL (else the one of this machine) with the API token in HEADROOM_TOKEN, which “headroom token” makes on the
server's machine. Flags may stand anywhere.`

// jsonFlag is the flag that all these commands take.
func jsonFlag(set *flag.FlagSet) *bool {
	return set.Bool("json", false, "write the server's answer as it is")
}

// newRemote is the server at HEADROOM_URL, asked with HEADROOM_TOKEN; or this machine's, asked with the admin token where that is kept here.
func newRemote(c config, asJSON bool) (*remote, error) {
	token, address := c.token, c.server()
	switch {
	case token != "":
	case c.serverURL != "": // nobody but the server of this machine is shown its admin token
		return nil, fmt.Errorf("put an API token of %s into HEADROOM_TOKEN (“headroom token” makes one there)", c.serverURL)
	default:
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
	api, err := headroom.NewClientWithResponses(address,
		headroom.WithHTTPClient(patient{http.DefaultClient, address}),
		headroom.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+token)
			return nil
		}))
	return &remote{api, asJSON, os.Stdout}, err
}

// patient repeats requests that a starting or overtaxed server did not answer. Those that change something carry a key, so that none counts twice.
type patient struct {
	client  *http.Client
	address string
}

func (p patient) Do(r *http.Request) (*http.Response, error) {
	pause := remotePause
	for try := 1; ; try++ {
		response, err := p.client.Do(r)
		away := err != nil || slices.Contains([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, response.StatusCode)
		if !away || try == remoteTries || (r.Body != nil && r.GetBody == nil) {
			return response, hinted(p.address, err)
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

// hinted says what to do where no server answers at address.
func hinted(address string, err error) error {
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
		return fmt.Errorf("no server answers at %s (%w): start it with “headroom serve”, or say in HEADROOM_URL where it runs", address, dial.Err)
	}
	return err
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

func askRemote(set *flag.FlagSet) action {
	asJSON := jsonFlag(set)
	count := set.Int64("count", 1, "how many trials")
	return configured(func(ctx context.Context, c config, args []string) error {
		r, err := newRemote(c, *asJSON)
		if err != nil {
			return err
		}
		return r.ask(ctx, args[0], *count)
	})
}

func (r *remote) ask(ctx context.Context, id string, count int64) error {
	key := account.NewSecret()
	answer, err := r.api.AskWithResponse(ctx, id, &headroom.AskParams{IdempotencyKey: &key}, headroom.AskRequest{Count: &count})
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

func tellRemote(set *flag.FlagSet) action {
	asJSON := jsonFlag(set)
	note := set.String("note", "", "kept with the trial")
	return configured(func(ctx context.Context, c config, args []string) error {
		number, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil || number < 1 {
			return fmt.Errorf("%q is not the number of a trial", args[1])
		}
		telling := headroom.TellingRequest{}
		if telling.Metrics, err = readings(args[2:]); err != nil {
			return err
		}
		if *note != "" {
			telling.Note = note
		}
		r, err := newRemote(c, *asJSON)
		if err != nil {
			return err
		}
		return r.tell(ctx, args[0], number, telling)
	})
}

func (r *remote) tell(ctx context.Context, id string, number int64, telling headroom.TellingRequest) error {
	key := account.NewSecret()
	answer, err := r.api.TellWithResponse(ctx, id, number, &headroom.TellParams{IdempotencyKey: &key}, telling)
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

func exportRemote(set *flag.FlagSet) action {
	asJSON := jsonFlag(set)
	return configured(func(ctx context.Context, c config, args []string) error {
		r, err := newRemote(c, *asJSON)
		if err != nil {
			return err
		}
		return r.export(ctx, args[0])
	})
}

func (r *remote) export(ctx context.Context, id string) error {
	var response *http.Response
	var err error
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

func watchRemote(set *flag.FlagSet) action {
	asJSON := jsonFlag(set)
	after := set.Int64("after", 0, "start behind this event")
	return configured(func(ctx context.Context, c config, args []string) error {
		r, err := newRemote(c, *asJSON)
		if err != nil {
			return err
		}
		return r.watch(ctx, args[0], *after)
	})
}

// watch writes a line for each event of the study, those to come too, until it is interrupted or nobody reads on. A stream that breaks is
// taken up again.
func (r *remote) watch(ctx context.Context, id string, after int64) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { stop(untilReaderGone(os.Stdout)) }()
	for {
		err := r.watchOnce(ctx, id, &after)
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			return cause
		}
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

func (r *remote) watchOnce(ctx context.Context, id string, after *int64) error {
	response, err := r.api.Events(ctx, id, &headroom.EventsParams{After: after})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := refused(response); err != nil {
		return err
	}
	return r.follow(response.Body, after)
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
