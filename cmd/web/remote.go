package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// These commands talk to a running server, here or elsewhere, as scripts do: by its API only.

const (
	// remoteTries is how often a request is made, under one key, while the server cannot be reached
	// or is starting.
	remoteTries = 4
	// remotePause is the pause after the first try. It doubles after each other, up to
	// longestPause.
	remotePause  = 500 * time.Millisecond
	longestPause = 2 * time.Second
	// longestAsked is the longest pause that is made because the server asks for it. Who is told to
	// wait for longer, as for wrong credentials, is told so.
	longestAsked = 10 * time.Second
	// answerTime is the server's own limit for an answer, and a little for the way.
	answerTime = writeTimeout + 10*time.Second
	// streamSilence is more than two heartbeats of a stream.
	streamSilence = 40 * time.Second
)

// remote is a server, with who asks it and how its answers are written.
type remote struct {
	address string
	token   string
	asJSON  bool
	out     io.Writer
	silence time.Duration // how long the server may send nothing; 0 = forever
	patient bool          // tries again without end
	sends   string        // media type of what it sends, if that is not JSON
	waiting bool          // has said that it waits
	asides  io.Writer     // for what is no answer of the server
	client  *http.Client
}

const remoteHelp = `It asks the server at HEADROOM_URL (else the one of this machine) with the API token in HEADROOM_TOKEN, which “headroom token” makes on the
server's machine. Flags may stand anywhere.`

func remoteAction(set *flag.FlagSet, do func(ctx context.Context, r *remote, args []string) error) action {
	asJSON := set.Bool("json", false, "write the server's answer as it is")
	return configured(func(ctx context.Context, c config, args []string) error {
		token, err := c.credentials()
		if err != nil {
			return err
		}
		return do(ctx, &remote{address: strings.TrimRight(c.server(), "/"), token: token, asJSON: *asJSON, out: os.Stdout, asides: os.Stderr, client: http.DefaultClient}, args)
	})
}

// timedRemoteAction is remoteAction for commands that end.
func timedRemoteAction(set *flag.FlagSet, do func(ctx context.Context, r *remote, args []string) error) action {
	silence := set.Duration("timeout", answerTime, "give up when the server has said nothing for this long; 0 = never")
	return remoteAction(set, func(ctx context.Context, r *remote, args []string) error {
		r.silence = *silence
		return do(ctx, r, args)
	})
}

const giveToken = "put an API token into HEADROOM_TOKEN (“headroom token” makes one on the server's machine)"

// credentials returns HEADROOM_TOKEN, or this machine's admin token if that is stored here.
func (c config) credentials() (string, error) {
	if c.token != "" {
		return c.token, nil
	}
	if c.serverURL != "" { // nobody but the server of this machine is shown its admin token
		return "", fmt.Errorf("%s: "+giveToken, c.serverURL)
	}
	folder, err := c.folder()
	if err != nil {
		return "", err
	}
	kept, err := os.ReadFile(filepath.Join(folder, adminTokenFile))
	if err != nil {
		return "", errors.New(giveToken)
	}
	return strings.TrimSpace(string(kept)), nil
}

