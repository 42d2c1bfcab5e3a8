package pages

import (
	"bytes"
	"container/list"
	"sync"
	"time"

	"headroom/web/templates"
)

// shareFor is how long a rendered part serves others: its times are written as "2 min ago".
const shareFor = 5 * time.Second

// partKey is all that a rendered part depends on, besides the moment.
type partKey struct {
	study   templates.StudyHead // with what the viewer may do
	version int64
	part    string
	query   string // canonical
}

// sharedParts are rendered parts of study pages. When a result comes in, everybody who looks at the study asks for the same parts at the same
// moment; each is worked out, rendered and compressed once. What is kept is bounded in bytes; the least recently used goes first.
type sharedParts struct {
	limit int64

	mutex sync.Mutex
	bytes int64
	by    map[partKey]*list.Element // of *sharedPart
	used  *list.List                // the last used in front
}

type sharedPart struct {
	key   partKey
	bytes int64 // as counted in the sum

	turn sync.Mutex // of who makes it
	made time.Time
	asset
}

func newSharedParts(limit int64) *sharedParts {
	return &sharedParts{limit: limit, by: map[partKey]*list.Element{}, used: list.New()}
}

// get returns the part kept under key, rendered by render if it is missing or old.
func (p *sharedParts) get(key partKey, render func(*bytes.Buffer) error) (asset, error) {
	part := p.entry(key)
	part.turn.Lock()
	defer part.turn.Unlock()
	if time.Since(part.made) < shareFor {
		return part.asset, nil
	}
	var out bytes.Buffer
	if err := render(&out); err != nil {
		p.drop(part)
		return asset{}, err
	}
	part.asset, part.made = asset{bytes.Clone(out.Bytes()), packed(out.Bytes())}, time.Now()
	p.count(part)
	return part.asset, nil
}

// entry finds the place of a part, or makes one.
func (p *sharedParts) entry(key partKey) *sharedPart {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if known, there := p.by[key]; there {
		p.used.MoveToFront(known)
		return known.Value.(*sharedPart)
	}
	part := &sharedPart{key: key}
	p.by[key] = p.used.PushFront(part)
	return part
}

// count takes note of how much a part holds now, and gives up what is too much.
func (p *sharedParts) count(part *sharedPart) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if place, kept := p.by[part.key]; !kept || place.Value != part {
		return // given up meanwhile
	}
	held := part.held()
	p.bytes, part.bytes = p.bytes+held-part.bytes, held
	for p.bytes > p.limit {
		p.remove(p.used.Back().Value.(*sharedPart))
	}
}

// drop gives a part up that could not be made.
func (p *sharedParts) drop(part *sharedPart) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if place, kept := p.by[part.key]; kept && place.Value == part {
		p.remove(part)
	}
}

// remove is for holders of the mutex.
func (p *sharedParts) remove(part *sharedPart) {
	p.used.Remove(p.by[part.key])
	delete(p.by, part.key)
	p.bytes -= part.bytes
}

// entryBytes is about what the maps, lists and locks of one part take.
const entryBytes = 600

func (part *sharedPart) held() int64 {
	return int64(cap(part.plain)+cap(part.packed)+len(part.key.study.Name)+len(part.key.query)) + entryBytes
}

// size is how many bytes are held, and in how many parts.
func (p *sharedParts) size() (held int64, parts int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.bytes, len(p.by)
}
