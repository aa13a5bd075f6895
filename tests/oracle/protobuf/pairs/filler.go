// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// filler gives every field of an object a value.
type filler struct {
	random *rand.Rand
	whole  bool // nothing is absent or zero
	source int  // of the next volume: each has one, as in a cluster
}

// What stands in fields whose values have names: those that Berth tells apart.
var named = map[reflect.Type][]string{
	reflect.TypeOf(corev1.PodPhase("")):                      {"Running", "Pending", "Unknown", ""},
	reflect.TypeOf(corev1.TaintEffect("")):                   {"NoSchedule", "PreferNoSchedule", "NoExecute"},
	reflect.TypeOf(corev1.TolerationOperator("")):            {"Equal", "Exists", ""},
	reflect.TypeOf(corev1.NodeSelectorOperator("")):          {"In", "NotIn", "Exists", "DoesNotExist"},
	reflect.TypeOf(metav1.LabelSelectorOperator("")):         {"In", "NotIn", "Exists", "DoesNotExist"},
	reflect.TypeOf(corev1.UnsatisfiableConstraintAction("")): {"ScheduleAnyway", "DoNotSchedule"},
	reflect.TypeOf(corev1.NodeInclusionPolicy("")):           {"Ignore", "Honor"},
	reflect.TypeOf(corev1.PersistentVolumeAccessMode("")):    {"ReadWriteMany", "ReadWriteOnce", "ReadOnlyMany", "ReadWriteOncePod"},
	reflect.TypeOf(corev1.PersistentVolumeMode("")):          {"Block", "Filesystem"},
	reflect.TypeOf(storagev1.VolumeBindingMode("")):          {"WaitForFirstConsumer", "Immediate"},
	reflect.TypeOf(corev1.PreemptionPolicy("")):              {"Never", "PreemptLowerPriority"},
	reflect.TypeOf(corev1.PodConditionType("")):              {"PodScheduled", "PodResizePending", "DisruptionTarget"},
	reflect.TypeOf(corev1.ConditionStatus("")):               {"True", "False", "Unknown"},
	reflect.TypeOf(corev1.ContainerRestartPolicy("")):        {"Always", "OnFailure"},
	reflect.TypeOf(corev1.ContainerRestartRuleAction("")):    {"RestartAllContainers", "Restart"},
	reflect.TypeOf(corev1.PersistentVolumePhase("")):         {"Available", "Bound"},
	reflect.TypeOf(corev1.PersistentVolumeClaimPhase("")):    {"Lost", "Bound"},
	reflect.TypeOf(corev1.AzureDataDiskKind("")):             {"Managed", "Dedicated"},
	reflect.TypeOf(corev1.StorageMedium("")):                 {"Memory", ""},
	reflect.TypeOf(corev1.Protocol("")):                      {"UDP", "TCP", "SCTP"},
}

var texts = []string{"a", "b-c", "example.com/x", "tab\tquote\"back\\slash<&>", "né漢😀\u2028", "\x00\x1f\x7f", ""}
var quantities = []string{"100m", "2", "1Gi", "500M", "0", "1500m", "12e6", "3Ki"}
var resources = []string{"cpu", "memory", "storage", "ephemeral-storage", "pods", "example.com/gpu", "hugepages-2Mi"}
var annotations = map[string][]string{
	"volume.beta.kubernetes.io/storage-class":                      {"gold", ""},
	"volume.kubernetes.io/selected-node":                           {"n1"},
	"pv.kubernetes.io/bind-completed":                              {"yes"},
	"storage.alpha.kubernetes.io/migrated-plugins":                 {"kubernetes.io/aws-ebs,kubernetes.io/gce-pd"},
	"storageclass.kubernetes.io/is-default-class":                  {"true", "false"},
	"berth.dev/run-duration":                                       {"30m"},
	"kubernetes.io/config.mirror":                                  {"m", ""},
	"cluster-autoscaler.kubernetes.io/safe-to-evict":               {"false"},
	"karpenter.sh/do-not-disrupt":                                  {"true"},
	"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": {"a,b-c"},
	"kubectl.kubernetes.io/last-applied-configuration":             {`{"apiVersion":"v1","kind":"Pod"}`},
}