// post changes a study, once however often the request is repeated. It decodes the answer into
// answer, or writes it as it is.
func (r *remote) post(ctx context.Context, id, name string, body, answer any) error {
	text, isText := body.([]byte)
	var err error
	if !isText {
		text, err = json.Marshal(body)
	}
	if err != nil {
		return err
	}
	response, err := r.send(ctx, http.MethodPost, studyPath(id, name), text)
	if errors.Is(err, errSilent) {
		return fmt.Errorf("%w. What you asked for may still be done", err)
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if r.asJSON {
		_, err := fmt.Fprintln(r.out, strings.TrimSpace(string(said)))
		return err
	}
	return json.Unmarshal(said, answer)
}

func studyPath(id, name string) string { return "/studies/" + url.PathEscape(id) + "/" + name }

// send makes a request, and repeats it under the same key if the server is starting or overloaded,
// so that none counts twice. What the server refuses is an error.
func (r *remote) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	key, pause := account.NewSecret(), remotePause
	for try := 1; ; try++ {
		request, err := http.NewRequest(method, r.address+"/api/v1"+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", "Bearer "+r.token)
		if body != nil {
			request.Header.Set("Content-Type", cmp.Or(r.sends, "application/json"))
			request.Header.Set("Idempotency-Key", key)
		}
		response, err := r.do(ctx, request)
		if err == nil && body != nil { // the answer is read whole here, since a server may end in the middle of it
			var said []byte
			said, err = io.ReadAll(response.Body)
			response.Body.Close()
			response.Body = io.NopCloser(bytes.NewReader(said))
		}
		away := err != nil || slices.Contains(retryable, response.StatusCode)
		var asked time.Duration
		if err == nil {
			asked = askedPause(response)
		}
		switch {
		case errors.Is(err, errSilent):
			return nil, err
		case away && r.patient:
			r.noteWaiting()
		case away && try < remoteTries && asked <= longestAsked:
		case err != nil:
			return nil, explainError(r.address, err)
		default:
			return response, cmp.Or(refusal(response), r.foreign(response))
		}
		if err == nil {
			response.Body.Close()
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(max(pause, min(asked, longestAsked))):
		}
		pause = min(2*pause, longestPause)
	}
}

// retryable are the answers of a server, or of what stands before it, that can be asked again.
var retryable = []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// askedPause returns how long the answer asks to wait before the request is repeated, 0 if it does
// not say so in seconds.
func askedPause(response *http.Response) time.Duration {
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return time.Duration(seconds) * time.Second
}

// foreign returns the error of an answer that is none of the API's, such as a page by which a proxy
// asks for a sign-in.
func (r *remote) foreign(response *http.Response) error {
	form, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if slices.Contains([]string{"application/json", "text/csv", "text/event-stream"}, form) {
		return nil
	}
	response.Body.Close()
	return fmt.Errorf("%w (it says %s, %q)", foreignError(r.address), response.Status, form)
}

func foreignError(address string) error {
	return fmt.Errorf("what answers at %s is not Headroom: say in HEADROOM_URL where that runs", address)
}

// errSilent is the error of a server that accepts connections and does not answer.
var errSilent = errors.New("did not answer in time: it is starting, is frozen or has too much to do; its log says which")

func silentError(address string) error { return fmt.Errorf("the server at %s %w", address, errSilent) }

// do makes a request once. It, and reading its answer, fails with errSilent if the server has sent
// nothing for r.silence.
func (r *remote) do(ctx context.Context, request *http.Request) (*http.Response, error) {
	answer := r.listen(ctx)
	response, err := r.client.Do(request.WithContext(answer.ctx))
	answer.timer.Stop()
	if err != nil {
		defer answer.end(nil)
		return nil, answer.orSilence(err)
	}
	answer.ReadCloser, response.Body = response.Body, answer
	return response, nil
}

// timedBody is an answer whose reads are timed. The time between two reads, as with a pager, does
// not count.
type timedBody struct {
	io.ReadCloser
	ctx     context.Context
	end     context.CancelCauseFunc
	silence time.Duration
	timer   *time.Timer // runs while the server is waited for
}

func (r *remote) listen(ctx context.Context) *timedBody {
	ctx, end := context.WithCancelCause(ctx)
	silence := cmp.Or(r.silence, math.MaxInt64) // 0 = forever
	return &timedBody{ctx: ctx, end: end, silence: silence, timer: time.AfterFunc(silence, func() { end(silentError(r.address)) })}
}

func (l *timedBody) Read(text []byte) (int, error) {
	l.timer.Reset(l.silence)
	n, err := l.ReadCloser.Read(text)
	l.timer.Stop()
	return n, l.orSilence(err)
}

func (l *timedBody) Close() error {
	l.end(nil)
	return l.ReadCloser.Close()
}

// orSilence returns err, or errSilent if that caused it, in words if the answer broke off.
func (l *timedBody) orSilence(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("the answer broke off: %w", err)
	}
	if cause := context.Cause(l.ctx); err != nil && errors.Is(cause, errSilent) {
		return cause
	}
	return err
}

func (r *remote) noteWaiting() {
	if !r.waiting {
		fmt.Fprintf(r.asides, "headroom: the server at %s does not answer; waiting for it\n", r.address)
	}
	r.waiting = true
}

// explainError adds to err what is wrong, and what to do, if no server answers at address.
func explainError(address string, err error) error {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return fmt.Errorf("no server answers at %s (%w): start it with “headroom serve”, or say in HEADROOM_URL where it runs", address, dial.Err)
	}
	if errors.Is(err, context.DeadlineExceeded) { // a starting server listens before it has its database
		return silentError(address)
	}
	if untrusted, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("the certificate of %s is not accepted (%w): use a server name that is in it; if this machine does not know its issuer, name the issuer's file in SSL_CERT_FILE", address, untrusted.Err)
	}
	if asked, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("the server at %s cannot be asked (%w)", address, asked.Err)
	}
	return err
}

