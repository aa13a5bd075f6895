// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"fmt"
	"log"

	berth "berth.dev/go"
	"berth.dev/go/adapters/informer"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

func Example() {
	engine, err := berth.NewEngine(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	cluster, err := engine.NewCluster()
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close() // behind the informers
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	factory := informers.NewSharedInformerFactory(client, 0)
	defer factory.Shutdown()
	feeder := informer.NewFeeder(cluster, func(err error) { log.Print(err) })
	core := factory.Core().V1()
	var registrations []cache.ResourceEventHandlerRegistration
	for kind, of := range map[string]cache.SharedIndexInformer{"Node": core.Nodes().Informer(), "Pod": core.Pods().Informer()} {
		registration, err := of.AddEventHandler(feeder.Handler(kind))
		if err != nil {
			log.Fatal(err)
		}
		registrations = append(registrations, registration)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	factory.Start(ctx.Done())
	for _, registration := range registrations {
		cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) // the cluster has what was listed
	}
	node, err := cluster.FindNode("a")
	fmt.Println(node, err)
	// Output: 0 <nil>
}
