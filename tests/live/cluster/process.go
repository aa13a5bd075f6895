// SPDX-License-Identifier: Apache-2.0

// Package cluster runs one control plane on loopback: etcd, kube-apiserver, kube-controller-manager and schedulers as
// processes of this one, each with a log file. They end with this process, however it ends.
package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is one program that can be ended and started again with the same arguments.
type Process struct {
	Name string
	Args []string
	Log  string

	mutex sync.Mutex
	cmd   *exec.Cmd
	done  chan struct{}
	state *os.ProcessState
}

// NewProcess describes a program; Start starts it. Its output is appended to LOGS/NAME.log.
func NewProcess(logs, name string, args ...string) *Process {
	return &Process{Name: name, Args: args, Log: filepath.Join(logs, name+".log")}
}

// Start starts the program; an error when it cannot be started or still runs.
func (p *Process) Start() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.runningLocked() {
		return fmt.Errorf("%s already runs", p.Name)
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.Args[0], p.Args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	done := make(chan struct{})
	p.cmd, p.done, p.state = cmd, done, nil
	go func() {
		_ = cmd.Wait()
		p.mutex.Lock()
		p.state = cmd.ProcessState
		p.mutex.Unlock()
		close(done)
	}()
	return nil
}

func (p *Process) runningLocked() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Running says whether the program was started and has not ended.
func (p *Process) Running() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.runningLocked()
}

// Signal sends a signal to the program; a program that has ended gets none.
func (p *Process) Signal(signal syscall.Signal) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.runningLocked() {
		_ = p.cmd.Process.Signal(signal)
	}
}

// Wait gives the exit status once the program has ended: 128 + signal when a signal ended it.
func (p *Process) Wait(limit time.Duration) (int, error) {
	if p.done == nil {
		return 0, fmt.Errorf("%s was not started", p.Name)
	}
	select {
	case <-p.done:
	case <-time.After(limit):
		return 0, fmt.Errorf("%s still runs after %v", p.Name, limit)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if status, ok := p.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return p.state.ExitCode(), nil
}

// Kill ends the program at once and waits for its end.
func (p *Process) Kill() {
	if p.Running() {
		p.Signal(syscall.SIGKILL)
		_, _ = p.Wait(10 * time.Second)
	}
}

// Stop asks the program to end, and ends it when it still runs after limit. Gives the exit status.
func (p *Process) Stop(limit time.Duration) (int, error) {
	p.Signal(syscall.SIGTERM)
	code, err := p.Wait(limit)
	if err != nil {
		p.Kill()
	}
	return code, err
}

// Pid is the process id, or 0 before the start.
func (p *Process) Pid() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// CPU is the user plus system time that the program used: of the ended one, or so far.
func (p *Process) CPU() (time.Duration, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.state != nil {
		return p.state.UserTime() + p.state.SystemTime(), nil
	}
	if p.cmd == nil {
		return 0, errors.New("not started")
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// Fields 14 and 15 in ticks of 10 ms; the second field, in brackets, may hold spaces.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0, err
	}
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}

// Memory is a field of /proc/PID/status in bytes: VmRSS now, VmHWM the most so far.
func (p *Process) Memory(field string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid()))
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, field+":") {
			var kib int64
			_, err := fmt.Sscan(strings.TrimPrefix(line, field+":"), &kib)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in /proc/%d/status", field, p.Pid())
}

// Output is what the log file holds beyond `from` bytes, and its length.
func (p *Process) Output(from int64) (string, int64) {
	text, err := os.ReadFile(p.Log)
	if err != nil || int64(len(text)) < from {
		return "", 0
	}
	return string(text[from:]), int64(len(text))
}
