package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"udsbench/environ"
)

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "This program's version and build",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := environ.Gather("/", environ.Option{}).Udsbench
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(b)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "udsbench %s, %s %s/%s, binary %.12s\n", b.Version, b.Go, b.OS, b.Arch, b.SHA256)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
