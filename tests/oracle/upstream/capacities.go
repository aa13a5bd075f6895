// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"cmp"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/storage"
	informersv1 "k8s.io/client-go/informers/storage/v1"
	listersv1 "k8s.io/client-go/listers/storage/v1"
)

// Of several CSIStorageCapacity objects that have enough, VolumeBinding takes the first that its lister names, and with
// StorageCapacityScoring that decides the score. Listers have no order; here it is that of namespace and name, one of those
// that upstream may meet.

type orderedFactory struct {
	informers.SharedInformerFactory
}

func (f orderedFactory) Storage() storage.Interface {
	return orderedStorage{f.SharedInformerFactory.Storage()}
}

type orderedStorage struct{ storage.Interface }

func (s orderedStorage) V1() informersv1.Interface { return orderedV1{s.Interface.V1()} }

type orderedV1 struct{ informersv1.Interface }

func (v orderedV1) CSIStorageCapacities() informersv1.CSIStorageCapacityInformer {
	return orderedInformer{v.Interface.CSIStorageCapacities()}
}

type orderedInformer struct {
	informersv1.CSIStorageCapacityInformer
}

func (i orderedInformer) Lister() listersv1.CSIStorageCapacityLister {
	return orderedLister{i.CSIStorageCapacityInformer.Lister()}
}

type orderedLister struct {
	listersv1.CSIStorageCapacityLister
}

func (l orderedLister) List(selector labels.Selector) ([]*storagev1.CSIStorageCapacity, error) {
	found, err := l.CSIStorageCapacityLister.List(selector)
	slices.SortFunc(found, func(a, b *storagev1.CSIStorageCapacity) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found, err
}
