package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// house is docs/house.txt.
type house struct {
	names map[int]string // of floors
	rooms []room
}

// room is one package.
type room struct {
	floor  int
	test   bool
	name   string
	stairs []string
}

// readHouse reads the plan. The page's test guards its form; here only what the
// drawing needs is read.
func readHouse(path string) (house, error) {
	f, err := os.Open(path)
	if err != nil {
		return house{}, fmt.Errorf("reading the plan of the house: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	h := house{names: map[int]string{}}
	var comment strings.Builder
	for in := bufio.NewScanner(f); in.Scan(); {
		line := in.Text()
		if text, ok := strings.CutPrefix(line, "#"); ok {
			comment.WriteString(strings.TrimSpace(text) + " ")
			continue
		}
		words := strings.Fields(line)
		if len(words) < 3 {
			continue
		}
		floor, test := strings.CutSuffix(words[0], "t")
		n, err := strconv.Atoi(floor)
		if err != nil {
			return house{}, fmt.Errorf("reading the plan of the house: cannot read %q", line)
		}
		r := room{floor: n, test: test, name: words[1]}
		if words[2] != "-" {
			r.stairs = words[2:]
		}
		h.rooms = append(h.rooms, r)
	}
	h.nameFloors(comment.String())
	return h, nil
}

var floorName = regexp.MustCompile(`(\d+)(?:-(\d+))? ([^,.]+)[,.]`)

// nameFloors reads "Floors: 0 cellar, 1 words, 7-9 the command."
func (h *house) nameFloors(comment string) {
	_, list, _ := strings.Cut(comment, "Floors:")
	for _, m := range floorName.FindAllStringSubmatch(list, -1) {
		from, _ := strconv.Atoi(m[1]) // digits by the pattern
		to := from
		if m[2] != "" {
			to, _ = strconv.Atoi(m[2])
		}
		for n := from; n <= to; n++ {
			h.names[n] = strings.TrimSpace(m[3])
		}
	}
}

// floors are the numbers in use, highest first.
func (h house) floors() []int {
	var all []int
	for _, r := range h.rooms {
		if !slices.Contains(all, r.floor) {
			all = append(all, r.floor)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all
}

// entered counts the rooms with a stair to each room.
func (h house) entered() map[string]int {
	n := map[string]int{}
	for _, r := range h.rooms {
		for _, s := range r.stairs {
			n[s]++
		}
	}
	return n
}

// label is how a room is written in the drawing.
func (r room) label() string {
	if r.name == "." {
		return "tenon (root)"
	}
	return r.name
}
