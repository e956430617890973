package cli

import "github.com/spf13/cobra"

func (a *app) graphCmd() *cobra.Command {
	return &cobra.Command{Use: "graph"}
}
