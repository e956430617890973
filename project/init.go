package project

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed template/*.yaml
var templates embed.FS

// Written is a file that Init looked after.
type Written struct {
	Path string `json:"path"` // absolute
	Kept bool   `json:"kept"` // it was there and is as it was
}

// Init makes the first files of a project in a directory, leaves alone what is
// there, and trusts the configuration if it wrote it.
func Init(o Options) (*Project, []Written, error) {
	dir := o.Dir
	if dir == "" {
		dir = "."
	}
	dir, err := canonical(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("making a project: %w", err)
	}
	var all []Written
	for _, file := range []struct{ template, path string }{
		{"config.yaml", "config.yaml"}, {"hello.yaml", "workflows/hello.yaml"}, {"scripted.yaml", "scripted.yaml"},
	} {
		w, err := write(file.template, filepath.Join(dir, Folder, filepath.FromSlash(file.path)))
		if err != nil {
			return nil, all, fmt.Errorf("making a project: %w", err)
		}
		all = append(all, w)
	}
	o.Dir = dir
	p, err := Open(o)
	if err != nil || all[0].Kept {
		return p, all, err
	}
	if err := p.Trust(); err != nil {
		return nil, all, err
	}
	p, err = Open(o)
	return p, all, err
}

// write makes a file from a template unless it exists.
func write(template, path string) (Written, error) {
	w := Written{Path: path}
	data, err := templates.ReadFile("template/" + template)
	if err != nil {
		return w, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return w, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		w.Kept = true
		return w, nil
	}
	if err != nil {
		return w, err
	}
	_, err = f.Write(data)
	return w, errors.Join(err, f.Close())
}
