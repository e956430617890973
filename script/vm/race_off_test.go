//go:build !race

package vm_test

const raced = false
