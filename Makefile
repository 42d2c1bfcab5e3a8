# make run    a server on http://127.0.0.1:8080 with a database of its own in ./data
# make quick  what a changed line can have broken in its own package
# make test   everything that must hold before a change is shared
# Both install what is missing through the system's package manager.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

VERSION := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
SOURCES := $(shell find cmd internal migrations web -name '*.go' -o -name '*.sql' -o -path 'web/static/*' -type f) go.mod go.sum

.PHONY: build run quick test check generate tools fuzz lives audit enough-go

build: bin/headroom

bin/headroom: $(SOURCES) | enough-go
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o $@ ./cmd/web

# enough-go says in a sentence where Go is missing or too old, which Go itself words for its makers.
enough-go:
	@scripts/enough-go

run: bin/headroom
	[ -n "$${HEADROOM_DATABASE_URL:-}" ] || scripts/install postgresql
	exec bin/headroom

# Templates become Go and the API's document a Python client; what they become is committed, so that running needs no generator. The client is made where
# what it was made from, or it, is not as its sums say.
generate: | enough-go
	go run ./web/generate
	cd clients/python && { sha256sum --status -c made.sha256 || { go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 \
	-config generate.yaml ../openapi.json && sha256sum ../openapi.json generate.yaml templates/* headroom_api.py >made.sha256; }; }

# quick is for whoever changed a line: it tests what the change is in.
quick: generate
	scripts/quick

# The race detector would slow numerical loops tenfold. It does not watch those of gonum, Go's own functions (sines are read off tables) and hashes (every
# connection to PostgreSQL and every PIN takes thousands), and packages that start nothing beside their caller and share nothing
# (TestUnwatchedPackagesShareNothing). A package that locks or counts for several has to be watched: unwatched it would tell nothing of the order in which others
# come, and races would be found where none are. JSON, which is read byte by byte, is told of what locks for it by calling that (-l), not by a copy of its own.
# What checks reads what was compiled so, too, and nothing is compiled twice.
UNWATCHED := gonum.org/... math crypto/internal/fips140/... github.com/chromedp/cdproto/... $(addprefix headroom/internal/optimizer/,descent kernel policy probit search warp)
BYTEWISE := encoding/json github.com/go-json-experiment/...
# The tests of packages of which they, too, start nothing are run as the program is: under the race detector, which hears of no second there, they take four
# times as long. It hears what these packages share where others use them.
ALONE := $(addprefix headroom/internal/,http/forms lab/problems mutation optimizer/descent optimizer/policy)
# What else it would have the compiler check, of unsafe pointers, takes a tenth of the time, and hardly any are here. What debuggers read of a program takes
# a sixth of compiling and a fourth of linking, and so does Go's garbage where it is collected as early as it usually is (GOGC).
RACE := -race '-gcflags=all=-d=checkptr=0 -dwarf=false' $(UNWATCHED:%='-gcflags=%=-race=false -dwarf=false') $(BYTEWISE:%='-gcflags=%=-race=false -l -dwarf=false')
test check: export GOFLAGS := $(GOFLAGS) -gcflags=all=-dwarf=false -ldflags=-s
test check: export GOGC := 400
test: export HEADROOM_FUZZ_TIME := 1s
test: export HEADROOM_FUZZ_SEED := $(VERSION)

# Whole games, judged by what comes of them (TestGames…), are played as the program plays them: under the race detector, for which there is nothing new in
# them, they would take four times as long. Each parser's fuzz target is tried with random mutations of its seeds for a second, other ones at every commit.
# What go vet finds, check has found. Where packages wait for a browser or for servers, two more than there are processors take turns. The race detector would
# let each program sleep a second at its end, and would give what it knows of every large allocation back to the system, which costs a tenth of the time. What is
# missing is installed while what is there is checked.
test:
	scripts/install gcc
	$(MAKE) --no-print-directory --jobs 2 tools check
	go test -vet=off -run '^TestGames' $$(grep -rl --include='*_test.go' '^func TestGames' . | xargs dirname | sort -u)
	go test -vet=off $(ALONE)
	GORACE='atexit_sleep_ms=20 clear_shadow_mmap_threshold=1073741824' go test $(RACE) -vet=off -skip '^TestGames' -timeout 20m \
		-p $$(($$(getconf _NPROCESSORS_ONLN) + 2)) $$(go list ./... | grep -vxF "$$(printf '%s\n' $(ALONE))")

tools:
	scripts/install postgresql chromium python3 curl

# check finds what the compiler does not: stale generated code, untidy modules, unformatted or suspicious source. (go tool would compile the linter with
# flags of its own, and with it once more all that the rest was compiled from.)
check:
	sums=$$(find web clients -name '*_templ.go' -o -name headroom_api.py | sort | xargs sha256sum); $(MAKE) --no-print-directory generate; \
	sha256sum --quiet -c <<<"$$sums" || { echo 'The generated code was stale; it is made anew now: commit it.'; exit 1; }
	go mod tidy -diff
	unformatted=$$(gofmt -l cmd internal migrations web e2e); [ -z "$$unformatted" ] || { echo "Not formatted: $$unformatted"; exit 1; }
	scripts/install gcc
	go vet $(RACE) ./...
	go build -o bin/ honnef.co/go/tools/cmd/staticcheck
	GOFLAGS="$$GOFLAGS $(RACE)" bin/staticcheck ./...

# fuzz looks longer than the tests do, and by the code that inputs reach, for what a parser cannot take: ten minutes each.
fuzz:
	scripts/fuzz 10m

# lives leads random studies of extreme numbers through whole lives for an hour; a life that goes wrong prints every request that led there.
lives:
	HEADROOM_LIVES=1h go test -run '^TestWholeLives$$' -v -count 1 -timeout 70m ./internal/http

# audit asks Go's database of known faults about the program, its modules and Go. It is no part of test, which must not depend on what became known since.
audit:
	scripts/audit
