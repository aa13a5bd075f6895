// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"berth.dev/tests/live/pki"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options say what control plane is started.
type Options struct {
	Folder            string   // certificates, data and logs; made new
	Bin               string   // etcd, kube-controller-manager, kube-scheduler
	APIServer         string   // the program kube-apiserver
	Fsync             bool     // etcd waits for the disk
	ControllerManager bool     // start the controllers
	APIServerFlags    []string // added at the end
}

// Cluster is a running control plane. Its methods are for one goroutine.
type Cluster struct {
	Options
	Authority *pki.Authority
	Server    string // https://127.0.0.1:PORT
	Etcd      *Process
	API       *Process
	Manager   *Process
	Admin     *rest.Config

	etcdPort int
}

// AdminToken is who may read everything.
const AdminToken = "admin-token"

// tokens of the static token file: token, user, groups. The proxy ends TLS, so those who speak through it use these.
const tokens = `scheduler-token,system:kube-scheduler,1,
lesser-token,live:lesser,2,
` + AdminToken + `,live:admin,3,"system:masters"
`

// Controllers that the checks need; the others would only take processor time.
const controllers = "deployment-controller,replicaset-controller,statefulset-controller,job-controller," +
	"disruption-controller,namespace-controller,garbage-collector-controller,node-lifecycle-controller," +
	"taint-eviction-controller,persistentvolume-binder-controller,persistentvolumeclaim-protection-controller," +
	"persistentvolume-protection-controller"

// FreePort is a TCP port on loopback that nobody listened on a moment ago.
func FreePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// New makes the certificates and describes the processes; nothing is started.
func New(options Options) (*Cluster, error) {
	if err := os.RemoveAll(options.Folder); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(options.Folder, 0o755); err != nil {
		return nil, err
	}
	c := &Cluster{Options: options}
	var err error
	if c.Authority, err = pki.New(options.Folder); err != nil {
		return nil, err
	}
	for _, step := range []func() error{c.describeEtcd, c.describeServer, c.writeKubeconfigs, c.describeManager} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// File is a path in the cluster's folder.
func (c *Cluster) File(name string) string { return filepath.Join(c.Folder, name) }

func (c *Cluster) describeEtcd() error {
	peer, err := FreePort()
	if err != nil {
		return err
	}
	if c.etcdPort, err = FreePort(); err != nil {
		return err
	}
	args := []string{filepath.Join(c.Bin, "etcd"), "--name=live", "--data-dir=" + c.File("etcd"),
		"--listen-client-urls=" + c.etcdURL(), "--advertise-client-urls=" + c.etcdURL(),
		fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", peer),
		fmt.Sprintf("--initial-advertise-peer-urls=http://127.0.0.1:%d", peer),
		fmt.Sprintf("--initial-cluster=live=http://127.0.0.1:%d", peer), "--quota-backend-bytes=8589934592"}
	if !c.Fsync {
		args = append(args, "--unsafe-no-fsync")
	}
	c.Etcd = NewProcess(c.Folder, "etcd", args...)
	return nil
}

func (c *Cluster) etcdURL() string { return fmt.Sprintf("http://127.0.0.1:%d", c.etcdPort) }

func (c *Cluster) describeServer() error {
	port, err := FreePort()
	if err != nil {
		return err
	}
	c.Server = fmt.Sprintf("https://127.0.0.1:%d", port)
	server, err := c.Authority.Issue("apiserver", "kube-apiserver")
	if err != nil {
		return err
	}
	accounts, err := c.Authority.Issue("accounts", "service-accounts")
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.File("tokens.csv"), []byte(tokens), 0o600); err != nil {
		return err
	}
	args := []string{c.APIServer, "--etcd-servers=" + c.etcdURL(), "--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--authorization-mode=RBAC",
		"--tls-cert-file=" + server.Cert, "--tls-private-key-file=" + server.Key,
		"--client-ca-file=" + c.Authority.CA(), "--token-auth-file=" + c.File("tokens.csv"),
		"--service-account-key-file=" + accounts.Cert, "--service-account-signing-key-file=" + accounts.Key,
		"--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.96.0.0/16",
		"--cert-dir=" + c.Folder, "--endpoint-reconciler-type=none",
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"}
	c.API = NewProcess(c.Folder, "kube-apiserver", append(args, c.APIServerFlags...)...)
	return nil
}

func (c *Cluster) describeManager() error {
	c.Manager = NewProcess(c.Folder, "kube-controller-manager", filepath.Join(c.Bin, "kube-controller-manager"),
		"--kubeconfig="+c.Kubeconfig("manager"), "--secure-port=0", "--leader-elect=false",
		"--controllers="+controllers, "--kube-api-qps=500", "--kube-api-burst=1000",
		"--pvclaimbinder-sync-period=1s", "--use-service-account-credentials=false")
	return nil
}

// Start starts etcd, API server and, when asked for, the controllers, and waits until the API server is ready.
func (c *Cluster) Start(ctx context.Context) error {
	if err := c.Etcd.Start(); err != nil {
		return err
	}
	if err := c.API.Start(); err != nil {
		return err
	}
	if err := c.WaitReady(ctx, 90*time.Second); err != nil {
		return err
	}
	if !c.ControllerManager {
		return nil
	}
	return c.Manager.Start()
}

// Stop ends every process of the control plane at once: its data are thrown away.
func (c *Cluster) Stop() {
	c.Manager.Kill()
	c.API.Kill()
	c.Etcd.Kill()
}

// WaitReady waits until /readyz of the API server says yes.
func (c *Cluster) WaitReady(ctx context.Context, limit time.Duration) error {
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: c.Authority.Pool()}, DisableKeepAlives: true}}
	last := errors.New("never asked")
	for end := time.Now().Add(limit); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		if !c.API.Running() {
			return fmt.Errorf("kube-apiserver ended; see %s", c.API.Log)
		}
		request, _ := http.NewRequestWithContext(ctx, http.MethodGet, c.Server+"/readyz", nil)
		answer, err := client.Do(request)
		if err != nil {
			last = err
			continue
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
		last = fmt.Errorf("/readyz: %d: %s", answer.StatusCode, text)
	}
	return fmt.Errorf("kube-apiserver not ready after %v: %w; see %s", limit, last, c.API.Log)
}

