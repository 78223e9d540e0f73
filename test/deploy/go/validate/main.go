// Validates Kubernetes manifests as the API server does: kinds of Kubernetes are decoded strictly by
// their Go types and checked by the API server's rules for new objects, custom resources by the
// schemas of their definitions, with unknown fields refused.
//
//	validate DEFINITIONS FILE...
//
// DEFINITIONS is a folder of CustomResourceDefinitions. Prints "FILE kind/name" for what is good,
// what is wrong to stderr, and exits 1 then. A kind that is in neither is wrong too.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	metav1schema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

type definition struct {
	validator  validation.SchemaValidator
	structural *schema.Structural
}

func readDefinitions(folder string) (map[metav1schema.GroupVersionKind]definition, error) {
	known := map[metav1schema.GroupVersionKind]definition{}
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, version := range crd.Spec.Versions {
			var internal apiextensions.JSONSchemaProps
			err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
				version.Schema.OpenAPIV3Schema, &internal, nil)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			validator, _, err := validation.NewSchemaValidator(&internal)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			structural, err := schema.NewStructural(&internal)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			kind := metav1schema.GroupVersionKind{
				Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind,
			}
			known[kind] = definition{validator, structural}
		}
	}
	return known, nil
}

func check(object *unstructured.Unstructured, document []byte,
	known map[metav1schema.GroupVersionKind]definition, strict runtime.Decoder) error {
	kind := object.GroupVersionKind()
	if scheme.Scheme.Recognizes(kind) {
		if _, _, err := strict.Decode(document, nil, nil); err != nil {
			return err
		}
		return create(kind, document)
	}
	custom, there := known[kind]
	if !there {
		return fmt.Errorf("no schema of %s", kind)
	}
	if wrong := validation.ValidateCustomResource(nil, object.Object, custom.validator); len(wrong) > 0 {
		return wrong.ToAggregate()
	}
	options := schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	unknown := pruning.PruneWithOptions(object.DeepCopy().Object, custom.structural, true, options)
	if len(unknown) > 0 {
		return fmt.Errorf("unknown fields %v", unknown)
	}
	return nil
}

func checkFile(file string, known map[metav1schema.GroupVersionKind]definition,
	strict runtime.Decoder) (good bool, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	good = true
	reader := yamlreader.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return good, nil
		}
		if err != nil {
			return false, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			return false, err
		}
		if len(object.Object) == 0 {
			continue
		}
		name := object.GetKind() + "/" + object.GetName()
		if err := check(object, document, known, strict); err != nil {
			fmt.Fprintf(os.Stderr, "%s %s: %v\n", file, name, err)
			good = false
			continue
		}
		fmt.Println(file, name)
	}
}

func main() {
	known, err := readDefinitions(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	factory := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict)
	status := 0
	for _, file := range os.Args[2:] {
		good, err := checkFile(file, known, factory.UniversalDeserializer())
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
		}
		if err != nil || !good {
			status = 1
		}
	}
	os.Exit(status)
}
