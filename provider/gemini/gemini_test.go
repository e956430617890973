package gemini_test

import (
	"testing"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/gemini"
	"github.com/tenonrun/tenon/provider/providertest"
)

func TestSuite(t *testing.T) {
	providertest.Suite(t, providertest.Gemini, func(url string) provider.Provider {
		p, err := gemini.New(provider.Config{Name: "mine", BaseURL: url, Key: providertest.Key})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}