func (f *filler) pick(from []string) string {
	if f.whole {
		return from[f.random.Intn(len(from))/2] // the later ones may be empty
	}
	return from[f.random.Intn(len(from))]
}

func (f *filler) absent() bool { return !f.whole && f.random.Intn(5) < 2 }

func (f *filler) fill(value reflect.Value, field string, depth int) {
	if f.special(value, field) {
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		if !f.absent() {
			value.Set(reflect.New(value.Type().Elem()))
			f.fill(value.Elem(), field, depth)
		}
	case reflect.Struct:
		for i := 0; i < value.NumField(); i++ {
			if value.Type().Field(i).IsExported() {
				f.fill(value.Field(i), value.Type().Field(i).Name, depth+1)
			}
		}
	case reflect.Slice:
		if f.absent() {
			return
		}
		length := 1
		if f.whole && depth < 5 || !f.whole {
			length = 1 + f.random.Intn(2)
		}
		value.Set(reflect.MakeSlice(value.Type(), length, length))
		for i := 0; i < length; i++ {
			f.fill(value.Index(i), field, depth)
		}
	case reflect.Map:
		f.fillMap(value, field, depth)
	case reflect.String:
		if names, ok := named[value.Type()]; ok {
			value.SetString(f.pick(names))
		} else {
			value.SetString(f.pick(texts))
		}
	case reflect.Bool:
		value.SetBool(f.whole || f.random.Intn(2) == 0)
	case reflect.Int32, reflect.Int64, reflect.Int:
		value.SetInt(f.number(field))
	}
}

func (f *filler) number(field string) int64 {
	if f.whole {
		return 1 + f.random.Int63n(90)
	}
	switch f.random.Intn(4) {
	case 0:
		return 0
	case 1:
		if field == "Priority" || field == "TolerationSeconds" || field == "Value" {
			return -1 - f.random.Int63n(1<<30)
		}
	}
	return f.random.Int63n(100)
}

func (f *filler) fillMap(value reflect.Value, field string, depth int) {
	if f.absent() {
		return
	}
	value.Set(reflect.MakeMap(value.Type()))
	if field == "Annotations" {
		for key, texts := range annotations {
			if f.whole || f.random.Intn(3) == 0 {
				value.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf(texts[0]))
			}
		}
		return
	}
	keys := []string{"app", "example.com/tier", "né"}
	if value.Type().Elem() == reflect.TypeOf(resource.Quantity{}) {
		keys = resources
	}
	for i := 0; i < 2; i++ {
		element := reflect.New(value.Type().Elem()).Elem()
		f.fill(element, field, depth+1)
		value.SetMapIndex(reflect.ValueOf(keys[f.random.Intn(len(keys))]).Convert(value.Type().Key()), element)
	}
}

// special fills what the fields of its type do not say.
func (f *filler) special(value reflect.Value, field string) bool {
	switch to := value.Addr().Interface().(type) {
	case *metav1.TypeMeta, *metav1.FieldsV1:
		if fields, ok := to.(*metav1.FieldsV1); ok {
			must(fields.UnmarshalJSON([]byte(`{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}`)))
		}
	case *resource.Quantity:
		*to = resource.MustParse(f.pick(quantities))
	case *metav1.Time:
		if !f.absent() {
			*to = metav1.Unix(f.random.Int63n(4_000_000_000), 0)
		}
	case *metav1.MicroTime:
		*to = metav1.NewMicroTime(time.Unix(f.random.Int63n(4_000_000_000), 123_456_000))
	case *intstr.IntOrString:
		*to = intstr.Parse(f.pick([]string{"3", "25%"}))
	case *[]corev1.Volume:
		if f.whole {
			*to = make([]corev1.Volume, reflect.TypeOf(corev1.VolumeSource{}).NumField())
			for i := range *to {
				f.fill(reflect.ValueOf(&(*to)[i]).Elem(), field, 3)
			}
			return true
		}
		return false
	case *corev1.VolumeSource, *corev1.PersistentVolumeSource:
		source := value.Field(f.source % value.NumField())
		f.source++
		source.Set(reflect.New(source.Type().Elem()))
		f.fill(source.Elem(), field, 3)
	default:
		return false
	}
	return true
}
