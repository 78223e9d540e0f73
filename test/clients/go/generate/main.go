// Writes Go stubs of the project's .proto files with the official generators, of which the module
// file names the versions: generate PROTO_FOLDER GENERATORS_FOLDER OUT_FOLDER. No protoc: the files
// are parsed by protocompile. Build time of the tests only.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const module = "serval.test/clients"

// File of proto/wire -> the Go package that it becomes. Any and wrappers are the well-known ones.
var packages = map[string]string{
	"inference.proto":          "inference",
	"model_config.proto":       "inference",
	"tensorflow.proto":         "tensorflow",
	"tensorflow_error.proto":   "tferror",
	"tensorflow_serving.proto": "serving",
}

// Every file comes behind those that it imports.
func collect(file protoreflect.FileDescriptor, seen map[string]bool, out *[]*descriptorpb.FileDescriptorProto) {
	if seen[file.Path()] {
		return
	}
	seen[file.Path()] = true
	for i := 0; i < file.Imports().Len(); i++ {
		collect(file.Imports().Get(i).FileDescriptor, seen, out)
	}
	*out = append(*out, protodesc.ToFileDescriptorProto(file))
}

func generate(generator string, request *pluginpb.CodeGeneratorRequest, out string) error {
	input, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	command := exec.Command(generator)
	command.Stdin = bytes.NewReader(input)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", generator, err)
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output, &response); err != nil {
		return err
	}
	if response.GetError() != "" {
		return fmt.Errorf("%s: %s", generator, response.GetError())
	}
	for _, file := range response.GetFile() {
		path := filepath.Join(out, file.GetName())
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func run(protos, generators, out string) error {
	names := make([]string, 0, len(packages))
	parameters := []string{"module=" + module}
	for name, folder := range packages {
		names = append(names, name)
		parameters = append(parameters, fmt.Sprintf("M%s=%s/wire/%s", name, module, folder))
	}
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(
			&protocompile.SourceResolver{ImportPaths: []string{protos}}),
	}
	files, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		return err
	}
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: names,
		Parameter:      proto.String(strings.Join(parameters, ",")),
	}
	seen := map[string]bool{}
	for _, file := range files {
		collect(file, seen, &request.ProtoFile)
	}
	for _, name := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		if err := generate(filepath.Join(generators, name), request, out); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: generate PROTO_FOLDER GENERATORS_FOLDER OUT_FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}
