// SPDX-License-Identifier: Apache-2.0

// Package protobuf keeps host/kube/protobuf/*.proto equal to upstream's types: field numbers and names, and which
// fields the JSON leaves out where they are zero.
package protobuf

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var roots = []any{corev1.Pod{}, corev1.Node{}, corev1.Namespace{}, policyv1.PodDisruptionBudget{}, corev1.Service{},
	corev1.ReplicationController{}, appsv1.ReplicaSet{}, appsv1.StatefulSet{}, corev1.PersistentVolume{},
	corev1.PersistentVolumeClaim{}, storagev1.StorageClass{}, storagev1.CSINode{}, storagev1.CSIDriver{},
	storagev1.CSIStorageCapacity{}, storagev1.VolumeAttachment{}, corev1.Binding{}, metav1.Status{}, metav1.ListMeta{},
	runtime.Unknown{}, metav1.WatchEvent{}}

// Written as strings, or read by hand: no types of the API with these fields.
var own = map[string]bool{"Quantity": true, "Time": true, "List": true, "RawItem": true}

// Fields that came after 1.35.
var since136 = map[string]bool{"CSIDriverSpec.preventPodSchedulingIfMissing": true}

type field struct {
	label, kind, name, number string
	isInlined                 bool
}

var messageText = regexp.MustCompile(`(?s)message (\w+) \{(.*?)\}`)
var fieldText = regexp.MustCompile(`(?m)^  (optional |repeated )?(map<\w+, \w+>|\w+) (\w+) = (\d+)( \[json_name = ""\])?;`)

func readSchema(t *testing.T) map[string][]field {
	files, _ := filepath.Glob("../../../host/kube/protobuf/*.proto")
	schema := map[string][]field{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, message := range messageText.FindAllStringSubmatch(string(text), -1) {
			schema[message[1]] = nil
			for _, m := range fieldText.FindAllStringSubmatch(message[2], -1) {
				schema[message[1]] = append(schema[message[1]],
					field{strings.TrimSpace(m[1]), m[2], m[3], m[4], m[5] != ""})
			}
		}
	}
	if len(schema) < 100 {
		t.Fatalf("%d messages were read", len(schema))
	}
	return schema
}

func collect(of reflect.Type, types map[string]reflect.Type) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || types[of.Name()] == of {
		return
	}
	types[of.Name()] = of
	for i := 0; i < of.NumField(); i++ {
		collect(of.Field(i).Type, types)
	}
}

func expected(f reflect.StructField) (field, bool) {
	tag := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(tag) < 2 {
		return field{}, false
	}
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	want := field{name: name, number: tag[1], isInlined: strings.Contains(options, "inline")}
	for _, part := range tag {
		if protoName, ok := strings.CutPrefix(part, "name="); ok {
			want.name = protoName
		}
	}
	of := f.Type
	if of.Kind() == reflect.Slice && of.Elem().Kind() != reflect.Uint8 {
		want.label = "repeated"
		of = of.Elem()
	}
	if of.Kind() == reflect.Map {
		want.kind = "map<string, " + kindOf(of.Elem()) + ">"
		return want, true
	}
	want.kind = kindOf(of)
	isMessage := of.Kind() == reflect.Struct || of.Kind() == reflect.Pointer && of.Elem().Kind() == reflect.Struct
	isLeftOut := strings.Contains(options, "omitempty") && of.Kind() != reflect.Pointer
	if want.label == "" && !isMessage && !isLeftOut {
		want.label = "optional"
	}
	return want, true
}

func kindOf(of reflect.Type) string {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch of.Kind() {
	case reflect.Struct:
		return of.Name()
	case reflect.Slice:
		return "bytes"
	default:
		return of.Kind().String()
	}
}

func TestTheSchemaIsThatOfTheTypes(t *testing.T) {
	types := map[string]reflect.Type{}
	for _, root := range roots {
		collect(reflect.TypeOf(root), types)
	}
	seen := 0
	for message, fields := range readSchema(t) {
		of, ok := types[message]
		if own[message] {
			continue
		}
		if !ok {
			t.Errorf("%s is no type of the API", message)
			continue
		}
		upstream := map[string]field{}
		for i := 0; i < of.NumField(); i++ {
			if want, ok := expected(of.Field(i)); ok {
				upstream[want.name] = want
			}
		}
		for _, got := range fields {
			want, ok := upstream[got.name]
			if !ok && since136[message+"."+got.name] && !is136() {
				continue
			}
			// What is around an object is never written as JSON with these fields.
			if message == "TypeMeta" || message == "WatchEvent" || message == "Status" || message == "RawExtension" {
				got.label = want.label
			}
			if message == "Unknown" { // it has no JSON
				got.isInlined, got.label = want.isInlined, want.label
			}
			if got != want {
				t.Errorf("%s.%s: got %+v, upstream has %+v", message, got.name, got, want)
			}
			seen++
		}
	}
	if seen < 400 {
		t.Errorf("only %d fields were compared", seen)
	}
}

func is136() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, module := range info.Deps {
		if module.Path == "k8s.io/api" {
			return strings.HasPrefix(module.Version, "v0.36")
		}
	}
	return false
}
