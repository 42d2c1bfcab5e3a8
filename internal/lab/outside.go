package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Outside is a program that plays in place of the service, so that other tools meet the same rows,
// the same noise and the same judge. It exchanges lines of JSON, which docs/comparison.md
// describes.
type Outside struct {
	// Name is what the program calls itself, with the versions that decide how it plays.
	Name     string
	command  []string
	patience time.Duration // for one answer
}

// outsidePatience is far beyond what an answer takes: a program that gives none must not block a
// rehearsal forever.
const outsidePatience = 10 * time.Minute

// longestAnswer is a length in bytes; 50 settings of 100 parameters need a tenth of it.
const longestAnswer = 1 << 20

// NewOutside starts a command, its words separated by spaces, to learn what it calls itself.
func NewOutside(ctx context.Context, command string) (*Outside, error) {
	return newOutside(ctx, strings.Fields(command), outsidePatience)
}

func newOutside(ctx context.Context, command []string, patience time.Duration) (*Outside, error) {
	o := &Outside{command: command, patience: patience}
	if len(command) == 0 {
		return nil, errors.New("the command is missing")
	}
	c, err := o.start(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	defer c.kill()
	o.Name = c.name
	return o, c.end()
}

// key identifies what decides how a game with the program goes besides the study: its command and
// name, and the rows to start from with their readings. These show a change of the problem's truth
// or noise, since neither engine nor build of this program is in the key.
func (o *Outside) key(start []outcome) string {
	text, err := json.Marshal([]any{o.command, o.Name, start})
	if err != nil {
		panic(err) // readings are finite
	}
	return string(text)
}

type outsidePlayer struct {
	*conversation
	compiled *design.Compiled
	trials   int     // chosen so far
	next     message // what it has not been told yet
}

// message is what the program is told and asked: for Ask settings, or for its recommendation if
// that is 0. Only the first message has a study.
type message struct {
	Study  *design.Definition `json:"study,omitempty"`
	Trials []outcome          `json:"trials"`
	Ask    int                `json:"ask"`
}

func (o *outsidePlayer) begin(ctx context.Context, rows []*ledger.Trial, results []outcome) error {
	o.trials = len(rows)
	for i := range results {
		results[i].Parameters = rows[i].Parameters
	}
	return o.learn(ctx, results)
}

func (o *outsidePlayer) learn(_ context.Context, told []outcome) error {
	o.next.Trials = append(o.next.Trials, told...)
	return nil
}

func (o *outsidePlayer) choose(_ context.Context, count int) ([]*ledger.Trial, error) {
	var answer struct {
		Settings []design.Settings `json:"settings"`
	}
	if err := o.ask(count, &answer); err != nil {
		return nil, err
	}
	if len(answer.Settings) != count {
		return nil, fmt.Errorf("asked for %d settings it gave %d", count, len(answer.Settings))
	}
	var trials []*ledger.Trial
	for _, at := range answer.Settings {
		placed, place, faults := o.compiled.Place(at, "settings")
		if err := faults.Err(); err != nil {
			return nil, fmt.Errorf("it chose what cannot be measured: %w", err)
		}
		o.trials++
		trial := &ledger.Trial{Number: o.trials, Parameters: placed}
		if place.Arm >= 0 {
			trial.Candidate = &place.Arm
		}
		trials = append(trials, trial)
	}
	return trials, nil
}

func (o *outsidePlayer) judge(_ context.Context, record *Record) error {
	var answer struct {
		Recommended *int `json:"recommended"`
	}
	if err := o.ask(0, &answer); err != nil {
		return err
	}
	if answer.Recommended == nil || *answer.Recommended < 0 || *answer.Recommended > o.trials {
		return fmt.Errorf("at the end it must answer {\"recommended\": number of a trial}, 1 to %d, or 0 for none", o.trials)
	}
	record.Looks = []Look{{Trials: o.trials, Recommended: *answer.Recommended}}
	return nil
}

func (o *outsidePlayer) ask(count int, answer any) error {
	defer o.startTimeout().Stop()
	o.next.Ask = count
	if err := json.NewEncoder(o.in).Encode(o.next); err != nil {
		return errors.Join(fmt.Errorf("it cannot be told anything: %w", err), o.exitError())
	}
	o.next = message{Trials: []outcome{}}
	return o.readAnswer(answer)
}

type conversation struct {
	name     string
	program  *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Scanner
	stderr   tailBuffer
	patience time.Duration
	stop     context.CancelCauseFunc
	cause    func() error // why it was stopped
}

// start starts the program and reads its name.
func (o *Outside) start(ctx context.Context) (*conversation, error) {
	ctx, stop := context.WithCancelCause(ctx)
	c := &conversation{
		program: exec.CommandContext(ctx, o.command[0], o.command[1:]...), patience: o.patience,
		stop: stop, cause: func() error { return context.Cause(ctx) },
	}
	c.program.Stderr = &c.stderr
	c.program.WaitDelay = time.Second // for what it left behind with its pipes open
	in, err := c.program.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.program.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.out = in, bufio.NewScanner(out)
	c.out.Buffer(nil, longestAnswer)
	c.program.Cancel = func() error {
		return errors.Join(c.program.Process.Kill(), in.Close(), out.Close()) // nor wait for those it started itself
	}
	if err := c.program.Start(); err != nil {
		stop(nil)
		return nil, err
	}
	defer c.startTimeout().Stop()
	var hello struct {
		Player string `json:"player"`
	}
	err = c.readAnswer(&hello)
	if c.name = hello.Player; err == nil && c.name == "" {
		err = errors.New(`it must begin with {"player": "its name and version"}`)
	}
	if err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

func (c *conversation) readAnswer(object any) error {
	if !c.out.Scan() {
		return c.exitError()
	}
	decoder := json.NewDecoder(bytes.NewReader(c.out.Bytes()))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(object); err != nil {
		return fmt.Errorf("it said %q: %w", design.Shorten(c.out.Text()), err)
	}
	return nil
}

// startTimeout returns a timer that stops the program if it neither says something nor listens in
// time.
func (c *conversation) startTimeout() *time.Timer {
	return time.AfterFunc(c.patience, func() { c.stop(fmt.Errorf("nothing was heard from it for %s", c.patience)) })
}

func (c *conversation) exitError() error {
	if c.out.Err() != nil && c.cause() == nil {
		return fmt.Errorf("its answer cannot be read: %w", c.out.Err())
	}
	if err := c.end(); err != nil {
		return err
	}
	return errors.New("it ended before the game did")
}

// end closes the program's input and waits for it to exit with success.
func (c *conversation) end() error {
	defer c.startTimeout().Stop()
	if err := errors.Join(c.in.Close(), c.program.Wait()); err != nil {
		if c.cause() != nil {
			err = c.cause()
		}
		return fmt.Errorf("%w\n%s", err, c.stderr.text)
	}
	return nil
}

func (c *conversation) kill() {
	c.stop(nil)
	_ = c.program.Wait()
}

// tailBuffer keeps the end of what is written to it: of a long error message that says what is
// wrong.
type tailBuffer struct{ text []byte }

func (e *tailBuffer) Write(text []byte) (int, error) {
	const kept = 2000
	e.text = append(e.text, text...)
	e.text = e.text[max(0, len(e.text)-kept):]
	return len(text), nil
}
