package project

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// Configuration is what holds after all layers.
type Configuration struct {
	Version      int                       `json:"version"`
	Project      string                    `json:"project"`
	Repositories []workflow.RepositoryInfo `json:"repositories"`
	Providers    map[string]Provider       `json:"providers"`
	Roles        map[string]Role           `json:"roles"`
	Verification Verification              `json:"verification"`
	Limits       Limits                    `json:"limits"`
	Permissions  Permissions               `json:"permissions"`
	OpenSpec     struct {
		Command []string `json:"command"`
	} `json:"openspec"`
	Artifacts struct {
		MaxBytes int64 `json:"maxBytes"`
	} `json:"artifacts"`
	Launch Launch `json:"launch"`
	Compat struct {
		ShellInterpolation bool `json:"shellInterpolation"`
	} `json:"compat"`
	Biomes []string `json:"biomes"`
	Org    string   `json:"org"`
	Tags   []string `json:"tags"` // category:value, of overlays that apply to every deliverable
}

// Provider is where models are reached, under the name that definitions use.
type Provider struct {
	Type    string `json:"type"` // anthropic | chat | responses | gemini | scripted
	Model   string `json:"model"`
	KeyEnv  string `json:"keyEnv"` // name of the environment variable that holds the key
	BaseURL string `json:"baseURL"`
	File    string `json:"file"` // of a scripted provider, relative to the root
}

// Role fills a role of definitions.
type Role struct {
	workflow.Role
	Escalation Escalation `json:"escalation"`
}

// Escalation is what a role may be raised to.
type Escalation struct {
	Model  string `json:"model"`
	Effort string `json:"effort"`
}

// Verification is the plan that "configured" stands for.
type Verification struct {
	Commands []workflow.Check `json:"commands"`
	Setup    []workflow.Check `json:"setup"`
}

// Limits bound every run of the project; 0 is no limit.
type Limits struct {
	MaxTokens   int64    `json:"maxTokens"`
	MaxCostUSD  float64  `json:"maxCostUsd"`
	MaxDuration Duration `json:"maxDuration"`
	Timeout     Duration `json:"timeout"`
	IdleTimeout Duration `json:"idleTimeout"`
	Concurrency int      `json:"concurrency"`
}

// Permissions are rules of the fence.
type Permissions struct {
	Mode        string   `json:"mode"` // default | ask-writes | locked
	Allow       []string `json:"allow"`
	Ask         []string `json:"ask"`
	Deny        []string `json:"deny"`
	Directories []string `json:"directories"`
}

// Launch is what definitions of format 1 are started with.
type Launch struct {
	Change  string   `json:"change"`
	Tickets string   `json:"tickets"`
	Spec    []string `json:"spec"`
}

// Duration is a time span, written as "90s" or 0.
type Duration time.Duration

// UnmarshalJSON reads "90s" or 0.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	if string(raw) == "0" {
		*d = 0
		return nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("reading duration: %w", err)
	}
	span, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("reading duration: %w", err)
	}
	*d = Duration(span)
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (d Duration) MarshalJSON() ([]byte, error) {
	if d == 0 {
		return []byte("0"), nil
	}
	return json.Marshal(time.Duration(d).String())
}

// defaults are the settings that hold without any configuration.
const defaults = `{
  "version": 1,
  "roles": {
    "architect": {"access": "read"},
    "developer": {"access": "write"},
    "reviewer": {"access": "read"},
    "loop-decider": {"access": "read"}
  },
  "limits": {"maxTokens": 0, "maxCostUsd": 0, "maxDuration": 0, "timeout": "60m", "idleTimeout": "15m", "concurrency": 0},
  "permissions": {"mode": "default"},
  "artifacts": {"maxBytes": 33554432},
  "compat": {"shellInterpolation": false}
}`
