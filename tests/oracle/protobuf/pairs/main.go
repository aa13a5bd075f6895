// SPDX-License-Identifier: Apache-2.0

// Command pairs writes objects as an API server sends them, each in JSON and in protobuf, for
// tests/unit/kube_protobuf/pairs_test.cpp: one line an object, {"kind", "apiVersion", "json", "protobuf"}, the last one
// in base64 with its envelope.
//
//	go run ./protobuf/pairs | gzip -9n > ../unit/kube_protobuf/pairs.jsonl.gz    made objects, the same each time
//	go run ./protobuf/pairs FILE...                                              objects of YAML and JSON files
//
// pairs-1.36.jsonl.gz is written with -modfile v1.36/go.mod and -kind CSIDriver: no other type has a new field that is read.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// The kinds that host/kube/watch/watched_resource.cpp names.
var kinds = []struct {
	object   runtime.Object
	variants int
}{
	{&corev1.Pod{}, 12}, {&corev1.Node{}, 3}, {&corev1.Namespace{}, 2}, {&policyv1.PodDisruptionBudget{}, 4},
	{&corev1.Service{}, 2}, {&corev1.ReplicationController{}, 2}, {&appsv1.ReplicaSet{}, 2}, {&appsv1.StatefulSet{}, 3},
	{&corev1.PersistentVolume{}, 23}, {&corev1.PersistentVolumeClaim{}, 4}, {&storagev1.StorageClass{}, 3},
	{&storagev1.CSINode{}, 3}, {&storagev1.CSIDriver{}, 6}, {&storagev1.CSIStorageCapacity{}, 3},
	{&storagev1.VolumeAttachment{}, 3},
}

var onlyKind = flag.String("kind", "", "objects of other kinds are left out")

type pair struct {
	Kind       string          `json:"kind"`
	APIVersion string          `json:"apiVersion"`
	JSON       json.RawMessage `json:"json"`
	Protobuf   string          `json:"protobuf"`
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	flag.Parse()
	if flag.NArg() == 0 {
		writeMade(out)
		return
	}
	for _, name := range flag.Args() {
		if err := writeFile(out, name); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

func writeMade(out io.Writer) {
	for _, kind := range kinds {
		if *onlyKind != "" && *onlyKind != reflect.TypeOf(kind.object).Elem().Name() {
			continue
		}
		for variant := 0; variant < kind.variants; variant++ {
			object := reflect.New(reflect.TypeOf(kind.object).Elem()).Interface().(runtime.Object)
			filler := filler{random: rand.New(rand.NewSource(int64(variant))), whole: variant == 0, source: variant}
			filler.fill(reflect.ValueOf(object).Elem(), "", 0)
			name(object.(metav1.Object), variant)
			writePair(out, object)
		}
	}
}

func name(object metav1.Object, variant int) {
	object.SetName(fmt.Sprintf("name-%d", variant))
	object.SetNamespace("space")
	object.SetResourceVersion(fmt.Sprint(1000 + variant))
}

// writePair leaves out objects whose kind is not watched.
func writePair(out io.Writer, object runtime.Object) {
	for _, kind := range kinds {
		if reflect.TypeOf(kind.object) != reflect.TypeOf(object) {
			continue
		}
		gvks, _, err := scheme.Scheme.ObjectKinds(object)
		must(err)
		object.GetObjectKind().SetGroupVersionKind(gvks[0])
		var text, bytesOf bytes.Buffer
		must(jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
			jsonserializer.SerializerOptions{}).Encode(object, &text))
		must(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, &bytesOf))
		apiVersion, name := gvks[0].ToAPIVersionAndKind()
		line, err := json.Marshal(pair{name, apiVersion, bytes.TrimSpace(text.Bytes()),
			base64.StdEncoding.EncodeToString(bytesOf.Bytes())})
		must(err)
		_, err = out.Write(append(line, '\n'))
		must(err)
	}
}

func writeFile(out io.Writer, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	reader := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for number := 1; ; number++ {
		var raw runtime.RawExtension
		if err := reader.Decode(&raw); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw.Raw, nil, nil)
		if err != nil {
			continue // a template, or of a kind that is not built in
		}
		if list, ok := object.(*corev1.List); ok {
			for _, item := range list.Items {
				if object, _, err := scheme.Codecs.UniversalDeserializer().Decode(item.Raw, nil, nil); err == nil {
					stored(out, object, number)
				}
			}
			continue
		}
		stored(out, object, number)
	}
}

// stored gives an object what an API server would.
func stored(out io.Writer, object runtime.Object, number int) {
	meta, ok := object.(metav1.Object)
	if !ok {
		return
	}
	if meta.GetName() == "" {
		meta.SetName(fmt.Sprintf("%s%d", meta.GetGenerateName(), number))
	}
	if meta.GetNamespace() == "" {
		meta.SetNamespace("default")
	}
	meta.SetResourceVersion(fmt.Sprint(number))
	scheme.Scheme.Default(object)
	writePair(out, object)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
