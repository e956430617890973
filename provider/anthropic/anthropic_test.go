package anthropic_test

import (
	"testing"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/anthropic"
	"github.com/tenonrun/tenon/provider/providertest"
)

func TestSuite(t *testing.T) {
	providertest.Suite(t, providertest.Anthropic, func(url string) provider.Provider {
		return anthropic.New(provider.Config{Name: "mine", BaseURL: url, Key: providertest.Key})
	})
}