func refusal(response *http.Response) error {
	if response.StatusCode < http.StatusBadRequest {
		return nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	var said problem.Problem
	if json.Unmarshal(text, &said) != nil || said.Detail == "" { // another program's answer, or http to an https port
		return errors.New(strings.TrimSuffix(fmt.Sprintf("the server says %s: %.100q", response.Status, bytes.TrimSpace(text)), `: ""`))
	}
	if response.StatusCode == http.StatusUnauthorized {
		return fmt.Errorf("%s: "+giveToken, strings.TrimSuffix(said.Detail, "."))
	}
	faults := lists.Map(said.Errors, func(fault design.Fault) string {
		_, fault.Field, _ = strings.Cut(fault.Field, ".") // a command line has neither body nor query
		return fault.String()
	})
	return errors.New(cmp.Or(strings.Join(faults, "; "), said.Detail))
}

// studiesRemote lists the studies, newest change first: id, state, number of trials, number of
// those that wait for results, name.
func studiesRemote(set *flag.FlagSet) action {
	return timedRemoteAction(set, func(ctx context.Context, r *remote, args []string) error {
		query := url.Values{"find": {strings.Join(args, " ")}}
		for {
			response, err := r.send(ctx, http.MethodGet, "/studies?"+query.Encode(), nil)
			if err != nil {
				return err
			}
			next, err := r.writeStudies(response.Body)
			if err != nil || next == "" {
				return err
			}
			query.Set("after", next)
		}
	})
}

// writeStudies writes a page of the list and returns the mark of the next one, "" at the end.
func (r *remote) writeStudies(page io.ReadCloser) (next string, err error) {
	defer page.Close()
	var answer struct {
		Studies []json.RawMessage
		Next    string
	}
	if err := json.NewDecoder(page).Decode(&answer); err != nil {
		return "", err
	}
	for _, text := range answer.Studies {
		line := string(text)
		if !r.asJSON {
			var one ledger.Summary
			if err := json.Unmarshal(text, &one); err != nil {
				return "", err
			}
			line = fmt.Sprintf("%s\t%s\t%d\t%d\t%s", one.ID, one.State, one.Trials, one.Waiting, one.Name)
		}
		if _, err := fmt.Fprintln(r.out, line); err != nil {
			return "", err
		}
	}
	return answer.Next, nil
}

func askRemote(set *flag.FlagSet) action {
	count := set.Int64("count", 1, fmt.Sprintf("how many trials; beyond %d they are asked for in several requests", study.MostAsked))
	return timedRemoteAction(set, func(ctx context.Context, r *remote, args []string) error {
		held, err := settings(args[1:])
		if err != nil {
			return err
		}
		asked, asking := []json.RawMessage{}, *r
		asking.asJSON = false // the answers are written as one
		for left := *count; ; left -= study.MostAsked {
			var answer struct{ Trials []json.RawMessage }
			err := asking.post(ctx, args[0], "ask", map[string]any{"count": min(left, study.MostAsked), "held": held}, &answer)
			if asked = append(asked, answer.Trials...); !r.asJSON {
				err = cmp.Or(err, r.writeTrials(answer.Trials))
			}
			if err == nil && left > study.MostAsked {
				continue
			}
			if r.asJSON && len(asked) > 0 { // also those that were asked for before a refusal
				err = cmp.Or(err, json.NewEncoder(r.out).Encode(map[string]any{"trials": asked}))
			}
			return err
		}
	})
}

func (r *remote) writeTrials(texts []json.RawMessage) error {
	for _, text := range texts {
		var trial ledger.Trial
		if err := json.Unmarshal(text, &trial); err != nil {
			return err
		}
		if err := r.writeTrial(trial); err != nil {
			return err
		}
	}
	return nil
}

// settings reads words such as temperature=40 and ligand=A. A choice that looks like a number
// stands in quotes of its own, as in plate='"2"'.
func settings(words []string) (map[string]any, error) {
	held := map[string]any{}
	for _, word := range words {
		name, text := cutAssignment(word)
		if _, twice := held[name]; twice || name == "" {
			return nil, fmt.Errorf("%q must look like temperature=40 or ligand=A, each setting once", word)
		}
		var value any = text
		if number, err := readNumber(name, text); err == nil {
			value = number
		} else if quoted, err := strconv.Unquote(text); err == nil {
			value = quoted
		}
		held[name] = value
	}
	return held, nil
}

func tellRemote(set *flag.FlagSet) action {
	note := set.String("note", "", "kept with the trial")
	return timedRemoteAction(set, func(ctx context.Context, r *remote, args []string) error {
		metrics, err := readings(args[2:])
		if err != nil {
			return err
		}
		telling := map[string]any{"metrics": metrics}
		if *note != "" {
			telling["note"] = *note
		}
		return r.postOf(ctx, args, "tell", telling)
	})
}

func failRemote(set *flag.FlagSet) action {
	chance := set.Bool("chance", false, "it failed by chance, as by a power cut, and not because of its settings")
	return timedRemoteAction(set, func(ctx context.Context, r *remote, args []string) error {
		cause := ledger.BySettings
		if *chance {
			cause = ledger.ByChance
		}
		return r.postOf(ctx, args, "fail", map[string]string{"reason": args[2], "cause": string(cause)})
	})
}

// postOf changes the trial that args name, and writes the trial as it is then.
func (r *remote) postOf(ctx context.Context, args []string, what string, body any) error {
	number, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil || number < 1 {
		return fmt.Errorf("%q is not the number of a trial", args[1])
	}
	var trial ledger.Trial
	if err := r.post(ctx, args[0], fmt.Sprintf("trials/%d/%s", number, what), body, &trial); err != nil || r.asJSON {
		return err
	}
	return r.writeTrial(trial)
}

// readings reads words such as METRIC=VALUE and METRIC=VALUE±DEVIATION; +- stands for ±.
func readings(words []string) (map[string]any, error) {
	told := map[string]any{}
	for _, word := range words {
		metric, text := cutAssignment(word)
		if _, twice := told[metric]; twice || metric == "" {
			return nil, fmt.Errorf("%q must look like yield=71.2 or yield=71.2±0.4, each metric once", word)
		}
		value, deviation, known := design.CutDeviation(text, "")
		mean, err := readNumber(metric, value)
		if err != nil {
			return nil, err
		}
		told[metric] = mean
		if known {
			sd, err := readNumber(metric, deviation)
			if err != nil {
				return nil, err
			}
			told[metric] = map[string]float64{"value": mean, "stddev": sd}
		}
	}
	return told, nil
}

// cutAssignment cuts a word such as temperature=40 at its last =, since a name may contain one.
func cutAssignment(word string) (name, text string) {
	at := max(strings.LastIndexByte(word, '='), 0)
	return word[:at], strings.TrimPrefix(word[at:], "=")
}

// readNumber reads a number as forms do, except that a point is always decimal, as scripts write
// it.
func readNumber(metric, text string) (float64, error) {
	value, err := design.ReadNumber(text, design.Marks{Decimal: '.'})
	if err != nil {
		return 0, fmt.Errorf("%s=%s: %w", metric, text, err)
	}
	return value, nil
}

func importRemote(set *flag.FlagSet) action {
	query := url.Values{}
	option := func(flag, name, meaning string) {
		set.BoolFunc(flag, meaning, func(string) error { query.Set(name, "true"); return nil })
	}
	option("by-number", "by_number", "each row tells what came of the trial whose number it has, and no trials are made")
	option("dry-run", "dry_run", "store nothing, and say what would be imported and what looks odd")
	option("ignore-unknown", "ignore_unknown", "leave out columns that are neither a parameter nor a metric")
	option("beyond-bounds", "beyond_bounds", "take in rows that were run with settings beyond the bounds")
	text := func(name, meaning string) {
		set.Func(name, meaning, func(said string) error { query.Set(name, said); return nil })
	}
	text("reason", "with -by-number: why the table corrects readings that were told before")
	text("decimal", "how the table writes decimals, point or comma, where its own numbers do not show it")
	return timedRemoteAction(set, func(ctx context.Context, r *remote, args []string) error {
		table, err := fromFile(args[1], io.ReadAll)
		if err != nil {
			return err
		}
		r.sends = "text/csv"
		var answer struct {
			Numbers []int
			Doubts  []study.Doubt
		}
		if err := r.post(ctx, args[0], "import?"+query.Encode(), table, &answer); err != nil || r.asJSON {
			return err
		}
		for _, doubt := range answer.Doubts {
			fmt.Fprintf(r.out, "%s: %s\n", strings.TrimPrefix(doubt.Field, "body."), doubt.Text)
		}
		_, err = fmt.Fprintln(r.out, strings.TrimSpace(design.Count(len(answer.Numbers), "trial", "trials")+" "+strings.Trim(fmt.Sprint(answer.Numbers), "[]")))
		return err
	})
}

func exportRemote(set *flag.FlagSet) action {
	status := set.String("status", "", "only trials of these states, as in suggested,partial for those that wait")
	return timedRemoteAction(set, func(ctx context.Context, r *remote, args []string) error {
		name := "export.csv"
		switch {
		case r.asJSON && *status != "":
			return errors.New("with -json the whole study is written; leave out -status")
		case r.asJSON:
			name = "export.json"
		case *status != "":
			name += "?status=" + url.QueryEscape(*status)
		}
		response, err := r.send(ctx, http.MethodGet, studyPath(args[0], name), nil)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		_, err = io.Copy(r.out, response.Body)
		return err
	})
}

func watchRemote(set *flag.FlagSet) action {
	after := set.Int64("after", 0, "start after this event")
	return remoteAction(set, func(ctx context.Context, r *remote, args []string) error {
		r.silence = streamSilence
		return r.watch(ctx, args[0], *after)
	})
}

// watch writes a line for each event of the study, past and future, until it is interrupted or
// nobody reads on. It resumes a stream that breaks off.
func (r *remote) watch(ctx context.Context, id string, after int64) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { stop(untilReaderGone(os.Stdout)) }()
	for {
		err := r.watchOnce(ctx, id, &after)
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			return cause
		}
		switch {
		case errors.Is(err, errSilent):
			r.noteWaiting()
		case err != nil:
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
	response, err := r.send(ctx, http.MethodGet, studyPath(id, fmt.Sprintf("events?after=%d", *after)), nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if r.waiting {
		fmt.Fprintf(r.asides, "headroom: the server at %s answers again\n", r.address)
	}
	r.patient, r.waiting = true, false // with a server that was there
	return r.follow(response.Body, after)
}

// follow writes events until the stream ends, and sets after to the last of them.
func (r *remote) follow(stream io.Reader, after *int64) error {
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, errSilent) {
			return err
		}
		if err != nil {
			return nil // the stream broke off, or the command was interrupted
		}
		text, isData := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data: ")
		if !isData {
			continue
		}
		var event ledger.Event
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

func (r *remote) writeTrial(trial ledger.Trial) error {
	var words strings.Builder
	fmt.Fprintf(&words, "trial %d, %s\n", trial.Number, trial.Status)
	for _, name := range slices.Sorted(maps.Keys(trial.Parameters)) {
		fmt.Fprintf(&words, "  %s\t%s\n", name, trial.Parameters[name])
	}
	for _, name := range slices.Sorted(maps.Keys(trial.Metrics)) {
		told := trial.Metrics[name]
		fmt.Fprintf(&words, "  %s\t%s", name, design.NumberValue(told.Value))
		if told.StdDev != nil {
			fmt.Fprintf(&words, "±%s", design.NumberValue(*told.StdDev))
		}
		words.WriteByte('\n')
	}
	for _, doubt := range trial.Doubts {
		fmt.Fprintf(&words, "  in doubt: %s\n", doubt.Why)
	}
	if trial.Decision != nil && trial.Decision.Because != "" && len(trial.Metrics) == 0 {
		fmt.Fprintf(&words, "  %s\n", trial.Decision.Because)
	}
	_, err := io.WriteString(r.out, words.String())
	return err
}

// health asks the server at HEADROOM_URL, or on HEADROOM_LISTEN as a container's health check does,
// whether it is ready.
func health(ctx context.Context, c config, _ []string) error {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	c.publicURL = ""
	// On this machine the server is asked by another name than its certificate's.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: c.serverURL == ""}}}
	if err := ready(ctx, client, c.server()); err != nil {
		return err
	}
	return say("ready")
}

func ready(ctx context.Context, client *http.Client, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return explainError(address, err)
	}
	if err := refusal(response); err != nil {
		return err
	}
	defer response.Body.Close()
	if said, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20)); string(said) != "ready\n" {
		return foreignError(address)
	}
	return nil
}

// errReaderGone says that nobody reads what this program writes.
var errReaderGone = errors.New("the reader of the output went away")

// untilReaderGone waits until nobody can read what is written to file. Go ends a program that
// writes to a pipe without a reader, but one that waits for something to write would not notice.
func untilReaderGone(file *os.File) error {
	ask := []unix.PollFd{{Fd: int32(file.Fd())}} // without events: errors and hang-ups are told unasked
	for {
		switch _, err := unix.Poll(ask, -1); {
		case err == nil:
			return errReaderGone
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
}
