// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
import "C"

import "unsafe"

// ReserveOptions say where room is kept. The zero value, or nil: anywhere.
type ReserveOptions struct {
	SkipCordoned bool
	Nodes        *NodeSet // nil: all nodes. With key and value, those of the set that have the value
	Key          string   // a label key of nodes
	Value        string   // of the key
}

// ReserveColumns are the columns of Reserve: one entry for each copy that was tried.
type ReserveColumns struct {
	Nodes    []NodeID
	Fits     []bool
	UIDs     Texts
	Messages Texts
}

// ReserveResult is an answer of Reserve.
type ReserveResult struct {
	Result
	ReserveColumns
}

// Close gives the result back; its columns are nil then.
func (r *ReserveResult) Close() error {
	if r == nil {
		return nil
	}
	r.ReserveColumns = ReserveColumns{}
	return r.closeResult()
}

// Reserve keeps room for `count` copies of a pod under an owner, all of them or none. Where one did not fit, nothing is
// reserved: Fits is false for all of them, and the last message tells why. Errors: Unsupported, Exists.
func (k *Cluster) Reserve(owner string, pod *Pod, count int, options *ReserveOptions) (*ReserveResult, error) {
	c := begin("Cluster.Reserve")
	defer c.end()
	if err := c.useWith(&k.handle, pod); err != nil {
		return nil, err
	}
	if options == nil {
		options = &ReserveOptions{}
	}
	if count < 0 {
		return nil, refused(c.verb, "count", "negative")
	}
	o := C.berth_reserve_options{flags: bit(options.SkipCordoned, C.BERTH_SKIP_CORDONED)}
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	name, err := c.chars("owner", owner)
	if err != nil {
		return nil, err
	}
	if o.nodes, err = c.nodeSet(options.Nodes); err != nil {
		return nil, err
	}
	if o.key, o.value, err = c.domain(options.Key, options.Value); err != nil {
		return nil, err
	}
	status := C.berth_cluster_reserve(k.p, name, pod.p, C.size_t(count), &o, &c.result, &c.err)
	if err := c.failed(status); err != nil {
		return nil, err
	}
	r := &ReserveResult{}
	r.take(c)
	err = r.bind(c, binding{C.BERTH_COLUMN_NODE, &r.Nodes}, binding{C.BERTH_COLUMN_FITS, &r.Fits},
		binding{C.BERTH_COLUMN_UID, &r.UIDs}, binding{C.BERTH_COLUMN_MESSAGE, &r.Messages})
	if err != nil {
		r.Close()
		return nil, err
	}
	return watched(r, r.handle), nil
}

// domain is a key with its value, which may be empty, or neither.
func (c *call) domain(key, value string) (k, v *C.char, err error) {
	if key == "" && value == "" {
		return nil, nil, nil
	}
	if k, err = c.optional("Key", key); err != nil {
		return nil, nil, err
	}
	v, err = c.chars("Value", value)
	return k, v, err
}

// UnreserveOptions say what is given back. The zero value, or nil: all that the owner has.
type UnreserveOptions struct {
	Count int      // how many at most, the latest ones; 0: all
	Nodes *NodeSet // nil: on all nodes, and on those that are gone
	Key   string
	Value string
	Pod   *Pod // nil: of any pod; otherwise those that were reserved for its spec and labels
}

// Unreserve gives back what an owner has reserved, or some of it, and tells how many pods are gone. Errors: NotFound.
func (k *Cluster) Unreserve(owner string, options *UnreserveOptions) (int, error) {
	c := begin("Cluster.Unreserve")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return 0, err
	}
	if options == nil {
		options = &UnreserveOptions{}
	}
	if options.Count < 0 {
		return 0, refused(c.verb, "Count", "negative")
	}
	o := C.berth_unreserve_options{count: C.size_t(options.Count)}
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	name, err := c.chars("owner", owner)
	if err != nil {
		return 0, err
	}
	if o.nodes, err = c.nodeSet(options.Nodes); err != nil {
		return 0, err
	}
	if o.key, o.value, err = c.domain(options.Key, options.Value); err != nil {
		return 0, err
	}
	if options.Pod != nil {
		if err := c.use(&options.Pod.handle); err != nil {
			return 0, err
		}
		o.pod = options.Pod.p
	}
	if err := c.failed(C.berth_cluster_unreserve(k.p, name, &o, &c.size, &c.err)); err != nil {
		return 0, err
	}
	return int(c.size), nil
}

// ReservationColumns are the reserving pods, the earliest of an owner first.
type ReservationColumns struct {
	Owners Texts
	UIDs   Texts
	Nodes  []NodeID // NoNode where the node is gone
}

// ReservationsResult is an answer of Reservations.
type ReservationsResult struct {
	Result
	ReservationColumns
}

// Close gives the result back; its columns are nil then.
func (r *ReservationsResult) Close() error {
	if r == nil {
		return nil
	}
	r.ReservationColumns = ReservationColumns{}
	return r.closeResult()
}

// Reservations are the reservations as of now, of one owner, or, where that is empty, of all.
func (k *Cluster) Reservations(owner string) (*ReservationsResult, error) {
	c := begin("Cluster.Reservations")
	defer c.end()
	if err := c.use(&k.handle); err != nil {
		return nil, err
	}
	name, err := c.optional("owner", owner)
	if err != nil {
		return nil, err
	}
	if err := c.failed(C.berth_cluster_reservations(k.p, name, &c.result, &c.err)); err != nil {
		return nil, err
	}
	r := &ReservationsResult{}
	r.take(c)
	err = r.bind(c, binding{C.BERTH_COLUMN_OWNER, &r.Owners}, binding{C.BERTH_COLUMN_UID, &r.UIDs},
		binding{C.BERTH_COLUMN_NODE, &r.Nodes})
	if err != nil {
		r.Close()
		return nil, err
	}
	return watched(r, r.handle), nil
}
