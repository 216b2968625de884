// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "directory of the repository")
	flag.Parse()
	code, err := run(context.Background(), *root, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
	}
	os.Exit(code)
}
