package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1schema "k8s.io/apimachinery/pkg/runtime/schema"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
)

// What the API server does with a new object of each kind: defaults it adds and rules it checks.
var strategies = map[metav1schema.GroupKind]rest.RESTCreateStrategy{
	{Kind: "ConfigMap"}:                                     configmap.Strategy,
	{Kind: "Service"}:                                       service.Strategy,
	{Kind: "ServiceAccount"}:                                serviceaccount.Strategy,
	{Group: "apps", Kind: "Deployment"}:                     deployment.Strategy,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: horizontalpodautoscaler.Strategy,
	{Group: "policy", Kind: "PodDisruptionBudget"}:          poddisruptionbudget.Strategy,
}

// Creates the object of a manifest as the API server would, without storing it: decodes it into the
// server's own type with its defaults, then applies the rules of its kind. An object without a
// namespace belongs to "default".
func create(kind metav1schema.GroupVersionKind, document []byte) error {
	strategy, there := strategies[kind.GroupKind()]
	if !there {
		return fmt.Errorf("no rules of %s here: add its strategy to rules.go", kind.GroupKind())
	}
	object, _, err := legacyscheme.Codecs.UniversalDecoder().Decode(document, nil, nil)
	if err != nil {
		return err
	}
	metadata, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	if metadata.GetNamespace() == "" {
		metadata.SetNamespace("default")
	}
	rest.FillObjectMetaSystemFields(metadata)
	context := genericrequest.WithNamespace(genericrequest.NewContext(), metadata.GetNamespace())
	return rest.BeforeCreate(strategy, context, object)
}
