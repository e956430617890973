package responses_test

import (
	"testing"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/responses"
	"github.com/tenonrun/tenon/provider/providertest"
)

func TestSuite(t *testing.T) {
	providertest.Suite(t, providertest.Responses, func(url string) provider.Provider {
		return responses.New(provider.Config{Name: "mine", BaseURL: url, Key: providertest.Key})
	})
}
