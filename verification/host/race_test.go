//go:build race

package host_test

const raced = true
