// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command house checks the rules of this repository that no linter knows:
//
//   - each Go file starts with the licence header, and is short: over 400 lines is told, over 700 fails;
//   - each package has a doc.go (a program's main.go may do), and is not named for having no name (util, common, …);
//   - nothing is left for later, no test is skipped, and nothing names the machine it was written on;
//   - each row of docs/traceability.md names a requirement once, a place that exists and tests that exist;
//   - docs/operations.md explains every reason to wait that mesh/shift can give, and no other;
//   - each module that has tests is tested and linted by what `make test` runs;
//   - each `make` that a document tells is one that the Makefile knows.
//
// It reads the files that git knows or would add, so build output and caches are not its business. It uses the
// standard library only, and changes nothing.
package main