// Kubeconfig is the file of a user: admin, scheduler, manager, node, lesser, anonymous.
func (c *Cluster) Kubeconfig(user string) string { return c.File(user + ".kubeconfig") }

func (c *Cluster) writeKubeconfigs() error {
	for _, user := range []struct{ name, user, group string }{
		{"admin", "live:admin", "system:masters"}, {"scheduler", "system:kube-scheduler", ""},
		{"manager", "system:kube-controller-manager", "system:masters"}, {"node", "live:nodes", "system:masters"},
		{"lesser", "live:lesser", ""}, {"anonymous", "", ""},
	} {
		text := ""
		if user.user != "" {
			var groups []string
			if user.group != "" {
				groups = append(groups, user.group)
			}
			pair, err := c.Authority.Issue(user.name, user.user, groups...)
			if err != nil {
				return err
			}
			text = fmt.Sprintf("client-certificate: %s, client-key: %s", pair.Cert, pair.Key)
		}
		if err := c.WriteKubeconfig(c.Kubeconfig(user.name), c.Server, text); err != nil {
			return err
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig("admin"))
	if err != nil {
		return err
	}
	config.QPS, config.Burst, config.WarningHandler = -1, -1, rest.NoWarnings{}
	c.Admin = config
	return nil
}

// WriteKubeconfig writes a file for one server and one user, whose credentials are given as YAML fields.
func (c *Cluster) WriteKubeconfig(file, server, credentials string) error {
	return os.WriteFile(file, []byte(strings.Join([]string{
		"apiVersion: v1", "kind: Config", "current-context: live",
		"clusters: [{name: live, cluster: {server: '" + server + "', certificate-authority: " + c.Authority.CA() + "}}]",
		"contexts: [{name: live, context: {cluster: live, user: live}}]",
		"users: [{name: live, user: {" + credentials + "}}]", ""}, "\n")), 0o600)
}

// Client is a client of the administrator without limits; Protobuf on the wire when asked for.
func (c *Cluster) Client(protobuf bool) (*kubernetes.Clientset, error) {
	config := rest.CopyConfig(c.Admin)
	if protobuf {
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	}
	return kubernetes.NewForConfig(config)
}

// Compact makes etcd forget every revision before the current one.
func (c *Cluster) Compact(ctx context.Context) error {
	ask := func(path, body string) (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.etcdURL()+path, bytes.NewBufferString(body))
		if err != nil {
			return "", err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("etcd %s: %d: %s", path, answer.StatusCode, text)
		}
		return string(text), err
	}
	text, err := ask("/v3/kv/range", `{"key":"YQ=="}`)
	if err != nil {
		return err
	}
	_, after, found := strings.Cut(text, `"revision":"`)
	revision, _, closed := strings.Cut(after, `"`)
	if !found || !closed {
		return fmt.Errorf("etcd names no revision: %s", text)
	}
	_, err = ask("/v3/kv/compaction", `{"revision":"`+revision+`","physical":true}`)
	return err
}
