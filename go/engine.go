// SPDX-License-Identifier: Apache-2.0

package berth

// #include <berth/berth.h>
// #include <stdlib.h>
// extern void berthGoLog(void* user_data, int32_t level, char* text);
// extern void berthGoLogFree(void* user_data);
// static void berth_go_log_to(berth_engine_options* options) {
//   options->log = (berth_log_fn)berthGoLog;
//   options->log_user_data_free = berthGoLogFree;
// }
import "C"

import (
	"context"
	"fmt"
	"runtime/cgo"
	"unsafe"
)

// LogLevel is how talkative a message is.
type LogLevel int32

// Levels of messages.
const (
	LogError   LogLevel = C.BERTH_LOG_ERROR
	LogWarning LogLevel = C.BERTH_LOG_WARNING
	LogInfo    LogLevel = C.BERTH_LOG_INFO
)

// EngineOptions are berth_engine_options. The zero value is a kube-scheduler v1.35 without --config.
type EngineOptions struct {
	AllowUnsupported    bool   // go on without what a configuration names and this release has not built
	SchedulerConfig     string // text of a KubeSchedulerConfiguration
	SchedulerConfigFile string // its path; not together with the text
	EngineConfig        string // text of a BerthEngineConfiguration
	EngineConfigFile    string // its path; not together with the text
	Release             string // "1.35" or "1.36"
	FeatureGates        string // "Name=true,Other=false"
	Backend             string // "auto", "cpu", "reference" or "cuda"
	Seed                uint64 // of draws among equal nodes; 0: what EngineConfig says
	Threads             int    // of all clusters together, the calling one included; 0: EngineConfig, else one per core
	MaxMemoryBytes      uint64 // of all handles together: a call that passes it is Memory; 0: no cap
	LogLevel            LogLevel
	// Log takes one message. It is called on the goroutine that is in a call, behind its work; a call back into any
	// handle of the engine is Reentry. It must not panic. Nil: silent.
	Log            func(level LogLevel, text string)
	PluginFiles    []string // shared objects with a plugin each: plugin.h
	IgnoredPlugins []string // what PodOptions.IgnorePlugins leaves out
}

// Engine is a configuration and its limits; nothing of a cluster.
type Engine struct {
	handle
	p *C.berth_engine
}

// NewEngine reads a configuration. Options nil: the defaults. Errors: Input, Unsupported.
func NewEngine(options *EngineOptions) (*Engine, error) {
	c := begin("NewEngine")
	defer c.end()
	if found := ABIVersion(); found != abiVersion {
		return nil, &Error{Call: c.verb, Status: Unsupported, Object: "libberth",
			Text: fmt.Sprintf("binary interface %d; this package is for %d", found, abiVersion)}
	}
	if options == nil {
		options = &EngineOptions{}
	}
	o := C.berth_engine_options{}
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	o.flags = bit(options.AllowUnsupported, C.BERTH_ENGINE_ALLOW_UNSUPPORTED)
	o.seed, o.threads, o.log_level = C.uint64_t(options.Seed), C.int32_t(options.Threads), C.int32_t(options.LogLevel)
	o.max_memory_bytes = C.uint64_t(options.MaxMemoryBytes)
	var err error
	for _, text := range []struct {
		to   **C.char
		name string
		from string
	}{
		{&o.scheduler_config, "SchedulerConfig", options.SchedulerConfig},
		{&o.scheduler_config_file, "SchedulerConfigFile", options.SchedulerConfigFile},
		{&o.engine_config, "EngineConfig", options.EngineConfig},
		{&o.engine_config_file, "EngineConfigFile", options.EngineConfigFile},
		{&o.release, "Release", options.Release},
		{&o.feature_gates, "FeatureGates", options.FeatureGates},
		{&o.backend, "Backend", options.Backend},
	} {
		if *text.to, err = c.optional(text.name, text.from); err != nil {
			return nil, err
		}
	}
	if o.plugin_files, err = c.list("PluginFiles", options.PluginFiles); err != nil {
		return nil, err
	}
	if o.ignored_plugins, err = c.list("IgnoredPlugins", options.IgnoredPlugins); err != nil {
		return nil, err
	}
	o.plugin_file_count = C.size_t(len(options.PluginFiles))
	o.ignored_plugin_count = C.size_t(len(options.IgnoredPlugins))
	if options.Log != nil {
		o.log_user_data = C.malloc(C.size_t(unsafe.Sizeof(cgo.Handle(0))))
		*(*cgo.Handle)(o.log_user_data) = cgo.NewHandle(options.Log)
		C.berth_go_log_to(&o)
	}
	var p *C.berth_engine
	if err := c.failed(C.berth_engine_create(&o, &p, &c.err)); err != nil {
		if options.Log != nil {
			berthGoLogFree(o.log_user_data)
		}
		return nil, err
	}
	e := &Engine{handle: newHandle(engineKind), p: p}
	e.release = func() { C.berth_engine_free(&p) }
	return watched(e, e.handle), nil
}

// freeMemory frees memory of C.
func freeMemory(p unsafe.Pointer) { C.free(p) }

// Close gives the handle back; see the package's ownership rules.
func (e *Engine) Close() error { return e.close() }

// NewCluster is an empty cluster. Errors: Unsupported, Device.
func (e *Engine) NewCluster() (*Cluster, error) {
	c := begin("Engine.NewCluster")
	defer c.end()
	if err := c.use(&e.handle); err != nil {
		return nil, err
	}
	var p *C.berth_cluster
	if err := c.failed(C.berth_cluster_create(e.p, &p, &c.err)); err != nil {
		return nil, err
	}
	return newCluster(p), nil
}

// OpenSnapshot makes a cluster as it was when Snapshot.Write wrote the file, and a snapshot of it. Errors: Input,
// Unsupported.
func (e *Engine) OpenSnapshot(path string) (*Cluster, *Snapshot, error) {
	return e.OpenSnapshotContext(context.Background(), path)
}

// OpenSnapshotBytes is the same of what Snapshot.Bytes gave.
func (e *Engine) OpenSnapshotBytes(written []byte) (*Cluster, *Snapshot, error) {
	return e.OpenSnapshotBytesContext(context.Background(), written)
}
