package chat_test

import (
	"testing"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/chat"
	"github.com/tenonrun/tenon/provider/providertest"
)

func TestSuite(t *testing.T) {
	providertest.Suite(t, providertest.Chat, func(url string) provider.Provider {
		return chat.New(provider.Config{Name: "mine", BaseURL: url, Key: providertest.Key})
	})
}
