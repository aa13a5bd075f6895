// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"berth.dev/tests/live/cluster"
	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// manifest has the objects that give the scheduler of deploy/ its rights.
const manifest = "deploy/berth-scheduler.yaml"

// deployed creates the account and the roles of deploy/ and gives a kubeconfig of that account.
func (t *T) deployed() string {
	text, err := os.ReadFile(manifest)
	t.must(err)
	kinds := map[string]int{}
	ctx, created := t.Context, func(err error) {
		if err != nil && !errors.IsAlreadyExists(err) {
			t.fail("%v", err)
		}
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var head meta.TypeMeta
		t.must(yaml.Unmarshal([]byte(document), &head))
		kinds[head.Kind]++
		switch head.Kind {
		case "ServiceAccount":
			object := core.ServiceAccount{}
			t.read(document, &object)
			_, err = t.Client.CoreV1().ServiceAccounts(object.Namespace).Create(ctx, &object, meta.CreateOptions{})
			created(err)
		case "ClusterRole":
			object := rbac.ClusterRole{}
			t.read(document, &object)
			_, err = t.Client.RbacV1().ClusterRoles().Create(ctx, &object, meta.CreateOptions{})
			created(err)
		case "ClusterRoleBinding":
			object := rbac.ClusterRoleBinding{}
			t.read(document, &object)
			_, err = t.Client.RbacV1().ClusterRoleBindings().Create(ctx, &object, meta.CreateOptions{})
			created(err)
		case "Role":
			object := rbac.Role{}
			t.read(document, &object)
			_, err = t.Client.RbacV1().Roles(object.Namespace).Create(ctx, &object, meta.CreateOptions{})
			created(err)
		case "RoleBinding":
			object := rbac.RoleBinding{}
			t.read(document, &object)
			_, err = t.Client.RbacV1().RoleBindings(object.Namespace).Create(ctx, &object, meta.CreateOptions{})
			created(err)
		}
	}
	if kinds["ServiceAccount"] == 0 || kinds["ClusterRole"] == 0 || kinds["Role"] == 0 {
		t.fail("%s has %v", manifest, kinds)
	}
	token, err := t.Client.CoreV1().ServiceAccounts(system).CreateToken(ctx, "berth-scheduler",
		&authentication.TokenRequest{}, meta.CreateOptions{})
	t.must(err)
	user := t.Cluster.Kubeconfig("deployed")
	t.must(t.Cluster.WriteKubeconfig(user, t.Proxy.URL, "token: "+token.Status.Token))
	return user
}

// boundToken is a token of the account that is good while a secret exists.
func (t *T) boundToken(name string) string {
	name = "live-" + name
	secret, err := t.Client.CoreV1().Secrets(system).Create(t.Context,
		&core.Secret{ObjectMeta: meta.ObjectMeta{Name: name}}, meta.CreateOptions{})
	t.must(err)
	t.cleanups = append(t.cleanups, func() {
		_ = t.Client.CoreV1().Secrets(system).Delete(t.Context, name, meta.DeleteOptions{})
	})
	token, err := t.Client.CoreV1().ServiceAccounts(system).CreateToken(t.Context, "berth-scheduler",
		&authentication.TokenRequest{Spec: authentication.TokenRequestSpec{BoundObjectRef: &authentication.BoundObjectReference{
			Kind: "Secret", APIVersion: "v1", Name: name, UID: secret.UID}}}, meta.CreateOptions{})
	t.must(err)
	return token.Status.Token
}

// allOfKube gives the account the bootstrap roles as well: kube-scheduler watches the objects of dynamic resources too, and
// updates claims that Berth patches.
func (t *T) allOfKube() {
	for _, role := range []string{"system:kube-scheduler", "system:volume-scheduler"} {
		binding := rbac.ClusterRoleBinding{ObjectMeta: meta.ObjectMeta{Name: "live-deployed-" + role[len("system:"):]},
			RoleRef:  rbac.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role},
			Subjects: []rbac.Subject{{Kind: "ServiceAccount", Namespace: system, Name: "berth-scheduler"}}}
		_, err := t.Client.RbacV1().ClusterRoleBindings().Create(t.Context, &binding, meta.CreateOptions{})
		t.must(err)
		t.cleanups = append(t.cleanups, func() {
			_ = t.Client.RbacV1().ClusterRoleBindings().Delete(t.Context, binding.Name, meta.DeleteOptions{})
		})
	}
}

