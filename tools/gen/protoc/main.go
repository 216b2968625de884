// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command protoc compiles the .proto files of one directory and hands them to the Go generators.
//
//	protoc -I DIR -plugins DIR
//
// It writes the generated files beside their sources. It stands in for the compiler of the same name, so that
// generating needs nothing but Go: the parser is a library, the generators are pinned in this module.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// generators are run in this order, each with its own output files.
var generators = []string{"protoc-gen-go", "protoc-gen-go-grpc"}

func main() {
	dir := flag.String("I", ".", "directory of the .proto files; generated files are written here")
	plugins := flag.String("plugins", "", "directory of the generator programs")
	flag.Parse()
	if err := run(context.Background(), *dir, *plugins); err != nil {
		fmt.Fprintln(os.Stderr, "protoc:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, plugins string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.proto"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("no .proto file in %s", dir)
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(path)
	}
	request, err := compile(ctx, dir, names)
	if err != nil {
		return err
	}
	for _, name := range generators {
		if err := generate(ctx, filepath.Join(plugins, name), request, dir); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// compile parses and links the named files, and puts every file they import before them, as generators expect.
func compile(ctx context.Context, dir string, names []string) (*pluginpb.CodeGeneratorRequest, error) {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}}),
		SourceInfoMode: protocompile.SourceInfoStandard, // Comments go into the generated code.
	}
	files, err := compiler.Compile(ctx, names...)
	if err != nil {
		return nil, err
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: names, Parameter: new("paths=source_relative")}
	seen := map[string]bool{}
	for _, file := range files {
		request.ProtoFile = appendFile(request.ProtoFile, seen, file)
	}
	return request, nil
}

func appendFile(into []*descriptorpb.FileDescriptorProto, seen map[string]bool, file protoreflect.FileDescriptor) []*descriptorpb.FileDescriptorProto {
	if seen[file.Path()] {
		return into
	}
	seen[file.Path()] = true
	imports := file.Imports()
	for i := range imports.Len() {
		into = appendFile(into, seen, imports.Get(i).FileDescriptor)
	}
	if result, ok := file.(linker.Result); ok {
		return append(into, result.FileDescriptorProto())
	}
	return append(into, protoutil.ProtoFromFileDescriptor(file))
}

// generate runs one plugin: a request on its standard input, an answer on its standard output.
func generate(ctx context.Context, plugin string, request *pluginpb.CodeGeneratorRequest, dir string) error {
	input, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, plugin)
	command.Stdin, command.Stderr = bytes.NewReader(input), os.Stderr
	output, err := command.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output, &response); err != nil {
		return fmt.Errorf("read its answer: %w", err)
	}
	if response.GetError() != "" {
		return errors.New(response.GetError())
	}
	for _, file := range response.GetFile() {
		path := filepath.Join(dir, filepath.Base(file.GetName()))
		if err := os.WriteFile(path, []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
