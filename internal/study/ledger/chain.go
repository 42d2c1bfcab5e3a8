package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// Next turns the drafts of one request into events that continue the ledger of snap (nil before its
// first event), with number, time and hash. They have one time, which is later than that of the
// event before them even if the clock goes back: so it tells what was written together. Sampled
// values that the ledger already has are replaced by their hash.
func Next(snap *Snapshot, now time.Time, by string, drafts ...Draft) ([]Event, error) {
	last, short := snap.End(), shortener{hashes: map[*float64]string{}}
	if snap != nil {
		short.kept = snap.Resolver()
	}
	at := now.UTC().Truncate(time.Microsecond)
	if snap != nil && !at.After(last.At) {
		at = last.At.Add(time.Microsecond)
	}
	events := make([]Event, 0, len(drafts))
	for _, d := range drafts {
		if chosen, ok := d.Data.(ChosenData); ok {
			d.Data = short.shorten(chosen)
		}
		data, err := json.Marshal(d.Data)
		if err != nil {
			return nil, fmt.Errorf("%s event: %w", d.Kind, err)
		}
		event := Event{Seq: last.Seq + 1, At: at, By: by, Kind: d.Kind, Data: data}
		if event.Hash, err = hashEvent(last, event); err != nil {
			return nil, fmt.Errorf("%s event: %w", d.Kind, err)
		}
		events = append(events, event)
		last = event
	}
	return events, nil
}

// hashEvent returns hex SHA-256(hash of the event before ‖ RFC 8785 JSON of {seq, at, by, kind,
// data}).
func hashEvent(before, e Event) (string, error) {
	previous := before.Hash
	if before.Seq == 0 {
		previous = noHash
	}
	data, err := canonicalJSON(e.Data)
	if err != nil {
		return "", err
	}
	at, err := e.At.UTC().MarshalJSON()
	if err != nil {
		return "", err
	}
	if !utf8.ValidString(e.By) || !utf8.ValidString(string(e.Kind)) {
		return "", errors.New("the text is not UTF-8")
	}
	text := make([]byte, 0, len(previous)+len(data)+len(at)+len(e.By)+100)
	text = append(text, previous...)
	text = append(append(text, `{"at":`...), at...)
	text = appendString(append(text, `,"by":`...), e.By)
	text = append(append(text, `,"data":`...), data...)
	text = appendString(append(text, `,"kind":`...), string(e.Kind))
	text = strconv.AppendInt(append(text, `,"seq":`...), e.Seq, 10)
	sum := sha256.Sum256(append(text, '}'))
	return hex.EncodeToString(sum[:]), nil
}

// CheckChain checks the numbers, times and hashes of a whole ledger. The error names the first
// event that does not fit.
func CheckChain(events []Event) error { return CheckContinues(Event{}, events) }

// CheckContinues is CheckChain for events that follow last, of which number, time and hash are
// used.
func CheckContinues(last Event, events []Event) error {
	for _, e := range events {
		if e.Seq != last.Seq+1 {
			return fmt.Errorf("event %d: follows event %d", e.Seq, last.Seq)
		}
		if e.At.Before(last.At) {
			return fmt.Errorf("event %d: is earlier than the one before it", e.Seq)
		}
		hash, err := hashEvent(last, e)
		if err != nil {
			return fmt.Errorf("event %d: %w", e.Seq, err)
		}
		if hash != e.Hash {
			return fmt.Errorf("event %d: its hash is %s, but its content gives %s", e.Seq, e.Hash, hash)
		}
		last = e
	}
	return nil
}