var deployChecks = []Check{
	{"L-173", "Every right of deploy/ is taken away alone: the log names it, and the scheduler does not end", lacksEach},
	{"L-170", "The service account of deploy/ can do all that binding, refusing, evicting, volumes and the lease need", func(t *T) {
		user := t.deployed()
		if t.Kind == "kube" {
			t.allOfKube()
		}
		t.own(cluster.SchedulerOptions{QPS: 2000, Kubeconfig: user, Lease: "berth-scheduler", Delegate: user})
		t.priority("high", 1000, true)
		t.load(3)
		t.filler("victim", "a", "", "3")
		t.pod("p", "priorityClassName: high, nodeSelector: {kubernetes.io/hostname: a}, "+requests("cpu: 3"))
		t.boundTo("p", "a")
		t.class("dynamic", "live.berth.dev/standin", "WaitForFirstConsumer")
		t.claim("data", "dynamic", "")
		t.pod("q", uses("data"))
		t.bound("q")
		t.pod("r", "nodeSelector: {no: where}")
		t.eventually(bindLimit, func() string { return orWait(condition(t.get("r")).Status == "False", "r is not refused") })
		if refused := t.Proxy.Answers(403); refused > 0 {
			t.fail("%d requests were answered 403", refused)
		}
	}},
	{"L-171", "Of that account the delegated reviews work: /metrics for those who may, 403 for others", func(t *T) {
		user := t.deployed()
		if t.Kind == "kube" {
			t.allOfKube()
		}
		scheduler := t.own(cluster.SchedulerOptions{Kubeconfig: user, Delegate: user})
		t.page(scheduler, "/metrics", adminToken, 200)
		t.page(scheduler, "/metrics", lesserToken, 403)
		t.page(scheduler, "/metrics", "", 403)
	}},
	{"L-172", "In a pod: the service account's files, and a token that is rotated and then refused", func(t *T) {
		t.deployed()
		if t.Kind == "kube" {
			t.allOfKube()
		}
		files := filepath.Join(t.Cluster.Folder, "serviceaccount")
		t.must(os.MkdirAll(files, 0o755))
		authority, err := os.ReadFile(t.Cluster.Authority.CA())
		t.must(err)
		t.must(os.WriteFile(filepath.Join(files, "ca.crt"), authority, 0o644))
		t.must(os.WriteFile(filepath.Join(files, "namespace"), []byte(system), 0o644))
		first, second := t.boundToken("first"), t.boundToken("second")
		rotate := func(token string) {
			t.must(os.WriteFile(filepath.Join(files, "new"), []byte(token), 0o600))
			t.must(os.Rename(filepath.Join(files, "new"), filepath.Join(files, "token")))
		}
		rotate(first)
		server, err := url.Parse(t.Cluster.Server)
		t.must(err)
		// Where a pod has the files; nobody else sees this mount.
		const place = "/run/secrets/kubernetes.io/serviceaccount"
		t.own(cluster.SchedulerOptions{Kubeconfig: cluster.InCluster, Command: append([]string{"env",
			"KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port(), "unshare", "--mount",
			"sh", "-c", "mount -t tmpfs none /run && mkdir -p " + place + " && mount --bind " + files + " " + place + ` && exec "$0" "$@"`},
			t.Command...)})
		t.nodes("a")
		t.pod("p", "")
		t.boundTo("p", "a")
		rotate(second)
		t.must(t.Client.CoreV1().Secrets(system).Delete(t.Context, "live-first", meta.DeleteOptions{}))
		t.eventually(15*time.Second, func() string { // the API server remembers that a token was good for ten seconds
			review, err := t.Client.AuthenticationV1().TokenReviews().Create(t.Context,
				&authentication.TokenReview{Spec: authentication.TokenReviewSpec{Token: first}}, meta.CreateOptions{})
			t.must(err)
			return orWait(!review.Status.Authenticated, "the first token is still good")
		})
		t.pod("q", "")
		limit := bindLimit
		if t.Kind == "kube" {
			limit = 80 * time.Second // it reads the token once a minute, and not because of a refusal
		}
		t.boundWithin("q", limit)
	}},
}
