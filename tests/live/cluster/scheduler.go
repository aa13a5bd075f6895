// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/template"
	"time"
)

// SchedulerOptions say how a scheduler is started. The same command line and file serve kube-scheduler and Berth.
type SchedulerOptions struct {
	Name       string   // of the log, the configuration file and nothing else
	Command    []string // the program and what comes before the flags
	Kubeconfig string   // whom the scheduler speaks to, and as whom
	Profiles   []string // scheduler names; default-scheduler alone when empty
	Lease      string   // name of the lease in kube-system; no election when empty
	Extra      string   // more YAML of the configuration, unindented
	Plugins    string   // more YAML of each profile, indented by two
	QPS        int      // 0 leaves the field out
	Content    string   // clientConnection.contentType; empty leaves the field out
	Flags      []string // added at the end
	Delegate   string   // kubeconfig of token and access reviews; the admin's when empty
}

// InCluster in place of a kubeconfig: the scheduler finds the server as a pod does.
const InCluster = "in a pod"

// Durations of the elections in the checks: kube-scheduler's 15, 10 and 2 s would make them long.
const (
	LeaseDuration = 4 * time.Second
	RenewDeadline = 3 * time.Second
	RetryPeriod   = 500 * time.Millisecond
)

// Scheduler is a scheduler's process and its port.
type Scheduler struct {
	*Process
	Port    int
	cluster *Cluster
}

var configuration = template.Must(template.New("").Parse(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: "{{.Kubeconfig}}"
{{- if .QPS}}
  qps: {{.QPS}}
  burst: {{.QPS}}
{{- end}}
{{- if .Content}}
  contentType: {{.Content}}
{{- end}}
leaderElection:
{{- if .Lease}}
  leaderElect: true
  resourceName: {{.Lease}}
  leaseDuration: ` + LeaseDuration.String() + `
  renewDeadline: ` + RenewDeadline.String() + `
  retryPeriod: ` + RetryPeriod.String() + `
{{- else}}
  leaderElect: false
{{- end}}
podMaxBackoffSeconds: 1
profiles:
{{- range .Profiles}}
- schedulerName: {{.}}
{{$.Plugins}}
{{- end}}
{{.Extra}}
`))

// NewScheduler writes the configuration and describes the process. The serving certificate is of the cluster's authority.
func (c *Cluster) NewScheduler(options SchedulerOptions) (*Scheduler, error) {
	if len(options.Profiles) == 0 {
		options.Profiles = []string{"default-scheduler"}
	}
	if options.Delegate == "" {
		options.Delegate = c.Kubeconfig("admin")
	}
	if options.Kubeconfig == InCluster {
		options.Kubeconfig = ""
	}
	var text bytes.Buffer
	if err := configuration.Execute(&text, options); err != nil {
		return nil, err
	}
	file := c.File(options.Name + ".yaml")
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		return nil, err
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	serving, err := c.Authority.Issue("serving", "kube-scheduler")
	if err != nil {
		return nil, err
	}
	args := append(append([]string{}, options.Command...), "--config="+file, "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port), "--authentication-kubeconfig="+options.Delegate,
		"--authorization-kubeconfig="+options.Delegate, "--tls-cert-file="+serving.Cert,
		"--tls-private-key-file="+serving.Key)
	args = append(args, options.Flags...)
	return &Scheduler{Process: NewProcess(c.Folder, options.Name, args...), Port: port, cluster: c}, nil
}

// Get asks the scheduler's HTTPS port as the bearer of a token, or as nobody when it is empty.
func (s *Scheduler) Get(ctx context.Context, path, token string) (int, string, error) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: s.cluster.Authority.Pool()}, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d%s", s.Port, path), nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

// WaitReady waits until /readyz says yes.
func (s *Scheduler) WaitReady(ctx context.Context, limit time.Duration) error {
	last := "never asked"
	for end := time.Now().Add(limit); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if !s.Running() {
			output, _ := s.Output(0)
			return fmt.Errorf("%s ended: %s", s.Name, tail(output, 800))
		}
		code, text, err := s.Get(ctx, "/readyz", "")
		if err == nil && code == http.StatusOK {
			return nil
		}
		last = fmt.Sprint(code, " ", text, err)
	}
	return fmt.Errorf("%s not ready after %v: %s; see %s", s.Name, limit, last, s.Log)
}

// Metric sums the samples of one name whose labels hold every one of `labels` (written key="value").
func Metric(text, name string, labels ...string) (sum float64, found bool) {
next:
	for _, line := range strings.Split(text, "\n") {
		rest, is := strings.CutPrefix(line, name)
		if !is || rest == "" || (rest[0] != '{' && rest[0] != ' ') {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(rest, label) {
				continue next
			}
		}
		var value float64
		if _, err := fmt.Sscan(rest[strings.LastIndexByte(rest, ' ')+1:], &value); err == nil {
			sum, found = sum+value, true
		}
	}
	return sum, found
}

func tail(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return text[len(text)-bytes:]
}
