# Commands for people who work on Tenon. `make help` lists them.

.DEFAULT_GOAL := help
LINT := go tool -modfile=tools/go.mod golangci-lint

.PHONY: help
help: ## list these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

.PHONY: demo
demo: ## run the main job on a sample repository
	go run ./cmd/tenon demo

.PHONY: build
build: ## build bin/tenon
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o bin/tenon ./cmd/tenon # without tables for debuggers: a third smaller

.PHONY: check
check: format vet lint test cross docs ## everything that has to pass before a change lands

.PHONY: format
format: ## refuse files that gofmt would change
	@files=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi

.PHONY: vet
vet: ## go vet
	go vet ./...

.PHONY: lint
lint: ## the rules of .golangci.yml, each with its reason
	$(LINT) run ./...

.PHONY: components
components: ## install the programs that some tests run: the OpenSpec command line, by npm
	@tools/openspec/install

.PHONY: test
test: components ## all tests, with the race detector and in random order, crash tests included
	go test -race -shuffle=on -timeout 14m ./...
	go test ./crash # whole: under the race detector it takes samples
	TENON_SCRIPT_RUNS=200 go test -timeout 14m -run '^TestSamples$$' ./script # each in 200 orders of completion, where the race detector tries one

.PHONY: short
short: ## a quick look: no race detector, samples of the crash tests
	go test -short ./...

.PHONY: cross
cross: ## what differs between systems must at least compile on those we do not test on
	for os in darwin windows; do GOOS=$$os GOARCH=amd64 CGO_ENABLED=0 go vet ./workspace/... ./permission/... ./tool/... ./project ./cli/live || exit 1; done
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go build ./store/...

.PHONY: docs
docs: ## drawings and command pages are those of the code
	go run ./internal/docs -check

.PHONY: generate
generate: ## write the drawings and command pages again
	go run ./internal/docs

.PHONY: bench
bench: ## the speed table, with peers (takes minutes)
	cd bench && go run .

.PHONY: fuzz
fuzz: ## every fuzz target for 20 seconds
	@for pkg in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$pkg 2>/dev/null | grep '^Fuzz'); do \
	    echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime 20s $$pkg || exit 1; \
	  done; \
	done
